package keeper

import (
	"context"
	"sync"
	"time"
)

// maxBatch is how many holdings are extended in one round trip. It bounds how
// long one batch can occupy a server and what is at stake when it is lost.
const maxBatch = 100

// Config is what a Keeper needs to know of its store.
type Config struct {
	// Renew extends each of hs by its TTL and returns an error for each.
	Renew func(ctx context.Context, hs []*Holding) []error
	// Node names the server that a holding lives on: a batch has one.
	Node func(h *Holding) string
	// IsLost tells "not yours" from an error that may pass.
	IsLost func(err error) bool
	// Interruptible says that requests return at once when their context ends.
	Interruptible bool
}

// Keeper keeps holdings and bounds calls. It has no goroutine while nothing is
// due and no request is under way, but idle workers. All methods are safe for
// concurrent use.
type Keeper struct {
	cfg Config

	mu     sync.Mutex
	agenda agenda
	timer  *time.Timer
	armed  int64 // the instant for which timer is set, 0 if it is not
	active int   // requests, batches and tasks under way
	kept   int   // holdings
	closed bool
	shut   chan struct{} // closed with it
	quiet  chan struct{} // closed when active and kept are 0; nil if nobody waits
	undoer undoer

	workers struct {
		sync.Mutex
		idle    []*worker
		stopped bool // none is kept any more
		ended   bool // none is made any more
		running sync.WaitGroup
	}
}

// New returns a Keeper.
func New(cfg Config) *Keeper {
	k := &Keeper{cfg: cfg, shut: make(chan struct{})}
	k.undoer.k = k
	return k
}

// begin registers a request and its deadline, unless the Keeper is closed.
// While Close waits for what is under way, that may still make requests: it
// may have something to undo.
func (k *Keeper) begin(c *Call) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed && k.active == 0 {
		return false
	}
	k.active++
	c.event.at = int64(c.deadline.Sub(epoch))
	k.agenda.push(&c.event)
	k.arm()
	return true
}

// finish ends what begin began.
func (k *Keeper) finish(c *Call) {
	c.end(context.Canceled)
	k.mu.Lock()
	k.agenda.remove(&c.event)
	k.active--
	k.checkQuiet()
	k.mu.Unlock()
}

// Enter registers an operation that may make several requests: Close waits for
// it as a whole. It reports false after Close. Exit must follow.
func (k *Keeper) Enter() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed && k.active == 0 {
		return false
	}
	k.active++
	return true
}

// Exit ends what Enter began.
func (k *Keeper) Exit() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.active--
	k.checkQuiet()
}

// Go runs f on a goroutine that Close waits for. It reports false, and does
// not run f, after Close.
func (k *Keeper) Go(f func()) bool {
	if !k.Enter() {
		return false
	}
	go func() {
		defer k.Exit()
		f()
	}()
	return true
}

// arm sets the timer for the earliest event. k.mu is held.
func (k *Keeper) arm() {
	if len(k.agenda) == 0 {
		return // a timer that is set fires for nothing, once
	}
	at := k.agenda[0].at
	if k.armed != 0 && k.armed <= at {
		return
	}
	k.armed = at
	d := time.Duration(at) - time.Since(epoch)
	if k.timer == nil {
		k.timer = time.AfterFunc(d, k.tick)
	} else {
		k.timer.Reset(d)
	}
}

// tick does what is due.
func (k *Keeper) tick() {
	var ended []*Call
	var lost, due []*Holding
	k.mu.Lock()
	now := Now()
	k.armed = 0
	for len(k.agenda) > 0 && k.agenda[0].at <= now.mono {
		e := k.agenda[0]
		k.agenda.remove(e)
		if e.call != nil {
			ended = append(ended, e.call)
			continue
		}
		h := e.holding
		switch {
		case h.over(now):
			lost = append(lost, h)
		case h.renewAt <= now.mono && !h.busy && !k.closed:
			h.busy = true
			due = append(due, h)
			k.agenda.reset(e, h.endMono.Load())
		default:
			k.agenda.reset(e, h.next())
		}
	}
	for _, b := range k.batches(due) {
		k.active++
		go b.renew()
	}
	k.arm()
	k.mu.Unlock()

	for _, c := range ended {
		c.expire()
	}
	for _, h := range lost {
		h.lose(ErrWindow)
	}
}

// checkQuiet tells Close that nothing is under way. k.mu is held.
func (k *Keeper) checkQuiet() {
	if k.quiet != nil && k.active == 0 && k.kept == 0 {
		close(k.quiet)
		k.quiet = nil
	}
}

// await waits until nothing is kept and nothing under way, or ctx has ended,
// and closes the Keeper in the same instant.
func (k *Keeper) await(ctx context.Context) (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for err == nil && (k.active > 0 || k.kept > 0) {
		if k.quiet == nil {
			k.quiet = make(chan struct{})
		}
		quiet := k.quiet
		k.mu.Unlock()
		select {
		case <-quiet:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		k.mu.Lock()
	}
	if !k.closed {
		k.closed = true
		close(k.shut)
	}
	return err
}

// Close waits until every holding is dropped and every request has returned.
// When ctx ends first it waits no longer and returns ctx's error: it ends the
// holdings that are left with cause, and what is under way ends by itself.
// After Close nothing is renewed and no request is made, other than by what is
// still under way.
func (k *Keeper) Close(ctx context.Context, cause error) error {
	err := k.await(ctx)
	k.mu.Lock()
	var rest []*Holding
	for _, e := range k.agenda {
		if e.holding != nil {
			rest = append(rest, e.holding)
		}
	}
	if k.timer != nil && len(k.agenda) == 0 && k.timer.Stop() {
		k.armed = 0 // what is still under way may need it again
	}
	k.mu.Unlock()
	for _, h := range rest {
		h.lose(cause)
	}
	k.stopWorkers(err == nil)
	return err
}
