package keeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// ErrWindow is the reason given to [Owner.Lost] when the trust window closed.
var ErrWindow = errors.New("trust window closed")

// Owner is told what becomes of its holding. The methods are called without
// any lock held and may be called from any goroutine.
type Owner interface {
	// Lost is called at most once, when the holding can no longer be trusted.
	// It is not called after Drop returned true.
	Lost(reason error)
	// Renewed is called after each successful renewal.
	Renewed()
	// RenewFailed is called after each renewal that failed but is tried again.
	RenewFailed(err error)
}

// Holding is one grant that is kept. Embed it in what holds it.
type Holding struct {
	// Owner is told what becomes of it.
	Owner Owner
	// TTL is what each renewal asks for.
	TTL time.Duration
	// Margin is how much shorter than the TTL the window is.
	Margin time.Duration
	// Manual turns renewal off.
	Manual bool

	k      *Keeper
	state  atomic.Int32
	reason error // why it was lost; written before the state says so
	// The end of the window, on both clocks. Written under k.mu; a reader that
	// meets a write halfway sees the earlier end on one of them, which errs on
	// the safe side.
	endBoot, endMono atomic.Int64

	// Under k.mu.
	event   event
	renewAt int64
	busy    bool          // an extension is under way
	freed   chan struct{} // closed when it no longer is; nil if nobody waits
	fails   int           // renewals that failed since the last that did not
}

// The states of a Holding. It leaves open once.
const (
	unheld int32 = iota
	open
	dropped
	lost
)

// Hold begins to keep h, which was granted by a request first sent at start
// and answered by now. It reports false if the window is closed already or the
// Keeper is.
func (k *Keeper) Hold(h *Holding, start, now Instant) bool {
	h.k = k
	h.event.holding = h
	end := start.add(h.TTL - h.Margin)
	h.endBoot.Store(end.boot)
	h.endMono.Store(end.mono)
	if h.over(now) {
		h.state.Store(lost)
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		h.state.Store(lost)
		return false
	}
	h.state.Store(open)
	h.plan()
	k.kept++
	h.event.at = h.next()
	k.agenda.push(&h.event)
	k.arm()
	return true
}

// Valid reports whether the holding can be trusted now. It does no I/O. A
// holding whose window has closed is lost by the time it returns false.
func (h *Holding) Valid() bool { return h.ValidAt(Now()) }

// Kept reports whether h is kept: neither dropped nor known to be lost.
func (h *Holding) Kept() bool { return h.state.Load() == open }

// ValidAt is Valid for a caller that has just read the clock.
func (h *Holding) ValidAt(now Instant) bool {
	if h.state.Load() != open {
		return false
	}
	if h.over(now) {
		h.lose(ErrWindow)
		return false
	}
	return true
}

// Remaining returns how long the holding can still be trusted if it is not
// renewed, 0 if it cannot be.
func (h *Holding) Remaining(now Instant) time.Duration {
	if h.state.Load() != open {
		return 0
	}
	left := min(h.endBoot.Load()-now.boot, h.endMono.Load()-now.mono)
	return time.Duration(max(left, 0))
}

// Failing reports whether the last renewal failed.
func (h *Holding) Failing() bool {
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	return h.fails > 0
}

// Drop ends the keeping. It reports whether the holding was still kept: if
// not, it was lost or dropped before. No renewal begins after it.
func (h *Holding) Drop() bool { return h.leave(dropped, nil) }

// Begin waits for the right to extend h: the extensions of one holding are
// made one at a time. It must be followed by End.
func (h *Holding) Begin(ctx context.Context) error {
	for {
		h.k.mu.Lock()
		if !h.busy {
			h.busy = true
			h.k.mu.Unlock()
			return nil
		}
		if h.freed == nil {
			h.freed = make(chan struct{})
		}
		freed := h.freed
		h.k.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TryBegin is Begin without waiting. It reports whether the right was got.
func (h *Holding) TryBegin() bool {
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	if h.busy {
		return false
	}
	h.busy = true
	return true
}

// Yield gives the right to extend back unused.
func (h *Holding) Yield() {
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	h.yield()
}

// yield gives the right to extend back and plans the next step. k.mu is held.
func (h *Holding) yield() {
	h.busy = false
	if h.freed != nil {
		close(h.freed)
		h.freed = nil
	}
	if h.state.Load() == open {
		h.k.agenda.reset(&h.event, h.next())
		h.k.arm()
	}
}

// End tells the result of an extension by ttl that was first sent at start.
func (h *Holding) End(start Instant, ttl time.Duration, err error) {
	h.Apply(start, ttl, err)
	h.Yield()
}

// Apply draws the consequence of an answer to an extension, however late the
// answer comes: what the store granted it granted from start on.
func (h *Holding) Apply(start Instant, ttl time.Duration, err error) {
	if err != nil && h.k.cfg.IsLost(err) {
		h.lose(err)
		return
	}
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	if h.state.Load() != open {
		return
	}
	if err == nil {
		h.fails = 0
		margin := h.Margin
		if ttl > h.TTL { // drift grows with the time that is trusted
			margin = time.Duration(float64(margin) * float64(ttl) / float64(h.TTL))
		}
		if end := start.add(ttl - margin); end.mono > h.endMono.Load() {
			h.endBoot.Store(end.boot)
			h.endMono.Store(end.mono)
		}
		h.plan()
	} else {
		h.fails++
		h.renewAt = Now().mono + int64(h.backoff())
	}
	h.k.agenda.reset(&h.event, h.next())
	h.k.arm()
}

// plan sets the time of the next renewal: a third of the TTL after the window
// began, a little earlier at random so that processes do not beat in step, on
// a grid so that those of one process go together. k.mu is held.
func (h *Holding) plan() {
	if h.Manual {
		h.renewAt = never
		return
	}
	third := int64(h.TTL / 3)
	at := h.endMono.Load() - int64(h.TTL-h.Margin) + third - rand.Int64N(third/8+1)
	grid := int64(h.TTL / 64)
	h.renewAt = at - at%grid
}

// never is later than any event.
const never = int64(1<<63 - 1)

// backoff is the pause before a failed renewal is tried again: short enough
// for several tries within the window.
func (h *Holding) backoff() time.Duration {
	base := h.TTL / 48 << min(h.fails-1, 2)
	return base/2 + rand.N(base)
}

// next returns when h is due: for renewal or for its window's end. While an
// extension is under way, and after Close, only the end is. k.mu is held.
func (h *Holding) next() int64 {
	if h.busy || h.k.closed {
		return h.endMono.Load()
	}
	return min(h.renewAt, h.endMono.Load())
}

// over reports whether the window has closed on either clock.
func (h *Holding) over(now Instant) bool {
	return now.mono >= h.endMono.Load() || now.boot >= h.endBoot.Load()
}

// lose ends the keeping and tells the owner, once.
func (h *Holding) lose(reason error) {
	if h.leave(lost, reason) {
		h.Owner.Lost(reason)
	}
}

// lostFor returns why h was lost, nil if it was not.
func (h *Holding) lostFor() error {
	if h.state.Load() != lost {
		return nil
	}
	return h.reason
}

func (h *Holding) leave(state int32, reason error) bool {
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	if h.state.Load() != open {
		return false
	}
	h.reason = reason // before the state that lets others read it
	h.state.Store(state)
	h.k.agenda.remove(&h.event)
	h.k.kept--
	h.k.checkQuiet()
	return true
}
