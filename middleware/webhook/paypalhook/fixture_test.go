package paypalhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/leaktest"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "webhook/paypalhook")) }

const (
	body       = `{"id":"WH-1X-2Y","event_type":"PAYMENT.CAPTURE.COMPLETED","create_time":"2025-01-01T11:59:58.25Z","resource":{"id":"42A","amount":{"value":"20.00"}}}`
	liveSigner = "messageverificationcerts.paypal.com"
	certs      = "https://api.paypal.com/v1/notifications/certs/"
)

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// clock stands at now.
func clock() time.Time { return now }

// open returns a Verifier of what p signs, whose clock stands at now.
func open(tb testing.TB, p *webhooktest.PayPal, with func(*paypalhook.Options)) *paypalhook.Verifier {
	tb.Helper()
	o := p.Options()
	o.Now = clock
	if with != nil {
		with(&o)
	}
	v, err := paypalhook.New(p.WebhookID(), o)
	require.NoError(tb, err)
	return v
}

// newPayPal returns a PayPal that signs at now, and a Verifier.
func newPayPal(tb testing.TB) (*webhooktest.PayPal, *paypalhook.Verifier) {
	tb.Helper()
	p := webhooktest.NewPayPal(tb).At(now)
	return p, open(tb, p, nil)
}

// sign returns the headers of a delivery.
func sign(p *webhooktest.PayPal, body string) http.Header {
	req := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	p.Sign(req, []byte(body))
	return req.Header
}

// with returns h with one header set to another value.
func with(h http.Header, name, value string) http.Header {
	h = h.Clone()
	h.Set(name, value)
	return h
}

// reason returns why err refuses; "" if it does not.
func reason(err error) webhook.Reason {
	if refused, ok := errors.AsType[*webhook.RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

// ca is a certificate authority for what webhooktest does not issue.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newCA(tb testing.TB) ca {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	c := ca{key: key, pool: x509.NewCertPool()}
	c.cert, _ = c.issue(tb, x509.Certificate{IsCA: true, BasicConstraintsValid: true, Subject: pkix.Name{CommonName: "fixture"}}, key.Public())
	c.pool.AddCert(c.cert)
	return c
}

// issue returns a certificate for a public key, below c's own if it has one yet.
func (c ca) issue(tb testing.TB, template x509.Certificate, public any) (*x509.Certificate, []byte) {
	tb.Helper()
	template.SerialNumber = big.NewInt(1)
	if template.NotAfter.IsZero() { // from before what synctest begins with, 2000
		template.NotBefore, template.NotAfter = now.AddDate(-30, 0, 0), now.AddDate(30, 0, 0)
	}
	parent := c.cert
	if parent == nil {
		parent = &template
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, public, c.key)
	require.NoError(tb, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(tb, err)
	return cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// signer returns a certificate's PEM for PayPal's name in the live environment.
func (c ca) signer(tb testing.TB, public any) []byte {
	tb.Helper()
	_, file := c.issue(tb, x509.Certificate{DNSNames: []string{liveSigner}}, public)
	return file
}
