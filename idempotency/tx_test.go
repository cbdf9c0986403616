package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// errDown is what a database answers that does not.
var errDown = errors.New("the database is down")

// book is a store with transactions: what is completed in one is there once it
// commits, and until it has ended its key is locked.
type book struct {
	*memstore.Store

	mu       sync.Mutex
	open     map[idempotency.Digest]*page
	renewals int
	down     int // how many SettleTx fail
	settles  int
}

func newBook(t *testing.T) *book {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	return &book{Store: store, open: map[idempotency.Digest]*page{}}
}

// page is a transaction.
type page struct {
	idempotency.Tx
	book *book
	req  *idempotency.CompleteRequest
}

func (b *book) begin() *page { return &page{book: b} }

func (p *page) end(commit bool) error {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	if p.req == nil {
		return nil
	}
	delete(p.book.open, p.req.Key)
	req := p.req
	p.req = nil
	if !commit {
		return nil
	}
	_, err := p.book.Complete(context.Background(), *req)
	return err
}

func (b *book) CompleteTx(_ context.Context, tx idempotency.Tx, r idempotency.CompleteRequest) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := tx.(*page)
	info, err := b.Look(context.Background(), r.Key)
	if err == nil && info.State != idempotency.StateAbsent && info.Record.Nonce != r.Record.Nonce {
		err = lock.ErrTaken
	}
	if err != nil {
		return err
	}
	p.req = &r
	b.open[r.Key] = p
	return nil
}

func (b *book) SettleTx(ctx context.Context, r idempotency.ReleaseRequest) (idempotency.Record, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settles++
	if b.down > 0 {
		b.down--
		return idempotency.Record{}, false, errDown
	}
	if b.open[r.Key] != nil {
		return idempotency.Record{}, false, errors.New("not over")
	}
	info, err := b.Look(ctx, r.Key)
	if err != nil || info.State == idempotency.StateCompleted {
		return info.Record, info.Record.Nonce == r.Nonce, err
	}
	if err = b.Release(ctx, r); errors.Is(err, lock.ErrLost) {
		err = nil
	}
	return idempotency.Record{}, false, err
}

func (b *book) Begin(ctx context.Context, r idempotency.BeginRequest) (idempotency.Begun, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[r.Key] != nil {
		return idempotency.Begun{State: idempotency.StateHeld, Remaining: time.Second}, nil
	}
	return b.Store.Begin(ctx, r)
}

func (b *book) Renew(ctx context.Context, r idempotency.RenewRequest) error {
	b.mu.Lock()
	b.renewals++
	b.mu.Unlock()
	return b.Store.Renew(ctx, r)
}

func (b *book) RenewBatch(ctx context.Context, rs []idempotency.RenewRequest) []error {
	errs := make([]error, len(rs))
	for i := range rs {
		errs[i] = b.Renew(ctx, rs[i])
	}
	return errs
}

func (b *book) count() (renewals, settles int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.renewals, b.settles
}

// kinds keeps the kinds of events.
type kinds struct {
	mu   sync.Mutex
	seen []observe.Event
}

func (k *kinds) Observe(_ context.Context, e observe.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen = append(k.seen, e)
}

func (k *kinds) of(kind observe.Kind) (all []observe.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.seen {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

var _ idempotency.TxStore = (*book)(nil)

// From CompleteTx on the claim is not renewed, and its lease does not end the
// run: the transaction keeps others out.
func TestCompleteTxLeavesTheClaimAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		guard := newGuardOn(t, b, idempotency.Options{Lease: 10 * time.Second})
		other := newGuardOn(t, b, idempotency.Options{Lease: 10 * time.Second})
		require.True(t, guard.CanCompleteTx())
		got, err := idempotency.Do(t.Context(), guard, key, func(ctx context.Context) (int, error) {
			time.Sleep(time.Minute)
			tx := b.begin()
			require.NoError(t, idempotency.CompleteTx(ctx, tx, 7))
			before, _ := b.count()
			require.Positive(t, before)
			time.Sleep(time.Minute)
			after, _ := b.count()
			require.Equal(t, before, after)
			require.NoError(t, ctx.Err())
			_, err := idempotency.Do(t.Context(), other, key, func(context.Context) (int, error) { return 8, nil })
			require.ErrorIs(t, err, idempotency.ErrInProgress)
			_, err = idempotency.Do(ctx, guard, key, func(context.Context) (int, error) { return 8, nil })
			require.ErrorIs(t, err, idempotency.ErrReentrant, "the run would wait for itself")
			return 7, tx.end(true)
		})
		require.NoError(t, err)
		require.Equal(t, 7, got)
		again, err := idempotency.Do(t.Context(), other, key, func(context.Context) (int, error) { return 8, nil })
		require.NoError(t, err)
		require.Equal(t, 7, again)
	})
}

