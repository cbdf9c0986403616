package paypalhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/semel-go/semel/middleware/webhook"
)

// What is wrong with a JSON text that is compared.
var (
	errTwice = errors.New("a name is there twice")
	errNone  = errors.New("it is no JSON object")
)

// compare refuses e if PayPal's API has another event under its id.
func (v *Verifier) compare(ctx context.Context, e webhook.Event) error {
	if !plain(e.ID, "") { // it goes into a URL
		return webhook.Refuse(webhook.Malformed, errors.New("the event's id is none of PayPal's"))
	}
	// The delivered one goes first: there is nothing to ask about one that two
	// readers could understand in two ways.
	delivered, err := object(e.Body)
	if err != nil {
		return webhook.Refuse(webhook.Malformed, fmt.Errorf("the body: %w", err))
	}
	text, err := v.reread(ctx, e)
	if err != nil {
		return fmt.Errorf("%w: the event: %w", webhook.ErrUnavailable, err)
	}
	known, err := object(text)
	if err != nil {
		return fmt.Errorf("%w: the event as it was read again: %w", webhook.ErrUnavailable, err)
	}
	for name, value := range delivered {
		if again, ok := known[name]; !ok || !same(value, again) {
			return webhook.Refuse(webhook.Forged, fmt.Errorf("PayPal's event has another %.64q", name))
		}
	}
	for _, name := range [...]string{"event_type", "create_time", "resource_type", "resource"} {
		_, sent := delivered[name]
		if _, there := known[name]; there && !sent {
			return webhook.Refuse(webhook.Forged, fmt.Errorf("it leaves out %q", name))
		}
	}
	return nil
}

// object decodes a JSON object, whole. A name that is there twice is an error on
// every level: what it means depends on the reader.
func object(text []byte) (map[string]any, error) {
	if !json.Valid(text) { // which bounds the depth, too
		return nil, errNone
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := value(d)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errNone
	}
	return o, nil
}

// value decodes the next value of a valid text.
func value(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := name.(string)
			if _, ok := o[key]; ok {
				return nil, errTwice
			}
			if o[key], err = value(d); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		a := []any{}
		for d.More() {
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			a = append(a, v)
		}
		_, err := d.Token()
		return a, err
	}
	return token, nil
}

// same reports whether two decoded values are equal. Numbers are if they are
// written alike: as floats, two amounts could look the same that are not.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}
