package locktest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/semel-go/semel/lock"
)

func lockerCloseLaws() []law {
	return []law{{
		name: "LockerCloseEndsAll",
		why:  "a process that stops tells its waiters and its leases so, and takes no new ones",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{})
			held := p.leaseOn(l, "key")
			waiting := p.acquireSoon(p.ctx(), l, "key")
			time.Sleep(20 * time.Millisecond) // most often it waits by now
			ctx, cancel := context.WithTimeout(p.ctx(), 50*time.Millisecond)
			defer cancel()
			p.fails(l.Close(ctx), context.DeadlineExceeded, "Close while a lease is held")
			p.endsWith(held.Context(), lock.ErrClosed, "the context of a lease whose Locker was closed")
			if held.Valid() {
				p.Fatal("a lease whose Locker was closed is valid")
			}
			p.fails(await(p, waiting, "the end of a wait").err, lock.ErrClosed, "Acquire that waits while its Locker is closed")
			_, err := l.Acquire(p.ctx(), "other")
			p.fails(err, lock.ErrClosed, "Acquire after Close")
			_, err = l.With(lock.Options{TTL: time.Minute}).TryAcquire(p.ctx(), "other")
			p.fails(err, lock.ErrClosed, "TryAcquire of a Locker made by With, after Close")
		},
	}, {
		name: "LockerCloseWaitsForLeases",
		why:  "a process that stops in order lets its work end and gives its keys back",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{})
			begun, ended := make(chan struct{}), make(chan struct{})
			end := sync.OnceFunc(func() { close(ended) })
			defer end()
			done := make(chan error, 1)
			go func() {
				done <- l.Do(p.ctx(), "key", func(ctx context.Context) error {
					close(begun)
					<-ended
					return ctx.Err()
				})
			}()
			await(p, begun, "the begin of Do")
			closed := make(chan error, 1)
			go func() { closed <- l.Close(p.ctx()) }()
			select {
			case err := <-closed:
				p.Fatalf("Close returned %v while a lease was held", err)
			case <-time.After(50 * time.Millisecond):
			}
			end()
			p.must(await(p, done, "the end of Do"), "Do while its Locker is closed")
			p.must(await(p, closed, "the end of Close"), "Close")
			p.freeForAll("key")
		},
	}, {
		name: "LockerCloseWaitsForLost",
		why:  "work that has lost its lease goes on until it notices: a process that stops in order waits for that, too, and the work learns what it lost",
		test: func(p *probe) {
			f := newFaulty(p.backend)
			l := p.locker(f, lock.Options{TTL: p.short, NoRenew: true})
			lost, end := make(chan struct{}), make(chan struct{})
			done := make(chan error, 1)
			go func() {
				done <- l.Do(p.ctx(), "key", func(ctx context.Context) error {
					<-ctx.Done()
					close(lost)
					<-end
					return nil
				})
			}()
			await(p, lost, "the end of the context of a lease that is not renewed")
			p.outlast(p.short)
			closed := make(chan error, 1)
			go func() { closed <- l.Close(p.ctx()) }()
			select {
			case err := <-closed:
				close(end)
				p.Fatalf("Close returned %v while a function was under way that had lost its lease", err)
			case <-time.After(50 * time.Millisecond):
			}
			close(end)
			p.fails(await(p, done, "the end of Do"), lock.ErrLost, "Do that lost its lease while its Locker was closed")
			p.must(await(p, closed, "the end of Close"), "Close")
		},
	}, {
		name: "LockerCloseLeavesNoGoroutine",
		why:  "a process that opens and closes Lockers must not fill up with what they leave behind",
		test: lockerCloseLeavesNoGoroutine,
	}}
}

// lockerCloseLeavesNoGoroutine counts the goroutines that descend from its own,
// which they inherit a label from.
func lockerCloseLeavesNoGoroutine(p *probe) {
	// What the client starts once, and keeps, is not to be counted.
	a := p.nonce()
	p.take("key", a, long)
	p.give("key", a)
	if p.features.Waiting {
		e := listen(p)
		e.listener.Watch("key")
		e.hears("key", "once it listens")
		e.close()
	}

	label := fmt.Sprintf("%s at %p", p.Name(), p)
	done := make(chan error, 1)
	go pprof.Do(context.Background(), pprof.Labels("locktest", label), func(context.Context) {
		done <- func() error {
			for range 2 {
				one, err := lock.New(p.backend, lock.Options{TTL: long, Wait: patience, Timeout: 5 * time.Second})
				if err != nil {
					return err
				}
				hasty := one.With(lock.Options{Wait: time.Millisecond})
				f := newFaulty(p.backend)
				other, err := lock.New(f, lock.Options{TTL: long, Wait: time.Millisecond, Timeout: 250 * time.Millisecond})
				if err != nil {
					return err
				}
				for i := range 3 {
					key := fmt.Sprint("key", i)
					lease, err := one.Acquire(p.ctx(), key)
					if err != nil {
						return fmt.Errorf("Acquire returned %w", err)
					}
					_, _ = other.Acquire(p.ctx(), key)
					_, _ = hasty.Acquire(p.ctx(), key)
					f.fail(losesReply)
					_, _ = other.Acquire(p.ctx(), key)
					f.mend()
					if err := lease.Release(p.ctx()); err != nil {
						return fmt.Errorf("Release returned %w", err)
					}
					// One of them hears of a key that the other holds.
					stranger := p.soon(key)
					_, _ = hasty.Acquire(p.ctx(), key)
					if err := p.release(key, stranger); err != nil {
						return fmt.Errorf("release by a stranger returned %w", err)
					}
				}
				for _, l := range []*lock.Locker{one, other} {
					if err := l.Close(p.ctx()); err != nil {
						return fmt.Errorf("Close returned %w", err)
					}
				}
			}
			return nil
		}()
	})
	p.must(await(p, done, "the end of the work"), "the work of two Lockers")
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left := goroutines(label)
		if left == "" {
			return
		}
		if time.Since(began) > patience {
			p.Fatalf("goroutines of a closed Locker go on:\n%s", left)
		}
	}
}

// goroutines returns the stacks of those that carry label.
func goroutines(label string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	var left []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, label) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
