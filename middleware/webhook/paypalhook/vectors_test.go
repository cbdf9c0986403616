package paypalhook_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
)

// published returns a Verifier for a vector. Where its genuine certificate was
// published, that has to chain to the system's roots through what is shipped;
// where only the key is known, a root of ours vouches for it. asked counts what
// is fetched.
func published(t *testing.T, vec vectors.Vector) (v *paypalhook.Verifier, asked *atomic.Int64) {
	t.Helper()
	o := paypalhook.Options{Env: paypalhook.Sandbox, Now: vec.Clock(transmitted(t, vec))}
	file := []byte(vec.Key["cert_pem"])
	if len(file) > 0 {
		o.Roots = rootsAbove(t, o.Now())
	}
	if spki := vec.Key["spki_pem"]; spki != "" {
		block, _ := pem.Decode([]byte(spki))
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		require.NoError(t, err)
		c := newCA(t)
		o.Roots = c.pool
		_, file = c.issue(t, x509.Certificate{DNSNames: []string{"messageverificationcerts.sandbox.paypal.com"}}, public)
	}
	asked = &atomic.Int64{}
	o.Fetch = func(context.Context, string) ([]byte, error) {
		asked.Add(1)
		return file, nil
	}
	v, err := paypalhook.New(vec.Key["webhook_id"], o)
	require.NoError(t, err)
	return v, asked
}

// rootsAbove returns the system's roots, which is nil, if they vouch for what is
// shipped. A system that no longer has a root of 2006 has to take our word.
func rootsAbove(t *testing.T, at time.Time) *x509.CertPool {
	t.Helper()
	certs, pool := shipped(t), x509.NewCertPool()
	last := certs[len(certs)-1]
	if _, err := last.Verify(x509.VerifyOptions{CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err == nil {
		return nil
	}
	pool.AddCert(last)
	return pool
}

// shipped returns the intermediate certificates that the package holds.
func shipped(t *testing.T) []*x509.Certificate {
	t.Helper()
	file, err := os.ReadFile("intermediates.pem")
	require.NoError(t, err)
	var certs []*x509.Certificate
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		certs = append(certs, c)
	}
	return certs
}

// TestShipped: the file says of each certificate what it is, and none of them is
// one that would have to be trusted.
func TestShipped(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("intermediates.pem")
	require.NoError(t, err)
	certs := shipped(t)
	require.Len(t, certs, 3)
	for _, c := range certs {
		require.True(t, c.IsCA)
		require.NotEqual(t, c.Subject.String(), c.Issuer.String())
		require.Contains(t, string(file), c.Subject.CommonName+", until "+c.NotAfter.Format(time.DateOnly)+", below "+c.Issuer.CommonName+"\n")
	}
}

// transmitted returns when a vector was.
func transmitted(t *testing.T, vec vectors.Vector) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, vec.Header().Get("PAYPAL-TRANSMISSION-TIME"))
	require.NoError(t, err)
	return at
}

func TestVectors(t *testing.T) {
	t.Parallel()
	bound := map[string]webhook.Binding{}
	for _, vec := range vectors.Load(t, "paypal") {
		v, asked := published(t, vec)
		h := vec.Header()
		if strings.HasSuffix(h.Get("PAYPAL-CERT-URL"), "/test") {
			// The one with its certificate names a URL where PayPal keeps none.
			_, err := v.Verify(t.Context(), h, vec.Body)
			require.Equal(t, webhook.Malformed, reason(err), vec.Name)
			require.Zero(t, asked.Load(), vec.Name)
			h.Set("PAYPAL-CERT-URL", "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1")
		}
		d, err := v.Verify(t.Context(), h, vec.Body)
		switch vec.Expect {
		case "valid":
			require.NoError(t, err, vec.Name)
			require.Len(t, d.Events, 1, vec.Name)
			require.Len(t, d.Bindings, 1, vec.Name)
			bound[vec.Name] = d.Bindings[0]
		default:
			require.Equal(t, "invalid", vec.Expect, vec.Name)
			require.Equal(t, webhook.NoMatch, reason(err), vec.Name)
		}
	}
	// The collision is "valid", or "invalid" by what the id is pinned to: the
	// signature holds, and the binding of the genuine one is what refuses it.
	genuine, forged := bound["paypal-java-billing-plan-created"], bound["paypal-crc32-collision"]
	require.NotEmpty(t, genuine.ID)
	require.Equal(t, genuine.ID, forged.ID)
	require.NotEqual(t, genuine.Digest, forged.Digest)
}

// TestPayloads: every body that PayPal sends can be read.
func TestPayloads(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	resources := map[string]string{
		"paypal_billing_plan_created":                "P-2U911356NH683973BEDIWKUY",
		"paypal_billing_subscription_activated":      "I-BW452GLLEP1G",
		"paypal_invoicing_invoice_paid":              "INV2-C82X-JNN9-Y6S5-CNXW",
		"paypal_payment_authorization_created_oldid": "2DC87612EK520411B",
		"paypal_payment_sale_completed_2016":         "8RS6210148826604N",
	}
	for name, text := range vectors.Payloads(t, "paypal") {
		d, err := v.Verify(t.Context(), sign(p, string(text)), text)
		require.NoError(t, err, name)
		e := d.Events[0]
		require.NotEmpty(t, e.ID, name)
		require.Contains(t, string(text), `"id":"`+e.ID+`"`, name)
		require.Contains(t, string(text), `"event_type":"`+e.Type+`"`, name)
		require.Empty(t, e.Tenant, name)
		require.False(t, e.Time.IsZero(), name)
		require.Equal(t, text, e.Body, name)
		if want := resources[name]; want != "" {
			require.Equal(t, want, e.Resource, name)
		}
	}
}
