package adyenhook

import (
	"errors"
	"fmt"
	"slices"
)

// Form is how a kind of Adyen's webhooks is signed. An endpoint takes one: what
// is signed in the one form is never believed in the other.
type Form int

// The forms.
const (
	// Items is that of standard webhooks: each item of the body holds its own
	// signature.
	Items Form = iota
	// Header is that of the webhooks of platforms, balance platforms, tokens
	// and the Management API: the signature is in the header HmacSignature.
	Header
)

// maxIDFields is more than anybody needs to tell events apart.
const maxIDFields = 8

// Options says how deliveries are judged and answered. The zero value is safe.
type Options struct {
	// Form is how the deliveries are signed.
	// Default: Items.
	Form Form

	// IDFields is where, in the form Header, the body has what tells events
	// apart: names down from the body's object, with dots between, as
	// []string{"type", "data.id", "data.sequenceNumber"}. Each is a string or
	// an integer, and a body without one of them is refused as no event. They
	// must be the same in each attempt, and must not be the same in two events.
	// Default: none, an event is known by the SHA-256 of its body.
	IDFields []string

	// AcceptedBody answers an event that was handled with 200 and "[accepted]",
	// in the place of 202 without a body. Integrations from before 2023 may
	// need it: see the response settings in Adyen's Customer Area. A handler
	// that writes its own answer writes this itself.
	// Default: false.
	AcceptedBody bool
}

// validate returns everything that is wrong with o.
func (o Options) validate() error {
	var errs []error
	if o.Form != Items && o.Form != Header {
		errs = append(errs, fmt.Errorf("field Form: %d is none", o.Form))
	}
	if o.Form == Items && len(o.IDFields) > 0 {
		errs = append(errs, errors.New("field IDFields: an item's id is made of what is signed of it"))
	}
	if len(o.IDFields) > maxIDFields {
		errs = append(errs, fmt.Errorf("field IDFields has more than %d names", maxIDFields))
	}
	for i, f := range o.IDFields {
		if f == "" || slices.Contains(o.IDFields[:i], f) {
			errs = append(errs, fmt.Errorf("field IDFields: %q is empty or there twice", f))
		}
	}
	return errors.Join(errs...)
}
