package webhooktest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/middleware/webhook/paypalhook"
)

// What may be wrong with a certificate.
const (
	wrongName = "wrong-name"
	wrongRoot = "wrong-root"
	expired   = "expired"
)

// The time in which certificates are valid. Tests set their clock as they like.
func theBeginning() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }
func theEnd() time.Time       { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// authority issues PayPal's certificates and serves them.
type authority struct {
	key     *rsa.PrivateKey // of all certificates
	roots   *x509.CertPool
	files   map[string][]byte // by URL
	fetches atomic.Int64
}

func newAuthority() (*authority, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	root, err := newIssuer("root", nil)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, roots: x509.NewCertPool(), files: map[string][]byte{}}
	a.roots.AddCert(root.cert)
	other, err := newIssuer("another root", nil)
	if err != nil {
		return nil, err
	}
	for env, name := range map[paypalhook.Env]string{
		paypalhook.Live:    "messageverificationcerts.paypal.com",
		paypalhook.Sandbox: "messageverificationcerts.sandbox.paypal.com",
	} {
		for fault, c := range map[string]struct {
			root  *issuer
			name  string
			until time.Time
		}{
			"":        {root, name, theEnd()},
			wrongName: {root, "www.paypal.com", theEnd()},
			wrongRoot: {other, name, theEnd()},
			expired:   {root, name, theBeginning().AddDate(1, 0, 0)},
		} {
			file, err := a.issue(c.root, c.name, c.until)
			if err != nil {
				return nil, err
			}
			a.files[certificateURL(env, fault)] = file
		}
	}
	return a, nil
}

// issue returns the PEM of a certificate for a.key and of what lies between it
// and root.
func (a *authority) issue(root *issuer, name string, until time.Time) ([]byte, error) {
	between, err := newIssuer("intermediate", root)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    theBeginning(),
		NotAfter:     until,
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, between.cert, a.key.Public(), between.key)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	for _, der := range [][]byte{leaf, between.cert.Raw} {
		if err := pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			return nil, err
		}
	}
	return file.Bytes(), nil
}

// fetch returns what is at url: a page in HTML if there is nothing.
func (a *authority) fetch(ctx context.Context, url string) ([]byte, error) {
	a.fetches.Add(1)
	if file, ok := a.files[url]; ok {
		return file, ctx.Err()
	}
	return []byte("<html><h1>404 Not Found</h1></html>"), ctx.Err()
}

// certificateURL returns where the certificate with a fault is.
func certificateURL(env paypalhook.Env, fault string) string {
	host := "api.paypal.com"
	if env == paypalhook.Sandbox {
		host = "api.sandbox.paypal.com"
	}
	return "https://" + host + "/v1/notifications/certs/CERT-" + fault + "-5e3e1001"
}

// issuer is a certificate authority.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newIssuer returns an authority below parent, or a root if there is none.
func newIssuer(name string, parent *issuer) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	i := &issuer{key: key, cert: &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "webhooktest " + name},
		NotBefore:             theBeginning(),
		NotAfter:              theEnd(),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}}
	if parent == nil {
		parent = i
	}
	der, err := x509.CreateCertificate(rand.Reader, i.cert, parent.cert, key.Public(), parent.key)
	if err != nil {
		return nil, err
	}
	i.cert, err = x509.ParseCertificate(der)
	return i, err
}
