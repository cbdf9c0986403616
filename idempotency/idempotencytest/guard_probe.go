package idempotencytest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/observe"
)

// guardLaws are the laws about a Guard on the store.
func guardLaws() []law {
	var all []law
	for _, some := range [][]law{
		guardRunLaws(), guardReplayLaws(), guardRefusalLaws(), guardEndingLaws(), guardWaitLaws(), guardLeaseLaws(),
		guardBeginLaws(), guardCompleteLaws(), guardReleaseLaws(), guardPanicLaws(), guardRestLaws(),
	} {
		all = append(all, some...)
	}
	return all
}

// guardLease is the lease of claims that a law sees renewed or lost.
const guardLease = 2 * time.Second

// errRun is the error of a run that fails.
var errRun = errors.New("the run failed")

// guard returns a Guard on the store itself, as another process would have.
func (p *probe) guard(o idempotency.Options) *idempotency.Guard {
	p.Helper()
	return p.guardOn(p.store, o)
}

// guardOn returns a Guard on s that is closed at the end of the law. Its
// defaults let nothing but what the law is about end anything: the lease is
// long, and a request may take its time.
func (p *probe) guardOn(s idempotency.Store, o idempotency.Options) *idempotency.Guard {
	p.Helper()
	if o.Lease == 0 {
		o.Lease = long
	}
	if o.Timeout == 0 {
		o.Timeout = min(5*time.Second, o.Lease)
	}
	g, err := idempotency.New(s, o)
	p.must(err, "idempotency.New")
	p.Cleanup(func() {
		if f, ok := s.(*faulty); ok {
			f.mend()
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if p.Failed() {
			cancel()
		}
		if err := g.Close(ctx); err != nil && !p.Failed() {
			p.Errorf("Close returned %v: the law has left a run or a request behind", err)
		}
	})
	return g
}

// named returns the key of that name.
func named(name string) idempotency.Key { return idempotency.Key{Scope: "guard", ID: name} }

// digest returns the digest of the key of that name.
func (p *probe) digest(name string) idempotency.Digest {
	p.Helper()
	d, err := named(name).Digest()
	p.must(err, "digest of a key")
	return d
}

// value is a result that holds data.
func value(data string) idempotency.Result {
	return idempotency.Result{Codec: "test", Data: []byte(data)}
}

// returns is a function that does nothing else.
func returns(data string, err error) func(context.Context) (idempotency.Result, error) {
	return func(context.Context) (idempotency.Result, error) { return value(data), err }
}

// duplicate calls Run with a function that must not be called.
func (p *probe) duplicate(g *idempotency.Guard, name string, ro idempotency.RunOptions) (idempotency.Outcome, error) {
	p.Helper()
	var called atomic.Bool
	out, err := g.Run(p.ctx(), named(name), ro, func(context.Context) (idempotency.Result, error) {
		called.Store(true)
		return value("run again"), nil
	})
	if called.Load() {
		p.Fatal("a duplicate was run")
	}
	return out, err
}

// executes insists that g runs the key of that name, whose result is data.
func (p *probe) executes(g *idempotency.Guard, name, data string) idempotency.Outcome {
	p.Helper()
	out, err := g.Run(p.ctx(), named(name), idempotency.RunOptions{}, returns(data, nil))
	p.must(err, "a run that succeeds")
	if out.Status != idempotency.Executed || !out.Recorded || string(out.Result.Data) != data {
		p.Fatalf("a run ended as %s with %.40q, recorded: %t; want %s with %.40q, recorded",
			out.Status, out.Result.Data, out.Recorded, idempotency.Executed, data)
	}
	if out.Fence == 0 || out.Attempt == 0 {
		p.Fatalf("a run has the fence %d and the attempt %d, want both above 0", out.Fence, out.Attempt)
	}
	return out
}

// replays insists that g replays data to a duplicate.
func (p *probe) replays(g *idempotency.Guard, name, data string) idempotency.Outcome {
	p.Helper()
	out, err := p.duplicate(g, name, idempotency.RunOptions{})
	p.must(err, "a duplicate of a run that succeeded")
	p.replayed(out, value(data))
	return out
}

// replayed insists that a duplicate was answered with want.
func (p *probe) replayed(out idempotency.Outcome, want idempotency.Result) {
	p.Helper()
	if out.Status != idempotency.Replayed || !out.Recorded {
		p.Fatalf("a duplicate ended as %s, recorded: %t; want %s, recorded", out.Status, out.Recorded, idempotency.Replayed)
	}
	got := out.Result
	if got.Kind != want.Kind || got.Codec != want.Codec || !bytes.Equal(got.Data, want.Data) {
		p.Fatalf("a replay is %d bytes %.40q of kind %d by %q, want %d bytes %.40q of kind %d by %q",
			len(got.Data), got.Data, got.Kind, got.Codec, len(want.Data), want.Data, want.Kind, want.Codec)
	}
}

// duplicateFails insists that a duplicate is not run and ends in want.
func (p *probe) duplicateFails(g *idempotency.Guard, name string, want error) error {
	p.Helper()
	_, err := p.duplicate(g, name, idempotency.RunOptions{})
	p.fails(err, want, "a duplicate")
	return err
}

// unavailable insists that err says that the store was not available, and
// nothing of others.
func (p *probe) unavailable(err error) {
	p.Helper()
	p.fails(err, idempotency.ErrUnavailable, "a run without a store")
	if errors.Is(err, idempotency.ErrInProgress) {
		p.Fatalf("a run without a store returned %v: unavailable is not contention", err)
	}
}

// until tries until it succeeds. Between tries some time passes.
func (p *probe) until(what string, try func() bool) {
	p.Helper()
	start := time.Now()
	for !try() {
		if time.Since(start) > patience {
			p.Fatalf("%s did not come within %v", what, patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// runsSoon insists that the key of that name is run for data before long.
// Until then its duplicates may find it in progress.
func (p *probe) runsSoon(g *idempotency.Guard, name, data string) (out idempotency.Outcome) {
	p.Helper()
	p.until("the end of a claim that nobody has", func() bool {
		var err error
		out, err = g.Run(p.ctx(), named(name), idempotency.RunOptions{}, returns(data, nil))
		if !errors.Is(err, idempotency.ErrInProgress) {
			p.must(err, "a run that succeeds")
		}
		return err == nil
	})
	if out.Status != idempotency.Executed {
		p.Fatalf("a run that nobody has done ended as %s, want %s", out.Status, idempotency.Executed)
	}
	return out
}

// replaysSoon insists that data is replayed before long, and that no duplicate
// is run until then.
func (p *probe) replaysSoon(g *idempotency.Guard, name, data string) {
	p.Helper()
	p.until("the record of a run that succeeded", func() bool {
		out, err := p.duplicate(g, name, idempotency.RunOptions{})
		if !errors.Is(err, idempotency.ErrInProgress) {
			p.must(err, "a duplicate of a run that succeeded")
			p.replayed(out, value(data))
		}
		return err == nil
	})
}

// ended is how a Run on another goroutine ended.
type ended struct {
	out idempotency.Outcome
	err error
}

// runSoon calls Run on another goroutine.
func (p *probe) runSoon(
	ctx context.Context, g *idempotency.Guard, name string, ro idempotency.RunOptions,
	fn func(context.Context) (idempotency.Result, error),
) <-chan ended {
	done := make(chan ended, 1)
	go func() {
		out, err := g.Run(ctx, named(name), ro, fn)
		done <- ended{out, err}
	}()
	return done
}

// underWay is a run that goes on until it is told how to end.
type underWay struct {
	p     *probe
	ctx   context.Context // the run's own
	end   chan error
	ended <-chan ended
}

// starts begins a run of the key of that name and returns when it has been
// called. It ends, with the result data, when finish is called, and in any case
// with the law.
func (p *probe) starts(g *idempotency.Guard, name, data string, ro idempotency.RunOptions) *underWay {
	p.Helper()
	r := &underWay{p: p, end: make(chan error, 1)}
	called := make(chan context.Context, 1)
	r.ended = p.runSoon(context.Background(), g, name, ro, func(ctx context.Context) (idempotency.Result, error) {
		called <- ctx
		return value(data), <-r.end
	})
	p.Cleanup(func() {
		select {
		case r.end <- errRun:
		default:
		}
	})
	r.ctx = await(p, called, "the call of a run")
	return r
}

// finish ends the run with err and returns how Run ended.
func (r *underWay) finish(err error) (idempotency.Outcome, error) {
	r.p.Helper()
	r.end <- err
	e := await(r.p, r.ended, "the end of a run")
	return e.out, e.err
}

// await returns what comes from done, and insists that it comes.
func await[T any](p *probe, done <-chan T, what string) T {
	p.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case v := <-done:
		return v
	case <-late.C:
		p.Fatalf("%s did not come within %v", what, patience)
		panic("unreachable")
	}
}

// diary is an Observer that remembers.
type diary struct {
	mu     sync.Mutex
	events []observe.Event
}

// Observe implements [observe.Observer].
func (d *diary) Observe(_ context.Context, e observe.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// tells insists that an event of that kind came.
func (p *probe) tells(d *diary, kind observe.Kind) {
	p.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.Kind == kind {
			return
		}
	}
	p.Fatalf("no event %q was told", kind)
}
