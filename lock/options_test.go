package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

func TestNewRefusesBadOptions(t *testing.T) {
	t.Parallel()
	backend, err := memlock.New(memlock.Options{})
	require.NoError(t, err)
	for field, o := range map[string]lock.Options{
		"TTL":      {TTL: time.Microsecond},
		"TTL is -": {TTL: -time.Second},
		"TTL is 2": {TTL: lock.MaxTTL + 1},
		"Margin":   {TTL: time.Second, Margin: time.Second},
		"Wait":     {Wait: -2},
		"Timeout":  {Timeout: -1},
		"MinHold":  {MinHold: -2},
	} {
		_, err := lock.New(backend, o)
		require.ErrorIs(t, err, lock.ErrInvalid)
		require.ErrorContains(t, err, "Options."+field)
	}
	_, err = lock.New(nil, lock.Options{})
	require.ErrorIs(t, err, lock.ErrInvalid)
}

func TestBadCallsSendNothing(t *testing.T) {
	t.Parallel()
	f := newFault(t)
	locker := newLockerOn(t, f, lock.Options{})
	_, err := locker.Acquire(t.Context(), "")
	require.ErrorIs(t, err, lock.ErrInvalid)
	_, err = locker.With(lock.Options{TTL: time.Second, Margin: 2 * time.Second}).Acquire(t.Context(), "k")
	require.ErrorIs(t, err, lock.ErrInvalid)
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = locker.Acquire(dead, "k")
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, lock.ErrNotAcquired)
	require.Zero(t, f.count("acquire"))

	lease, err := locker.Acquire(t.Context(), "k")
	require.NoError(t, err)
	for _, ttl := range []time.Duration{0, -1, time.Microsecond, lock.MaxTTL + 1} {
		require.ErrorIs(t, lease.Extend(t.Context(), ttl), lock.ErrInvalid)
	}
	require.Zero(t, f.count("extend"))
	require.NoError(t, lease.Release(dead), "a dead context does not keep the key")
	require.Equal(t, 1, f.count("release"))
}
