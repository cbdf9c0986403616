package locktest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/locktest"
	"github.com/semel-go/semel/lock/memlock"
)

// A backend with the three methods alone: the Locker polls, extends one by one,
// and runs each request where it can leave it behind.
func TestConformanceOfABareBackend(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Harness{
		New: func(t *testing.T) locktest.Store {
			m, err := memlock.New(memlock.Options{})
			require.NoError(t, err)
			return locktest.Store{Backend: struct{ lock.Backend }{m}}
		},
		Isolate:  synctest.Test,
		Features: locktest.Features{Fencing: true},
	})
}

// A backend that counts in seconds, as some stores do.
func TestConformanceOfACoarseBackend(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Harness{
		New: func(t *testing.T) locktest.Store {
			m, err := memlock.New(memlock.Options{})
			require.NoError(t, err)
			return locktest.Store{Backend: &coarse{m}}
		},
		Isolate: synctest.Test,
		Features: locktest.Features{
			Fencing: true, Waiting: true, Inspect: true, Raise: true,
			MinTTL: coarseMinTTL, Granularity: time.Second,
		},
	})
}

const coarseMinTTL = 2 * time.Second

// parts are what coarse has of a memlock.Backend: no batches.
type parts interface {
	lock.Backend
	lock.Waiter
	lock.Inspector
	lock.Raiser
}

type coarse struct{ parts }

// ttl rounds d up to whole seconds.
func ttl(d time.Duration) (time.Duration, error) {
	if d < coarseMinTTL || d > lock.MaxTTL {
		return 0, fmt.Errorf("coarse: TTL is %v: %w", d, lock.ErrInvalid)
	}
	return min((d + time.Second - 1).Truncate(time.Second), lock.MaxTTL), nil
}

func (c *coarse) Acquire(ctx context.Context, req lock.Request) (g lock.Grant, err error) {
	if req.TTL, err = ttl(req.TTL); err != nil {
		return lock.Grant{}, err
	}
	return c.parts.Acquire(ctx, req)
}

func (c *coarse) Extend(ctx context.Context, req lock.Request) (g lock.Grant, err error) {
	if req.TTL, err = ttl(req.TTL); err != nil {
		return lock.Grant{}, err
	}
	return c.parts.Extend(ctx, req)
}

func (c *coarse) Release(ctx context.Context, req lock.ReleaseRequest) (err error) {
	if req.TTL, err = ttl(req.TTL); err != nil {
		return err
	}
	if req.Keep > 0 {
		req.Keep = (req.Keep + time.Second - 1).Truncate(time.Second)
	}
	return c.parts.Release(ctx, req)
}
