package paypalhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// The headers of a delivery, in canonical form.
const (
	idHeader        = "Paypal-Transmission-Id"
	timeHeader      = "Paypal-Transmission-Time"
	signatureHeader = "Paypal-Transmission-Sig"
	certHeader      = "Paypal-Cert-Url"
	algoHeader      = "Paypal-Auth-Algo"
)

// algorithm is the one that is taken. PayPal's own libraries know SHA1withRSA,
// too, which would let the sender choose the weaker.
const algorithm = "SHA256withRSA"

// certPath is where PayPal keeps its certificates.
const certPath = "/v1/notifications/certs/"

// The sizes of an RSA signature in bytes, of 2048 to 8192 bits.
const minSignature, maxSignature = 256, 1024

// transmission is what the headers of a delivery say.
type transmission struct {
	id, time  string // as they came: they are signed so
	at        time.Time
	signature []byte
	certURL   string // allowed
}

// readTransmission reads the headers. What it takes could be genuine; nothing in
// it is verified.
func readTransmission(header http.Header, env environment) (transmission, error) {
	var values [5]string
	for i, name := range [...]string{idHeader, timeHeader, signatureHeader, certHeader, algoHeader} {
		var err error
		if values[i], err = signed.Header(header, name); err != nil {
			return transmission{}, err
		}
	}
	t := transmission{id: values[0], time: values[1], certURL: values[3]}
	if values[4] != algorithm {
		return transmission{}, malformed(algoHeader, errors.New("it is not "+algorithm))
	}
	var err error
	if t.at, err = time.Parse(time.RFC3339, t.time); err != nil {
		return transmission{}, malformed(timeHeader, errors.New("it is no time"))
	}
	if t.signature, err = decode(values[2]); err != nil {
		return transmission{}, malformed(signatureHeader, err)
	}
	if !env.allows(t.certURL) {
		return transmission{}, malformed(certHeader, errors.New("it is not where PayPal keeps its certificates"))
	}
	return t, nil
}

// malformed refuses a delivery for one of its headers.
func malformed(header string, err error) error {
	return webhook.Refuse(webhook.Malformed, fmt.Errorf("header %s: %w", header, err))
}

// decode decodes a signature. It takes one text for one signature, unlike
// base64, which skips line breaks and bits that are left over.
func decode(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("it holds a line break")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	case err != nil:
		return nil, errors.New("it is not base64")
	case len(b) < minSignature || len(b) > maxSignature:
		return nil, fmt.Errorf("it has %d bytes", len(b))
	}
	return b, nil
}

// allows reports whether a certificate may be fetched from url. It goes by the
// text, in which nothing but an exact host and plain names below one path can
// stand: what is not taken apart cannot be taken apart differently by the client
// that fetches it.
func (env environment) allows(url string) bool {
	rest, ok := strings.CutPrefix(url, "https://")
	slash := strings.IndexByte(rest, '/')
	if !ok || slash < 0 || !slices.Contains(env.hosts[:], rest[:slash]) {
		return false
	}
	below, ok := strings.CutPrefix(rest[slash:], certPath)
	if !ok || below == "" || path.Clean(rest[slash:]) != rest[slash:] {
		return false
	}
	return plain(below, "./")
}

// signedText returns what PayPal signs (developer.paypal.com/api/rest/webhooks/rest).
// Read from its end it is unambiguous: of the four parts only the first could
// hold a bar.
func (t transmission) signedText(webhookID string, body []byte) string {
	sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
	return t.id + "|" + t.time + "|" + webhookID + "|" + sum
}

// fresh returns how much longer t is believed. It refuses one that is too old or
// too far in the future as expired.
func (t transmission) fresh(now time.Time, maxAge time.Duration) (time.Duration, error) {
	age := now.Sub(t.at)
	if age > maxAge || age < -ahead {
		return 0, webhook.Refuse(webhook.Expired, fmt.Errorf("transmitted %s, and it is %s",
			t.at.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)))
	}
	return maxAge - age, nil
}
