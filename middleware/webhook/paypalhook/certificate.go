package paypalhook

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	_ "embed" // intermediates.pem
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
)

// Limits of what is at a certificate's URL.
const (
	maxCertificateFile = 64 << 10
	maxCertificates    = 16 // a chain has three or four
)

// minKeyBits is the least that certificate authorities have been allowed since
// 2014.
const minKeyBits = 2048

//go:embed intermediates.pem
var intermediatesPEM string

// shipped returns intermediate certificates of DigiCert, which issues PayPal's:
// those for extended validation, as PayPal's have been, and the common one.
// PayPal may send its certificate alone, and Go does not fetch what lies between
// it and a root.
func shipped() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(intermediatesPEM))
	return pool
}

// trust is what makes a certificate PayPal's.
type trust struct {
	signer        string
	roots         *x509.CertPool
	intermediates *x509.CertPool
}

// signerKey is the key of a certificate that is PayPal's, and when.
type signerKey struct {
	public      *rsa.PublicKey
	from, until time.Time
}

// goodAt reports whether k's chain is valid at now.
func (k signerKey) goodAt(now time.Time) bool { return !now.Before(k.from) && !now.After(k.until) }

// key returns the key of the first certificate in file, if it is PayPal's at
// now. What follows it may be its chain.
//
// Errors: *webhook.RefusedError, NoMatch.
func (t trust) key(file []byte, now time.Time) (signerKey, error) {
	certs, err := parse(file)
	if err != nil {
		return signerKey{}, untrusted(err)
	}
	leaf, between := certs[0], t.intermediates.Clone()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	// x509 would take a wildcard for the name, and certificates with those lie on
	// many servers.
	if !slices.Contains(leaf.DNSNames, t.signer) {
		return signerKey{}, untrusted(fmt.Errorf("it is not made out to %s", t.signer))
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		DNSName:       t.signer,
		Roots:         t.roots,
		Intermediates: between,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, // it was issued for TLS
	})
	if err != nil {
		return signerKey{}, untrusted(err)
	}
	public, ok := leaf.PublicKey.(*rsa.PublicKey)
	if !ok || public.N.BitLen() < minKeyBits {
		return signerKey{}, untrusted(fmt.Errorf("its key is not RSA of at least %d bits", minKeyBits))
	}
	k := signerKey{public: public}
	k.from, k.until = validity(chains[0])
	return k, nil
}

// untrusted refuses a delivery for the certificate that it names.
func untrusted(err error) error {
	return webhook.Refuse(webhook.NoMatch, fmt.Errorf("the certificate: %w", err))
}

// parse returns the certificates in a PEM file, at least one.
func parse(file []byte) ([]*x509.Certificate, error) {
	if len(file) > maxCertificateFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxCertificateFile)
	}
	if !bytes.Contains(file, []byte("-----BEGIN CERTIFICATE-----")) {
		return nil, errors.New("it is not PEM") // a page that says why, perhaps
	}
	var certs []*x509.Certificate
	for {
		block, rest := pem.Decode(file)
		if block == nil {
			break
		}
		file = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		if len(certs) == maxCertificates {
			return nil, fmt.Errorf("there are more than %d", maxCertificates)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("it is not PEM")
	}
	return certs, nil
}

// validity returns when all certificates of a chain are valid.
func validity(chain []*x509.Certificate) (from, until time.Time) {
	from, until = chain[0].NotBefore, chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotBefore.After(from) {
			from = c.NotBefore
		}
		if c.NotAfter.Before(until) {
			until = c.NotAfter
		}
	}
	return from, until
}
