package webhooktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"time"
)

// HMACOptions says how the sender signs.
type HMACOptions struct {
	// Header is the signature's header. It is required.
	Header string
	// Prefix is what it has before the signature.
	// Default: nothing.
	Prefix string
	// Hash is the hash.
	// Default: sha256.New.
	Hash func() hash.Hash
	// Encode writes the signature.
	// Default: hex.EncodeToString.
	Encode func(mac []byte) string
	// Content returns what is signed. Timestamp and id are as in the headers.
	// Default: body.
	Content func(timestamp, id string, body []byte) []byte
	// TimestampHeader is the header with the time of signing.
	// Default: none.
	TimestampHeader string
	// Timestamp writes it.
	// Default: seconds since 1970.
	Timestamp func(time.Time) string
	// IDHeader is the header with the event's id.
	// Default: none.
	IDHeader string
}

// HMACSigner signs in a sender's own way.
type HMACSigner struct {
	secret string
	o      HMACOptions
	at     time.Time
	id     string
}

// HMAC returns a signer with the secret, whose bytes are the key. It panics
// without HMACOptions.Header.
func HMAC(secret string, o HMACOptions) HMACSigner {
	if o.Header == "" {
		panic("webhooktest: HMAC: field Header is empty")
	}
	if o.Hash == nil {
		o.Hash = sha256.New
	}
	if o.Encode == nil {
		o.Encode = hex.EncodeToString
	}
	if o.Content == nil {
		o.Content = func(_, _ string, body []byte) []byte { return body }
	}
	if o.Timestamp == nil {
		o.Timestamp = func(t time.Time) string { return fmt.Sprint(t.Unix()) }
	}
	return HMACSigner{secret: secret, o: o}
}

// At returns the signer whose signatures are made at t.
// Default: when Sign is called.
func (s HMACSigner) At(t time.Time) HMACSigner {
	s.at = t
	return s
}

// ID returns the signer whose deliveries have this id in HMACOptions.IDHeader.
// Default: one made of the body.
func (s HMACSigner) ID(id string) HMACSigner {
	s.id = id
	return s
}

// Sign signs body and makes it the body of req.
func (s HMACSigner) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	at, id := s.o.Timestamp(or(s.at)), s.id
	if id == "" {
		id = fmt.Sprintf("%x", sha256.Sum256(body))[:32]
	}
	mac := hmac.New(s.o.Hash, []byte(s.secret))
	mac.Write(s.o.Content(at, id, body))
	req.Header.Set(s.o.Header, s.o.Prefix+s.o.Encode(mac.Sum(nil)))
	if s.o.TimestampHeader != "" {
		req.Header.Set(s.o.TimestampHeader, at)
	}
	if s.o.IDHeader != "" {
		req.Header.Set(s.o.IDHeader, id)
	}
}
