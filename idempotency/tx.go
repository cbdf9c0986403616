package idempotency

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/observe"
)

// What completing in a transaction reports. Match them with [errors.Is]: they
// arrive wrapped.
var (
	// ErrSerialization: the transaction collided with another, as databases
	// tell by 40001, 40P01 or 1213. Roll it back and run it again. It is never
	// told as contention for the key.
	ErrSerialization = errors.New("idempotency: the transaction collided with another: roll it back and run it again")
	// ErrNotCommitted: the run reported success, and the transaction in which
	// it had recorded its outcome did not commit. Nothing has happened, and the
	// key is free.
	ErrNotCommitted = errors.New("idempotency: the run succeeded, but its transaction was not committed")
)

// Tx is what a store needs of a transaction. A *sql.Tx is one, and so is a
// *sql.Conn on which one was begun. A *sql.DB is none.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// TxStore is implemented by stores that can record an outcome inside a
// transaction of the caller's, so that effect and record commit together.
type TxStore interface {
	// CompleteTx is Complete inside tx: it puts r.Record in the place of the
	// claim of r.Record.Nonce once tx commits, and until tx has ended nobody
	// else can claim, renew, release or sweep the key, however long that takes.
	// A claim whose lease is over and that nobody has taken over is still the
	// nonce's; for one that is gone nothing is stored.
	//
	// Errors: those of Complete, and [ErrSerialization].
	CompleteTx(ctx context.Context, tx Tx, r CompleteRequest) error

	// SettleTx finds out how the claim of r.Nonce has ended, after a
	// CompleteTx of which it is not known whether its transaction committed. If
	// the key is completed by r.Nonce it returns that record, and done. If it
	// is still claimed by r.Nonce, whatever became of the lease, it is released
	// as r says, and if it is anything else it is left alone: then the
	// transaction did not commit and never will, and done is false.
	//
	// While the transaction is not over, which may be long after its
	// connection was lost, the answer is an error, and nothing is changed.
	SettleTx(ctx context.Context, r ReleaseRequest) (rec Record, done bool, err error)
}

// CanCompleteTx reports whether the store is a [TxStore], so that
// [Claim.CompleteTx] works.
func (g *Guard) CanCompleteTx() bool {
	_, ok := g.core.store.(TxStore)
	return ok
}

// CompleteTx records value as the outcome of the run that ctx comes from, inside
// tx: see [Claim.CompleteTx]. The value is kept as JSON, as by [Do].
//
// Errors: those of Claim.CompleteTx, and [ErrInvalid] also if ctx comes from no
// run, or value cannot be kept as JSON.
func CompleteTx[T any](ctx context.Context, tx Tx, value T) error {
	return CompleteTxAs(ctx, tx, JSON[T](), value)
}

// CompleteTxAs is CompleteTx with a codec: the one that was given to [DoAs].
func CompleteTxAs[T any](ctx context.Context, tx Tx, codec Codec[T], value T) error {
	c, ok := ClaimFrom(ctx)
	if !ok {
		return fmt.Errorf("%w: complete in a transaction: the context comes from no run with a claim", ErrInvalid)
	}
	if err := checkCodec(&c.core.checks, codec); err != nil {
		return err
	}
	res, err := encodeResult(codec, value)
	if err != nil {
		return fmt.Errorf("%w: complete in a transaction: %w", ErrInvalid, err)
	}
	return c.CompleteTx(ctx, tx, res)
}

// CompleteTx records res as the run's outcome inside tx, a transaction on the
// store's own database: the effects in tx and the record commit together, or
// neither is there. Let it be the last thing in tx but the commit, or, at an
// isolation level above READ COMMITTED, the first.
//
// From the call on the claim is no longer renewed, and its lease no longer ends
// the run's context: the record's row is locked until tx has ended, which keeps
// others out for as long as that takes. The guard never completes the run by
// itself any more. When the function has returned, which must be after tx has
// ended, it asks the store what became of tx, and that alone decides:
//
//   - committed: the run is [Executed], and its error is nil, whatever the
//     function returned. So a commit whose answer was lost is told as it is.
//   - not committed: the key is released, as the function's error says; if the
//     function reported success, the run's error is [ErrNotCommitted].
//   - not to be known yet: the run's error is the function's, Outcome.Recorded is
//     false, and the guard goes on asking in the background. The key stays
//     claimed meanwhile, for its lease at least, and for as long as the
//     transaction is not over.
//
// It may be called again, in another transaction, after tx was rolled back.
//
// Errors: [ErrSerialization]; [ErrLost] if the claim is gone, and another run has
// the key, or may have had it; [ErrInvalid] if the store is no [TxStore] or tx no
// transaction; [ErrFinished] if the run has returned. After any of them tx must
// be rolled back.
func (c *Claim) CompleteTx(ctx context.Context, tx Tx, res Result) error {
	store, ok := c.core.store.(TxStore)
	if !ok {
		return fmt.Errorf("%w: complete in a transaction: the store cannot", ErrInvalid)
	}
	c.mu.Lock()
	over := c.over
	c.inTx = c.inTx || !over
	c.mu.Unlock()
	if over {
		return fmt.Errorf("idempotency: complete in a transaction: %w", ErrFinished)
	}
	c.hold.Drop()
	req, _ := c.record(c.fit(res), time.Now().Truncate(time.Millisecond))
	if err := store.CompleteTx(ctx, tx, req); err != nil {
		return fmt.Errorf("idempotency: complete in a transaction: %w", err)
	}
	return nil
}

