package cqrs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// Options say how commands of type C are told apart and how their outcomes are
// kept. A command needs a key or a Window; all other fields have a default.
type Options[C any] struct {
	// Key returns what the sender calls this command: a request id, the id of
	// the order. It must be unique within the command's name and Scope. "" is
	// ErrNoKey. It must not panic on any C.
	// Default: the method IdempotencyKey of C or *C, then WithKey, then the
	// command hash if there is a Window.
	Key func(cmd C) string

	// KeyFrom is Key with the context of the call, and with an error, which
	// the sender gets. At most one of the two is set. RequestKey is one.
	// Default: as Key.
	KeyFrom func(ctx context.Context, cmd C) (string, error)

	// KeyRequired refuses a call that brings no key with ErrNoKey, in place of
	// taking the command hash: a command that is sent under WithKey alone.
	// Default: false.
	KeyRequired bool

	// Scope names whose command it is: two tenants that use one key have two
	// commands. "" is ErrNoScope; an error is returned to the sender.
	// Default: all senders share keys.
	Scope func(ctx context.Context, cmd C) (string, error)

	// Content returns what the command says, in place of the command hash, for
	// a C that cannot be hashed: two commands are the same if these bytes are.
	// Default: the command hash, and a C that it does not take is refused.
	Content func(cmd C) ([]byte, error)

	// Secret, if not nil, makes the command hash an HMAC, at least 16 bytes:
	// who can read the store and guess at a command's content cannot then
	// test the guess. All processes must have the same. One that is empty and
	// not nil, as from a variable that is not set, is refused.
	// Default: nil, none.
	Secret []byte

	// Window is for how long after its completion a command is known, from the
	// Lease to idempotency.MaxRetention. Without a key it is required, and is
	// the time for which a command that says the same is a duplicate.
	// Default: the Guard's Retention, which is 24 h unless it was told otherwise.
	Window time.Duration

	// OnDuplicate says what a duplicate of a completed command gets.
	// Default: Replay.
	OnDuplicate Policy

	// ResultVersion is the version of R. Results that were recorded under
	// another version are idempotency.ErrResultUnavailable.
	// Default: 0.
	ResultVersion uint32

	// Lease, Wait, UnknownFor, MaxResult and FailOpen stand for those of the
	// Guard: how long a crash blocks the command, how long a duplicate waits
	// for one that is under way, how long an unknown outcome is held, how many
	// bytes of a result are kept, and whether a command runs without a claim
	// if the store is not available. idempotency.NoWait and NoResults undo the
	// Guard's.
	// Default: the Guard's own, which are 30 s, none, the Window, 256 KiB and
	// no unless it was told otherwise.
	Lease, Wait, UnknownFor time.Duration
	MaxResult               int
	FailOpen                bool
}

// Policy says what a duplicate of a completed command gets.
type Policy uint8

// The policies.
const (
	// Replay gives a duplicate the recorded result, or the recorded error in a
	// *[ReplayedError].
	Replay Policy = iota
	// Reject gives a duplicate a *[DuplicateError].
	Reject
)

// validate reports every field that is out of range and that neither the Guard
// nor the hash checks.
func (o *Options[C]) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
	}
	hasKey := o.Key != nil || o.KeyFrom != nil || keyMethod[C]() != nil
	if o.Key != nil && o.KeyFrom != nil {
		bad("Options.Key and Options.KeyFrom are both set")
	}
	if o.Window < 0 {
		bad("Options.Window is %v, must be positive", o.Window)
	}
	if !hasKey && !o.KeyRequired && o.Window == 0 {
		bad("there is no key and no Options.Window: two commands that say the same may be meant as two, " +
			"so say for how long they are one")
	}
	if o.OnDuplicate > Reject {
		bad("Options.OnDuplicate is %d, must be Replay or Reject", o.OnDuplicate)
	}
	if o.Content != nil && o.Secret != nil {
		bad("Options.Content and Options.Secret are both set: the content can be made secret where it is made")
	}
	return errors.Join(errs...)
}

// guarded returns g as the options change it.
//
// Error: idempotency.ErrInvalid.
func (o *Options[C]) guarded(g *idempotency.Guard) (*idempotency.Guard, error) {
	g = g.With(idempotency.Options{
		Lease: o.Lease, Retention: o.Window, Wait: o.Wait, UnknownFor: o.UnknownFor,
		MaxResult: o.MaxResult, FailOpen: o.FailOpen,
	})
	return g, g.Err()
}
