package standardhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// DefaultName is the default of Options.Name.
const DefaultName = "standard"

// Options says how deliveries are judged. The zero value is safe.
type Options struct {
	// Name is the provider's name, in lower case, as "clerk". It is part of
	// every key: with it, two providers that send this format never share one.
	// Do not change it later.
	// Default: "standard".
	Name string

	// Tolerance is how far the timestamp may be from now, in the past and in
	// the future.
	// Default: 5 min.
	Tolerance time.Duration

	// Now is the clock.
	// Default: time.Now.
	Now func() time.Time
}

// Verifier verifies deliveries in the standard format. It is safe for
// concurrent use.
type Verifier struct {
	name      string
	secrets   webhook.SecretSource
	static    *keys // the secrets, if they are always the same
	tolerance time.Duration
	now       func() time.Time
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier. A secret is whsec_ and the base64 of 24 to 64 bytes,
// for v1, or whpk_ and that of an ed25519 public key, for v1a; "v1," before it,
// as some providers print it, is left out. Several may be of either kind.
//
// Errors: webhook.ErrSecrets, wrapped, and one for each field out of its range.
func New(secrets webhook.SecretSource, o Options) (*Verifier, error) {
	v := &Verifier{
		name:      cmp.Or(o.Name, DefaultName),
		secrets:   secrets,
		tolerance: cmp.Or(o.Tolerance, signed.DefaultTolerance),
		now:       o.Now,
	}
	if v.now == nil {
		v.now = time.Now
	}
	var errs []error
	if err := signed.Secrets(secrets); err != nil {
		errs = append(errs, err)
	} else if list, ok := secrets.(webhook.Secrets); ok {
		k, err := parse(list)
		v.static, errs = &k, append(errs, err)
	}
	if !signed.Name(v.name) {
		errs = append(errs, fmt.Errorf("field Name: %q has more than lower-case letters, digits and dashes", o.Name))
	}
	if o.Tolerance < 0 {
		errs = append(errs, errors.New("field Tolerance is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("standardhook: %w", err)
	}
	return v, nil
}

// Provider returns Options.Name; [webhook.Verifier].
func (v *Verifier) Provider() string { return v.name }

// Policy implements [webhook.Adviser]. Senders retry for about 3 days, wait 15
// to 30 s, and stop for good after a 410, which is never sent.
func (*Verifier) Policy() webhook.Policy {
	return webhook.Policy{Patience: 15 * time.Second, Retention: 30 * 24 * time.Hour, MaxBody: 1 << 20}
}

// Verify implements [webhook.Verifier]. The delivery holds one event. Its Type
// and Time are those of the body, if it is a JSON object that has them.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header,
// two families that differ, a timestamp that is no number, an id with a full
// stop, more than 16 signatures, and a signed body with two types; NoMatch;
// Expired, only if the signature holds. webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	h, err := read(header)
	if err != nil {
		return webhook.Delivery{}, err
	}
	k, tenant, err := v.keys(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	head := []byte(h.id + "." + h.timestamp + ".")
	if !h.signatures.signedBy(k, head, body) {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	if err := signed.Fresh(h.at, v.now(), v.tolerance); err != nil {
		return webhook.Delivery{}, err
	}
	f := [...]jsonfield.Field{{Path: "type"}, {Path: "timestamp"}}
	if err := jsonfield.Read(body, f[:]); errors.Is(err, jsonfield.ErrTwice) {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, err)
	} // a body that is not JSON is as good as any
	return webhook.Delivery{Events: []webhook.Event{{
		Provider: v.name,
		Tenant:   tenant,
		ID:       h.id,
		IDSigned: true,
		Type:     f[0].Value.String(),
		Time:     f[1].Value.Time(),
		Body:     body,
	}}}, nil
}

// keys returns the keys of a delivery and the tenant that they belong to.
func (v *Verifier) keys(ctx context.Context, header http.Header, body []byte) (keys, string, error) {
	if v.static != nil {
		return *v.static, "", nil
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return keys{}, "", err
	}
	k, err := parse(secrets)
	if err != nil {
		return keys{}, "", fmt.Errorf("%w: %w", webhook.ErrUnavailable, err)
	}
	return k, tenant, nil
}

// head is what the headers say.
type head struct {
	id, timestamp string
	at            time.Time
	signatures    signatures
}

// read reads the headers of either family.
func read(header http.Header) (head, error) {
	var h head
	var list string
	var err error
	if h.id, err = either(header, "Webhook-Id", "Svix-Id"); err != nil {
		return head{}, err
	}
	if h.timestamp, err = either(header, "Webhook-Timestamp", "Svix-Timestamp"); err != nil {
		return head{}, err
	}
	if list, err = either(header, "Webhook-Signature", "Svix-Signature"); err != nil {
		return head{}, err
	}
	if strings.Contains(h.id, ".") {
		return head{}, webhook.Refuse(webhook.Malformed, errors.New("the id holds a full stop"))
	}
	if h.at, err = signed.Seconds(h.timestamp); err != nil {
		return head{}, err
	}
	h.signatures, err = parseSignatures(list)
	return h, err
}

// either returns the value of a header that has two names.
func either(header http.Header, name, other string) (string, error) {
	a, err := signed.Optional(header, name)
	if err != nil {
		return "", err
	}
	b, err := signed.Optional(header, other)
	switch {
	case err != nil:
		return "", err
	case a == "" && b == "":
		return "", webhook.Refuse(webhook.MissingHeader, fmt.Errorf("header %s", name))
	case a != "" && b != "" && a != b:
		return "", webhook.Refuse(webhook.Malformed, fmt.Errorf("headers %s and %s differ", name, other))
	}
	return cmp.Or(a, b), nil
}
