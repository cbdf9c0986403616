package cqrs

import (
	"context"
	"fmt"
	"reflect"

	"github.com/semel-go/semel/cqrs/commandhash"
	"github.com/semel-go/semel/idempotency"
)

// withKey is the key under which a context holds what WithKey was given.
type withKey struct{}

// WithKey returns ctx with the key for the one command that is sent with it:
// the sender's own name for it. No middleware's, option's or handler's context
// holds it any more, so that the commands which they send have their own.
//
// A command whose Options.Key, Options.KeyFrom or method IdempotencyKey gives a
// key is not affected. An empty key is [ErrNoKey].
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, withKey{}, &key)
}

// takeKey returns the key that ctx holds, or nil, and ctx without it. It is taken
// before anything of the user's is called with ctx: what that sends is another
// command.
func takeKey(ctx context.Context) (*string, context.Context) {
	key, _ := ctx.Value(withKey{}).(*string)
	if key != nil {
		ctx = context.WithValue(ctx, withKey{}, (*string)(nil))
	}
	return key, ctx
}

// putKey returns ctx with key, unless key is nil or ctx holds one already.
func putKey(ctx context.Context, key *string) context.Context {
	if own, _ := ctx.Value(withKey{}).(*string); own != nil || key == nil {
		return ctx
	}
	return context.WithValue(ctx, withKey{}, key)
}

// RequestKey, as Options.KeyFrom, makes a command's key that of the HTTP
// request, the webhook event or the command in whose handler it is sent: of
// the innermost claim that ctx holds. So a request that is sent again and runs
// again, since it crashed half way, does not run the command again if that had
// completed.
//
// It is one command of a name for each request: a second one with another
// content is idempotency.ErrMismatch, and one with the same content gets the
// first one's result. A handler that sends several must tell them apart, as by
//
//	KeyFrom: func(ctx context.Context, c Ship) (string, error) {
//		request, err := cqrs.RequestKey(ctx, c)
//		return request + "/" + c.Item, err
//	}
//
// Without a claim, as behind Options.FailOpen, it is [ErrNoKey].
func RequestKey[C any](ctx context.Context, _ C) (string, error) {
	claim, ok := idempotency.ClaimFrom(ctx)
	if !ok {
		return "", fmt.Errorf("%w: its context holds no claim", ErrNoKey)
	}
	d, err := claim.Key().Digest()
	return d.String(), err
}

// keyed is a command that knows its key. With false it has none, and the next
// source is asked.
type keyed interface {
	IdempotencyKey() (string, bool)
}

// keyMethod returns the method IdempotencyKey of C or *C, or nil.
func keyMethod[C any]() func(cmd C) (string, bool) {
	t := reflect.TypeFor[C]()
	switch {
	case t.Implements(reflect.TypeFor[keyed]()):
		return func(cmd C) (string, bool) { return any(cmd).(keyed).IdempotencyKey() }
	case reflect.PointerTo(t).Implements(reflect.TypeFor[keyed]()):
		return func(cmd C) (string, bool) { return any(&cmd).(keyed).IdempotencyKey() }
	}
	return nil
}

// keys makes the keys of the commands of one name.
type keys[C any] struct {
	name    string
	o       Options[C]
	method  func(cmd C) (string, bool)
	sum     func(scope string, cmd C) (idempotency.Fingerprint, error)
	shared  scopes // those of commands without a tenant
	pointer bool   // C is one
}

// newKeys returns the keys of the commands that are called name.
//
// Error: what cannot be hashed in C, or what does not do in o.
func newKeys[C any](name string, o Options[C]) (*keys[C], error) {
	k := &keys[C]{
		name: name, o: o, method: keyMethod[C](), shared: scopesOf(name, ""),
		pointer: reflect.TypeFor[C]().Kind() == reflect.Pointer,
	}
	if o.Content != nil {
		k.sum = k.sumContent
		return k, nil
	}
	hasher, err := commandhash.New[C](name, commandhash.Options{Secret: o.Secret})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	k.sum = func(scope string, cmd C) (idempotency.Fingerprint, error) {
		sum, err := hasher.Sum(scope, cmd)
		return idempotency.Fingerprint(sum), err
	}
	return k, nil
}

// sumContent is the sum of what Options.Content returns.
func (k *keys[C]) sumContent(scope string, cmd C) (idempotency.Fingerprint, error) {
	content, err := k.o.Content(cmd)
	if err != nil {
		return idempotency.Fingerprint{}, err
	}
	return idempotency.FingerprintOf([]byte("command content"), []byte(k.name), []byte(scope), content), nil
}

// scopes are those of the keys of one command's name and one tenant. They are
// two, so that no key that is given is ever the hash of another command.
type scopes struct{ given, hash string }

func scopesOf(name, tenant string) scopes {
	return scopes{given: idempotency.Scope("command", name, tenant), hash: idempotency.Scope("command hash", name, tenant)}
}

// of returns the key of cmd, and its fingerprint unless that is the key. own is
// what WithKey said, or nil.
func (k *keys[C]) of(ctx context.Context, own *string, cmd C) (key idempotency.Key, fingerprint idempotency.Fingerprint, err error) {
	if k.pointer && reflect.ValueOf(cmd).IsNil() {
		return key, fingerprint, fmt.Errorf("%w: %s: nil", ErrCommand, k.name)
	}
	tenant, within := "", k.shared
	if k.o.Scope != nil {
		if tenant, err = k.o.Scope(ctx, cmd); err != nil {
			return key, fingerprint, fmt.Errorf("cqrs: %s: scope: %w", k.name, err)
		}
		if tenant == "" {
			return key, fingerprint, fmt.Errorf("%w: %s", ErrNoScope, k.name)
		}
		within = scopesOf(k.name, tenant)
	}
	given, has, err := k.given(ctx, own, cmd)
	switch {
	case err != nil:
		return key, fingerprint, fmt.Errorf("cqrs: %s: key: %w", k.name, err)
	case has && given == "", !has && (k.o.KeyRequired || k.o.Window == 0):
		return key, fingerprint, fmt.Errorf("%w: %s", ErrNoKey, k.name)
	}
	if fingerprint, err = k.sum(tenant, cmd); err != nil {
		return key, fingerprint, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	if has {
		return idempotency.Key{Scope: within.given, ID: given}, fingerprint, nil
	}
	// Two commands of one hash are one, so there is nothing to compare.
	return idempotency.Key{Scope: within.hash, ID: commandhash.Sum(fingerprint).String()}, idempotency.Fingerprint{}, nil
}

// given returns the key that cmd was given, if it was.
func (k *keys[C]) given(ctx context.Context, own *string, cmd C) (key string, has bool, err error) {
	switch {
	case k.o.Key != nil:
		return k.o.Key(cmd), true, nil
	case k.o.KeyFrom != nil:
		key, err = k.o.KeyFrom(ctx, cmd)
		return key, true, err
	}
	if k.method != nil {
		if key, has = k.method(cmd); has {
			return key, true, nil
		}
	}
	if own != nil {
		return *own, true, nil
	}
	return "", false, nil
}
