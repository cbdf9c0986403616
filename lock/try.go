package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/internal/line"
	"github.com/semel-go/semel/observe"
)

// ask sends one request to the store.
func (a *acquisition) ask() (*Lease, error) {
	x := a.spare
	if a.spare = nil; x == nil {
		x = &ask{}
	}
	timeout := a.o.Timeout
	if !a.terms.once {
		timeout = min(timeout, max(a.Left(), timeout/10))
	}
	err := x.send(a, a.block(), timeout)
	a.trouble, a.doubt = nil, nil
	if err == nil {
		lease, ok := x.hold(a)
		if !ok {
			err = unavailable("acquire", errLate)
		} else if ctxErr := a.ctx.Err(); ctxErr != nil { // won too late
			if x.grant.Drop() {
				x.undo()
			}
			return nil, fmt.Errorf("lock: acquire: given back: %w", ctxErr)
		} else {
			a.core.lines.Install(&a.Waiter, &x.grant)
			if !x.grant.Kept() { // lost before it stood in the line: its end passed unseen
				a.core.lines.Vacate(a.key, &x.grant)
			}
			return lease, nil
		}
	}
	var held *HeldError
	if errors.As(err, &held) {
		a.held, a.unclear, a.heldTo = held, 0, time.Now().Add(held.Remaining)
		if !a.told && !a.terms.once {
			a.told = true
			tell(a.ctx, a.o.Observer, observe.Event{Kind: observe.Contended, Key: a.key, Ahead: a.ahead})
		}
		return nil, err
	}
	a.trouble = err
	a.unclear++
	a.resume = time.Now().Add(line.Retry(a.unclear))
	if !x.undone.Load() {
		a.doubt = x
	}
	return nil, err
}

// block returns how many fences to reserve: more than one if there are callers
// behind, to whom the key can then be handed over.
func (a *acquisition) block() uint64 {
	if !a.terms.alone && a.o.MinHold == 0 && a.Behind() > 0 {
		return cohort
	}
	return 1
}

// pause returns how long to wait for news before asking again.
func (a *acquisition) pause() time.Duration {
	if a.trouble != nil {
		return time.Until(a.resume)
	}
	a.tries++
	return a.Pause(a.tries, a.held.Remaining)
}
