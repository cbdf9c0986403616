package lock

import (
	"context"
	"errors"
	"time"
)

// Do runs fn while it holds key, waiting for it as Acquire does.
//
// fn's context is the lease's: it ends when ctx does, and with cause [ErrLost]
// when ownership can no longer be trusted; [LeaseFrom] finds the lease in it.
// However fn ends, by return, panic or runtime.Goexit, the key is given back
// before Do ends, whether or not ctx is alive.
//
// Errors: those of Acquire, and then fn was not called; otherwise fn's own
// error, joined with [ErrLost] if the key was no longer owned at the end, so
// that another may have run at the same time, or with a *[ReleaseError] if it
// could not be given back.
func (l *Locker) Do(ctx context.Context, key string, fn func(ctx context.Context) error) error {
	// Close waits for fn, too, should its lease be lost.
	if !l.core.keeper.Enter() {
		return ErrClosed
	}
	defer l.core.keeper.Exit()
	lease, err := l.acquire(ctx, key, terms{tied: true})
	if err != nil {
		return err
	}
	return lease.run(ctx, fn, nil)
}

// TryDo runs fn while it holds key, or skips it if the key is held: the form
// for a job that must run on one worker. It asks once.
//
// The three ends are told apart: (true, err) fn ran, err as in Do; (false,
// nil) skipped, since another holds or keeps the key; (false, err) it could
// not be found out: [ErrUnavailable] and the other errors of TryAcquire.
func (l *Locker) TryDo(ctx context.Context, key string, fn func(ctx context.Context) error) (ran bool, err error) {
	return l.tryDo(ctx, key, terms{once: true, tied: true}, fn, nil)
}

func (l *Locker) tryDo(ctx context.Context, key string, t terms, fn func(context.Context) error, keep func() time.Duration) (bool, error) {
	if !l.core.keeper.Enter() {
		return false, ErrClosed
	}
	defer l.core.keeper.Exit()
	lease, err := l.acquire(ctx, key, t)
	switch {
	case err == nil:
		return true, lease.run(ctx, fn, keep)
	case errors.Is(err, ErrNotAcquired) && ctx.Err() == nil:
		return false, nil
	}
	return false, err
}

// run calls fn with the lease's context and releases the lease. If fn
// succeeds, the key is kept for as long as keep says, if it is given.
func (l *Lease) run(ctx context.Context, fn func(context.Context) error, keep func() time.Duration) (err error) {
	returned := false
	defer func() {
		var kept time.Duration
		if keep != nil && returned && err == nil {
			kept = keep()
		}
		switch released := l.release(ctx, kept); {
		case !returned: // a panic or Goexit goes on
		case isLost(released):
			err = errors.Join(err, released)
		case released != nil:
			err = errors.Join(err, &ReleaseError{Err: released})
		}
	}()
	err = fn(l.Context())
	returned = true
	return err
}
