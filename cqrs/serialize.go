package cqrs

import (
	"context"
	"fmt"

	"github.com/semel-go/semel/lock"
)

// Serialize returns h so that it handles one command at a time for each key, as
// for each aggregate, over all processes that share the locker's store. It does
// not make a command take effect once: that is [Wrap], and inside it is where
// Serialize belongs, so that duplicates do not queue for the lock:
//
//	h := cqrs.Serialize(locker, func(c Withdraw) string { return "account:" + c.Account }, withdraw)
//	handle, err := cqrs.Wrap(guard, "account.withdraw.v1", h, cqrs.Options[Withdraw]{...})
//
// The key is the locker's as it is, so that other code may lock the same thing.
// The handler's context is the lease's: it ends with cause lock.ErrLost when
// the lock can no longer be trusted, and lock.LeaseFrom finds the lease in it,
// with its fence.
//
// Errors, and then h was not called: [ErrNoKey] if key returns "";
// lock.ErrNotAcquired, lock.ErrUnavailable and the others of Locker.Acquire;
// lock.ErrReentrant if ctx holds the lock already: a handler that sends a
// command for its own aggregate. Under Wrap all of them free the command.
// Otherwise the error is h's own. That the lock was lost or could not be given
// back is told to the locker's observer: the handler has had its effect.
//
// Serialize panics if an argument is nil.
func Serialize[C, R any](locker *lock.Locker, key func(cmd C) string, h func(context.Context, C) (R, error)) Handler[C, R] {
	if locker == nil || key == nil || h == nil {
		panic("cqrs: Serialize: nil argument")
	}
	return func(ctx context.Context, cmd C) (result R, err error) {
		k := key(cmd)
		if k == "" {
			return result, fmt.Errorf("%w: Serialize", ErrNoKey)
		}
		ran := false
		var own error
		err = locker.Do(ctx, k, func(ctx context.Context) error {
			ran = true
			result, own = h(ctx, cmd)
			return own
		})
		if ran {
			return result, own
		}
		return result, fmt.Errorf("cqrs: serialize: %w", err)
	}
}
