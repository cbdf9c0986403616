package adyenhook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// item is what an item says that is signed, and its signature.
type item struct {
	psp, original, account, reference string
	value, currency                   string
	code, success                     string
	signature                         []byte
	date                              time.Time // not signed
}

// The names of an item.
const (
	itemName   = "NotificationRequestItem"
	amountName = "amount"
)

// The signed names, as they stand in an item and in its amount.
var (
	itemNames   = []string{"pspReference", "originalReference", "merchantAccountCode", "merchantReference", amountName, "eventCode", "success"}
	amountNames = []string{"value", "currency"}
)

// What is wrong with an item.
var (
	errUnsigned = errors.New("an item has no hmacSignature: is the HMAC key enabled for this webhook?")
	errType     = errors.New("a signed field of an item is of the wrong type")
	errColon    = errors.New("a signed field of an item holds a colon")
	errValue    = errors.New("the value of an item is no whole number")
	errSuccess  = errors.New("the success of an item is neither true nor false")
)

// readItem reads an element of the list. It has not been verified: what cannot be
// read in exactly one way is refused.
func readItem(raw []byte) (item, error) {
	const in = itemName + "."
	const psp, original, account, reference, currency, code, success, mac = 0, 1, 2, 3, 4, 5, 6, 7
	const value, date, whole, amount = 8, 9, 10, 11
	f := [...]jsonfield.Field{
		psp:       {Path: in + "pspReference"},
		original:  {Path: in + "originalReference"},
		account:   {Path: in + "merchantAccountCode"},
		reference: {Path: in + "merchantReference"},
		currency:  {Path: in + "amount.currency"},
		code:      {Path: in + "eventCode"},
		success:   {Path: in + "success"},
		mac:       {Path: in + "additionalData.hmacSignature"},
		value:     {Path: in + "amount.value"},
		date:      {Path: in + "eventDate"},
		whole:     {Path: itemName},
		amount:    {Path: in + amountName},
	}
	if err := jsonfield.Read(raw, f[:]); err != nil {
		return item{}, webhook.Refuse(webhook.Malformed, err)
	}
	var text [mac + 1]string
	for i := range text {
		var ok bool
		if text[i], ok = f[i].Value.Text(); !ok && f[i].Value != nil {
			return item{}, webhook.Refuse(webhook.Malformed, errType)
		}
	}
	it := item{
		psp: text[psp], original: text[original], account: text[account], reference: text[reference],
		value: string(f[value].Value), currency: text[currency], code: text[code], success: text[success],
		date: f[date].Value.Time(),
	}
	for _, err := range []error{
		alike(raw, itemName),
		alike(f[whole].Value, itemNames...),
		alike(f[amount].Value, amountNames...),
		it.setSignature(text[mac]),
		it.check(),
	} {
		if err != nil {
			return item{}, err
		}
	}
	return it, nil
}

// setSignature sets the signature that is written in text.
func (it *item) setSignature(text string) error {
	if text == "" {
		return webhook.Refuse(webhook.MissingHeader, errUnsigned)
	}
	var ok bool
	if it.signature, ok = signed.Base64(base64.StdEncoding, text, sha256.Size); !ok {
		return webhook.Refuse(webhook.Malformed, errSignature)
	}
	return nil
}

// check refuses fields that make the signed text ambiguous. With colons in the
// reference alone, the three fields before it end at the first three, and the
// four behind it begin at the last four.
func (it *item) check() error {
	for _, s := range []string{it.psp, it.original, it.account, it.currency, it.code} {
		if strings.Contains(s, ":") {
			return webhook.Refuse(webhook.Malformed, errColon)
		}
	}
	for i, c := range it.value {
		if (c < '0' || c > '9') && (i > 0 || c != '-') {
			return webhook.Refuse(webhook.Malformed, errValue)
		}
	}
	if it.success != "true" && it.success != "false" {
		return webhook.Refuse(webhook.Malformed, errSuccess)
	}
	return nil
}

// content is what is signed.
func (it *item) content() []byte {
	return []byte(strings.Join([]string{
		it.psp, it.original, it.account, it.reference, it.value, it.currency, it.code, it.success,
	}, ":"))
}

// event makes an event of an item whose signature holds. Its resource is the
// payment: later events of one name it as their original.
func (it *item) event() webhook.Event {
	e := webhook.Event{
		Provider: Provider,
		ID:       it.psp + ":" + it.code + ":" + it.success,
		IDSigned: true,
		Type:     it.code,
		Resource: it.original,
		Time:     it.date,
	}
	if e.Resource == "" {
		e.Resource = it.psp
	}
	return e
}

// alike refuses an object with a name that differs from one of names in the case
// of its letters only. It could be added to what is signed, and the handler would
// read it in the place of the signed one.
func alike(object jsonfield.Value, names ...string) error {
	if object == nil {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return webhook.Refuse(webhook.Malformed, errType)
	}
	for got := range all {
		for _, name := range names {
			if got != name && strings.EqualFold(got, name) {
				return webhook.Refuse(webhook.Malformed, fmt.Errorf("the name %.64q is like %s", got, name))
			}
		}
	}
	return nil
}