// finishedInTx ends the time in which CompleteTx may be called, and reports
// whether it was.
func (c *Claim) finishedInTx() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.inTx
}

// runsInTx reports whether CompleteTx was called and the run has not returned.
func (c *Claim) runsInTx() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inTx && !c.over
}

// settlement finds out how a run has ended that went through CompleteTx.
type settlement struct {
	claim *Claim
	req   ReleaseRequest
	err   error // the function's
	sent  *settling
}

// settling is one request of a settlement.
type settling struct {
	keeper.Call
	store TxStore
	req   ReleaseRequest
	gen   generation
	rec   Record
	done  bool
	err   error
}

// Run asks the store; keeper.Op.
func (x *settling) Run(ctx context.Context) { x.rec, x.done, x.err = x.store.SettleTx(ctx, x.req) }

// Late has nothing to do: the request is made again until it is answered.
func (x *settling) Late() {}

// settleTx ends the claim of a run that went through CompleteTx, by what the
// store says. It returns the run's outcome and error.
func (c *Claim) settleTx(out Outcome, err error) (Outcome, error) {
	c.settle()
	x := &settlement{claim: c, err: err, req: ReleaseRequest{Key: c.digest, Nonce: c.nonce, TTL: c.o.StubFor}}
	end, _ := c.Steered()
	switch after, ok := RetryDelay(err); {
	case end == EndUnknown, end == EndByReturn && IsUnknown(err):
		// Of what is outside of the transaction.
		x.req.Unknown = c.o.UnknownFor
	case ok && after > 0:
		x.req.NotBefore = min(after, MaxRetention)
	}
	if !c.insist(c.o.CompleteFor, x) {
		return out, err
	}
	if !x.sent.done {
		if err == nil {
			err = ErrNotCommitted
		}
		return out, err
	}
	rec := x.sent.rec
	out.Recorded, out.CompletedAt = true, rec.CompletedAt
	if err == nil || err == errNotReturned {
		return out, err
	}
	// The function failed after its commit, or does not know that this
	// succeeded.
	out.Result, err = c.seal.open(c.digest, rec)
	if err == nil && out.Result.Kind == KindError {
		err = &FinalError{Err: errors.New(string(out.Result.Data))}
	}
	return out, err
}

// try asks once; insistent.
func (x *settlement) try() error {
	c := x.claim
	next := &settling{store: c.core.store.(TxStore), req: x.req}
	next.Bound = x.sent != nil || c.parent.Done() != nil
	next.gen = c.core.cache.generation(c.digest)
	x.sent = next
	return answer(context.WithoutCancel(c.parent), c.core, "settle", c.o.Timeout, next, &next.Call, &next.err)
}

// done tells those who wait for the outcome; insistent.
func (x *settlement) done(err error) {
	c := x.claim
	switch {
	case err != nil: // given up: the lease has ended it, or its transaction will
		c.core.lines.Nudge(string(c.digest[:]))
	case x.sent.done:
		rec := x.sent.rec
		if res, err := c.seal.open(c.digest, rec); err == nil {
			c.core.cache.put(c.digest, x.sent.gen, entry{record: rec, result: res}, c.o.Retention)
		}
		if c.core.waited(c.digest) {
			c.core.lines.GiveAll(string(c.digest[:]), &Begun{State: StateCompleted, Record: rec, Remaining: c.o.Retention})
		}
		c.tell(observe.Executed, nil)
	default:
		c.core.lines.Nudge(string(c.digest[:]))
		kind, err := observe.RunFailed, x.err
		if err == nil {
			err = ErrNotCommitted
		}
		if x.req.Unknown > 0 {
			kind = observe.RunUnknown
		}
		c.tell(kind, err)
	}
}
