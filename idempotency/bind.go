package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-go/semel/internal/keeper"
)

// CanBind reports whether the store is a [Binder], so that Bind works.
func (g *Guard) CanBind() bool {
	_, ok := g.core.store.(Binder)
	return ok
}

// Bind holds id to value for ttl: if nothing is bound to id, value is;
// otherwise it reports whether value is what is bound. It is one round trip.
// ttl is from MinLease to MaxRetention.
//
// Errors: [ErrUnavailable] if the store did not answer; value may then be bound
// or not. [ErrInvalid], also if the store cannot bind. [ErrClosed].
func (g *Guard) Bind(ctx context.Context, id Key, value Fingerprint, ttl time.Duration) (same bool, err error) {
	binder, ok := g.core.store.(Binder)
	d, err := id.Digest()
	switch {
	case g.bad != nil:
		return false, g.bad
	case !ok:
		return false, fmt.Errorf("%w: the store cannot bind", ErrInvalid)
	case err != nil:
		return false, err
	case ttl < MinLease || ttl > MaxRetention:
		return false, fmt.Errorf("%w: ttl is %v, must be from %v to %v", ErrInvalid, ttl, MinLease, MaxRetention)
	case ctx.Err() != nil:
		return false, fmt.Errorf("idempotency: bind: nothing was sent: %w", ctx.Err())
	case g.core.closed.Load():
		return false, ErrClosed
	}
	b := &binding{binder: binder, id: d, value: Digest(value), ttl: ttl}
	if err := answer(ctx, g.core, "bind", g.full.Timeout, b, &b.Call, &b.err); err != nil {
		return false, err
	}
	return b.same, nil
}

// binding is one request to bind.
type binding struct {
	keeper.Call
	binder    Binder
	id, value Digest
	ttl       time.Duration
	same      bool
	err       error
}

// Run asks the store; keeper.Op.
func (b *binding) Run(ctx context.Context) {
	b.same, b.err = b.binder.Bind(ctx, b.id, b.value, b.ttl)
}

// Late has nothing to do: a binding is not undone.
func (b *binding) Late() {}