// The record decides, whatever the function returned and however it steered.
func TestCompleteTxRecordDecides(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		commit bool
		steer  func(*idempotency.Claim)
		err    error
		want   error // nil: executed
		state  idempotency.State
	}{
		"committed":                  {commit: true, state: idempotency.StateCompleted},
		"committed, failed":          {commit: true, err: boom, state: idempotency.StateCompleted},
		"committed, released":        {commit: true, steer: (*idempotency.Claim).Release, state: idempotency.StateCompleted},
		"committed, unknown":         {commit: true, err: idempotency.Unknown(boom), state: idempotency.StateCompleted},
		"not committed":              {want: idempotency.ErrNotCommitted, state: idempotency.StateFree},
		"not committed, failed":      {err: boom, want: boom, state: idempotency.StateFree},
		"not committed, final":       {err: idempotency.Final(boom), want: boom, state: idempotency.StateFree},
		"not committed, kept":        {steer: (*idempotency.Claim).Keep, want: idempotency.ErrNotCommitted, state: idempotency.StateFree},
		"not committed, unknown":     {err: idempotency.Unknown(boom), want: boom, state: idempotency.StateUnknown},
		"not committed, steered so":  {steer: (*idempotency.Claim).Unknown, want: idempotency.ErrNotCommitted, state: idempotency.StateUnknown},
		"not committed, come later":  {err: idempotency.RetryAfter(time.Hour, boom), want: boom, state: idempotency.StateFree},
		"not committed, as for good": {steer: func(c *idempotency.Claim) { c.Permanent(boom) }, want: idempotency.ErrNotCommitted, state: idempotency.StateFree},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, events := newBook(t), &kinds{}
				guard := newGuardOn(t, b, idempotency.Options{Observer: events})
				v, out, err := idempotency.DoAs(t.Context(), guard, key, idempotency.RunOptions{}, idempotency.JSON[string](),
					func(ctx context.Context) (string, error) {
						claim, _ := idempotency.ClaimFrom(ctx)
						tx := b.begin()
						require.NoError(t, idempotency.CompleteTx(ctx, tx, "recorded"))
						require.NoError(t, tx.end(c.commit))
						if c.steer != nil {
							c.steer(claim)
						}
						if c.err != nil {
							return "", c.err
						}
						return "recorded", nil
					})
				require.Equal(t, idempotency.Executed, out.Status)
				require.Equal(t, c.commit, out.Recorded)
				if c.want != nil {
					require.ErrorIs(t, err, c.want)
					require.Empty(t, events.of(observe.Executed))
					require.Len(t, append(events.of(observe.RunFailed), events.of(observe.RunUnknown)...), 1)
				} else {
					require.NoError(t, err)
					require.Equal(t, "recorded", v)
					require.NotZero(t, out.CompletedAt)
					require.Len(t, events.of(observe.Executed), 1)
				}
				operator, err := guard.Operator()
				require.NoError(t, err)
				d, err := key.Digest()
				require.NoError(t, err)
				info, err := operator.Look(t.Context(), d)
				require.NoError(t, err)
				require.Equal(t, c.state, info.State)
				if _, ok := idempotency.RetryDelay(c.err); ok {
					require.Greater(t, info.NotBefore, time.Minute)
				}
			})
		})
	}
}

