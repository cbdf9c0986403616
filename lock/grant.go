package lock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/internal/line"
	"github.com/semel-go/semel/observe"
)

// cohort is how many fences a grant reserves for hand-overs inside the
// process, and cohortTime how long they may go on without a look at whether
// another process waits.
const (
	cohort     = 64
	cohortTime = 50 * time.Millisecond
	// yieldTime is about how long a process that gave its key back for another's
	// sake leaves it alone. The other first has to hear of it and to ask, which
	// takes a round trip of its own: without this, the nearer one would always be
	// there first.
	yieldTime = 20 * time.Millisecond
)

// grant is what the store gave: the ownership of a key by a nonce, with a
// block of fences. The leases of a grant follow one another in turns; only the
// current one may act. The fields below the first group are guarded by the
// lock of the key's shard.
type grant struct {
	keeper.Holding
	core    *core
	key     string
	nonce   string
	minHold time.Duration
	// failing is set while the last renewal failed.
	failing atomic.Bool

	lease *Lease // of the current turn
	fence uint64 // of the current turn: the last that was given out
	spare uint64 // how many fences above it are reserved
	// asked is when the request that the store last answered was first sent.
	asked keeper.Instant
	// sent says that a release of the nonce was sent: there are no more turns.
	sent bool
	// rivals says that a caller of another process waits for the key.
	rivals bool
}

// turn returns the lease whose turn it is.
func (g *grant) turn() *Lease {
	s := g.core.lines.Shard(g.key)
	s.Lock()
	defer s.Unlock()
	return g.lease
}

// Lost ends the current lease; keeper.Owner.
func (g *grant) Lost(reason error) {
	l, cause := g.turn(), lossCause(reason)
	if l.end(cause) {
		tell(l.parent, l.o.Observer, observe.Event{
			Kind: observe.Lost, Key: g.key, Fence: l.fence, Held: l.acquired.Elapsed(), Err: cause,
		})
	}
	g.core.lines.Vacate(g.key, g)
}

// Renewed tells the observer; keeper.Owner.
func (g *grant) Renewed() {
	g.failing.Store(false)
	tell(context.Background(), g.turn().o.Observer, observe.Event{Kind: observe.Renewed, Key: g.key})
}

// RenewFailed tells the observer; keeper.Owner.
func (g *grant) RenewFailed(err error) {
	g.failing.Store(true)
	tell(context.Background(), g.turn().o.Observer, observe.Event{Kind: observe.RenewFailed, Key: g.key, Err: err})
}

// handOver gives the turn after l to the next caller of this process, if there
// is one that may have it. It reports false if the key must be released to the
// store.
//
// What would make it unsafe or unfair ends it: a window half over, a renewal
// that failed, a caller that wants a longer TTL, a waiter of another process.
func (c *core) handOver(ctx context.Context, bound bool, l *Lease, now keeper.Instant) bool {
	g := l.grant
	s := c.lines.Shard(g.key)
	for range 2 {
		s.Lock()
		heir := c.heir(s, g)
		if heir == nil {
			s.Unlock()
			return false
		}
		if g.spare > 0 && now.Sub(g.asked) < cohortTime && g.Remaining(now) >= g.TTL/2 {
			g.fence++
			g.spare--
			g.lease = &Lease{
				grant: g, o: heir.o, fence: g.fence, acquired: now, parent: heir.ctx, tied: heir.terms.tied,
			}
			s.Find(g.key).Give(&heir.Waiter, g.lease)
			s.Unlock()
			return true
		}
		s.Unlock()
		if !c.reserve(ctx, bound, l) {
			return false
		}
		now = keeper.Now()
	}
	return false
}

// heir returns who may have g's next turn, or nil. The shard is locked.
func (c *core) heir(s *line.Shard, g *grant) *acquisition {
	ln := s.Find(g.key)
	if ln == nil || ln.Holder != g || g.sent || g.minHold > 0 || g.failing.Load() {
		return nil
	}
	w := ln.Heir()
	if w == nil {
		return nil
	}
	a := w.Of.(*acquisition)
	if a.terms.alone || a.o.TTL > g.TTL || a.o.Margin > g.Margin || a.o.NoRenew != g.Manual || a.o.MinHold > 0 {
		return nil
	}
	return a
}

// reserve extends l's grant by one request that also reserves fences for more
// turns. It reports false if another process waits, or in any doubt.
func (c *core) reserve(ctx context.Context, bound bool, l *Lease) bool {
	g := l.grant
	if !g.TryBegin() {
		return false // a renewal is under way: its outcome is not known
	}
	x := &extension{lease: l, req: Request{Key: g.key, Nonce: g.nonce, TTL: g.TTL, Block: cohort}}
	x.Bound = bound
	err := x.send(ctx)
	s := c.lines.Shard(g.key)
	s.Lock()
	defer s.Unlock()
	g.rivals = err == nil && x.answer.Waiters
	if err != nil || g.rivals || x.answer.Block == 0 {
		return false
	}
	if x.answer.Fence <= g.fence {
		return false // never give a fence out twice, whatever the store says
	}
	// The next turn's fence is fence+1.
	g.fence, g.spare, g.asked = x.answer.Fence-1, x.answer.Block, x.start
	return true
}
