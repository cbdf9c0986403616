package webhooktest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// AdyenSigner signs as Adyen does.
type AdyenSigner struct {
	key    []byte
	header bool
}

// Adyen returns a signer for standard webhooks with this HMAC key, in
// hexadecimal. It panics if the key is not.
func Adyen(key string) AdyenSigner {
	raw, err := hex.DecodeString(key)
	if err != nil {
		panic("webhooktest: Adyen: the key is not hexadecimal")
	}
	return AdyenSigner{key: raw}
}

// AdyenHeader returns a signer for the webhooks of platforms and of the
// Management API, whose signature is in a header. The key is as Adyen's.
func AdyenHeader(key string) AdyenSigner {
	s := Adyen(key)
	s.header = true
	return s
}

// Sign makes body the body of req, signed: a standard one is what Body returns.
// It panics where Body does.
func (s AdyenSigner) Sign(req *http.Request, body []byte) {
	if s.header {
		setBody(req, body)
		req.Header.Set("HmacSignature", s.mac(body))
		return
	}
	setBody(req, s.Body(body))
}

// Body returns a standard body with the signature of each of its items written
// into it, in the place of one that is there. Its names come out in the order of
// the alphabet: what is signed twice is the same twice. It panics if body has no
// notificationItems that are objects.
func (s AdyenSigner) Body(body []byte) []byte {
	type object = map[string]any
	var all object
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // an amount stays as it was written
	if err := d.Decode(&all); err != nil {
		panic("webhooktest: Adyen: " + err.Error())
	}
	list, _ := all["notificationItems"].([]any)
	if len(list) == 0 {
		panic("webhooktest: Adyen: the body has no notificationItems")
	}
	for _, element := range list {
		outer, _ := element.(object)
		item, ok := outer["NotificationRequestItem"].(object)
		if !ok {
			panic("webhooktest: Adyen: an item is no NotificationRequestItem")
		}
		data, ok := item["additionalData"].(object)
		if !ok {
			data = object{}
			item["additionalData"] = data
		}
		amount, _ := item["amount"].(object)
		var fields []string
		for _, v := range []any{
			item["pspReference"], item["originalReference"], item["merchantAccountCode"], item["merchantReference"],
			amount["value"], amount["currency"], item["eventCode"], item["success"],
		} {
			text := ""
			if v != nil {
				text = fmt.Sprint(v)
			}
			fields = append(fields, text)
		}
		data["hmacSignature"] = s.mac([]byte(strings.Join(fields, ":")))
	}
	var signed bytes.Buffer
	e := json.NewEncoder(&signed)
	e.SetEscapeHTML(false)
	if err := e.Encode(all); err != nil {
		panic("webhooktest: Adyen: " + err.Error())
	}
	return bytes.TrimSpace(signed.Bytes())
}

// mac returns the signature of text, in base64.
func (s AdyenSigner) mac(text []byte) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(text)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