// While the record cannot be read the first caller gets what its function said,
// the key is kept, and the guard goes on asking.
func TestCompleteTxUnreadable(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t)
			guard := newGuardOn(t, b, idempotency.Options{Lease: time.Hour})
			b.down = 5
			out, err := guard.Run(t.Context(), key, idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
				claim, _ := idempotency.ClaimFrom(ctx)
				tx := b.begin()
				require.NoError(t, claim.CompleteTx(ctx, tx, idempotency.Result{Codec: "x", Data: []byte("y")}))
				return idempotency.Result{}, tx.end(commit)
			})
			require.NoError(t, err, "not known to be one")
			require.Equal(t, idempotency.Executed, out.Status)
			require.False(t, out.Recorded)
			ran := false
			out, err = guard.Run(t.Context(), key, idempotency.RunOptions{Wait: time.Hour}, func(context.Context) (idempotency.Result, error) {
				ran = true
				return idempotency.Result{}, nil
			})
			require.NoError(t, err)
			require.Equal(t, !commit, ran)
			if commit {
				require.Equal(t, "y", string(out.Result.Data))
			}
			if !commit {
				_, settles := b.count()
				require.Equal(t, 6, settles)
			}
		})
	}
}

// A guard that is closed waits until it knows.
func TestCompleteTxCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		guard := newGuardOn(t, b, idempotency.Options{})
		tx := b.begin()
		_, err := guard.Run(t.Context(), key, idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
			claim, _ := idempotency.ClaimFrom(ctx)
			return idempotency.Result{}, claim.CompleteTx(ctx, tx, idempotency.Result{})
		})
		require.NoError(t, err)
		closed := make(chan error, 1)
		go func() { closed <- guard.Close(t.Context()) }()
		time.Sleep(time.Minute)
		require.Empty(t, closed)
		require.NoError(t, tx.end(true))
		require.NoError(t, <-closed)
	})
}

func TestCompleteTxRefused(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, idempotency.Options{})
	require.False(t, guard.CanCompleteTx())
	_, err := idempotency.Do(t.Context(), guard, key, func(ctx context.Context) (int, error) {
		return 0, idempotency.CompleteTx(ctx, (*sql.Tx)(nil), 1)
	})
	require.ErrorIs(t, err, idempotency.ErrInvalid, "a store without transactions")

	b := newBook(t)
	guard = newGuardOn(t, b, idempotency.Options{})
	require.ErrorIs(t, idempotency.CompleteTx(t.Context(), b.begin(), 1), idempotency.ErrInvalid, "outside of a run")
	_, err = idempotency.Do(t.Context(), guard, key, func(ctx context.Context) (int, error) {
		return 0, idempotency.CompleteTx(ctx, b.begin(), make(chan int))
	})
	require.ErrorIs(t, err, idempotency.ErrInvalid, "a value that JSON cannot hold")

	var kept *idempotency.Claim
	_, err = guard.Run(t.Context(), key, idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
		kept, _ = idempotency.ClaimFrom(ctx)
		return idempotency.Result{}, errDown
	})
	require.ErrorIs(t, err, errDown)
	require.ErrorIs(t, kept.CompleteTx(t.Context(), b.begin(), idempotency.Result{}), idempotency.ErrFinished)
}

// A result that is too large is recorded as one that is not retained: the effect
// must not depend on it.
func TestCompleteTxOversized(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	guard := newGuardOn(t, b, idempotency.Options{MaxResult: 10})
	run := func() (string, error) {
		return idempotency.Do(t.Context(), guard, key, func(ctx context.Context) (string, error) {
			tx := b.begin()
			require.NoError(t, idempotency.CompleteTx(ctx, tx, "longer than ten bytes"))
			return "longer than ten bytes", tx.end(true)
		})
	}
	got, err := run()
	require.NoError(t, err)
	require.Equal(t, "longer than ten bytes", got)
	_, err = run()
	require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
}
