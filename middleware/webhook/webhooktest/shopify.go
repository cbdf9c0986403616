package webhooktest

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"
)

// ShopifySigner signs as Shopify does.
type ShopifySigner struct {
	secret, webhookID, eventID, shop, topic string
	at                                      time.Time
}

// Shopify returns a signer for the app with this client secret.
func Shopify(secret string) ShopifySigner { return ShopifySigner{secret: secret} }

// ID returns the signer whose deliveries have this webhook id.
// Default: one made of the body.
func (s ShopifySigner) ID(webhookID string) ShopifySigner {
	s.webhookID = webhookID
	return s
}

// EventID returns the signer whose deliveries have this event id.
// Default: one made of the body.
func (s ShopifySigner) EventID(id string) ShopifySigner {
	s.eventID = id
	return s
}

// Shop returns the signer for a shop.
// Default: "example.myshopify.com".
func (s ShopifySigner) Shop(domain string) ShopifySigner {
	s.shop = domain
	return s
}

// Topic returns the signer whose deliveries have this topic.
// Default: "orders/create".
func (s ShopifySigner) Topic(topic string) ShopifySigner {
	s.topic = topic
	return s
}

// At returns the signer whose events were triggered at t. It is not signed.
// Default: when Sign is called.
func (s ShopifySigner) At(t time.Time) ShopifySigner {
	s.at = t
	return s
}

// Sign signs body and makes it the body of req.
func (s ShopifySigner) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	h := req.Header
	h.Set("X-Shopify-Webhook-Id", cmp.Or(s.webhookID, uuid(body)))
	h.Set("X-Shopify-Event-Id", cmp.Or(s.eventID, uuid(append([]byte("event:"), body...))))
	h.Set("X-Shopify-Shop-Domain", cmp.Or(s.shop, "example.myshopify.com"))
	h.Set("X-Shopify-Topic", cmp.Or(s.topic, "orders/create"))
	h.Set("X-Shopify-Triggered-At", or(s.at).UTC().Format(time.RFC3339Nano))
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write(body)
	h.Set("X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
