package line

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

// Forever is a pause or a wait without an end of its own.
const Forever time.Duration = math.MaxInt64

// Why Sleep ended other than by news, a pause that is over, or the context.
var (
	ErrWaitOver = errors.New("wait is over")
	ErrClosed   = errors.New("lines are closed")
)

// Waiter is one caller. Embed it in what waits.
type Waiter struct {
	// Of is what the Waiter is embedded in.
	Of any

	lines *Lines
	shard *Shard
	key   string
	until time.Time // zero: no end

	// Guarded by the shard's lock.
	prev, next *Waiter
	queued     bool
	idle       bool // it is the asker, and no request of it is under way
	news       bool // there is reason to look
	gift       any
	wake       chan struct{} // of capacity 1; nil until it has to sleep

	bed *bed
}

// Init makes w a waiter for key in shard, which is key's and locked or not,
// for at most wait.
func (ls *Lines) Init(w *Waiter, s *Shard, key string, wait time.Duration) {
	w.lines, w.shard, w.key = ls, s, key
	if wait != Forever {
		w.until = time.Now().Add(wait)
	}
}

// Signal wakes w to look again.
func (w *Waiter) Signal() {
	w.shard.Lock()
	defer w.shard.Unlock()
	w.signal()
}

func (w *Waiter) signal() {
	w.news = true
	if w.wake != nil {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Look returns what happened to w since it last looked: what it was given, and
// whether it is the asker, which may then make a request. News tells whether
// there was a reason to look.
func (w *Waiter) Look() (gift any, asker, news bool) {
	w.shard.Lock()
	defer w.shard.Unlock()
	news, w.news, w.idle = w.news, false, false
	if w.wake != nil { // the news that it announced is read
		select {
		case <-w.wake:
		default:
		}
	}
	ln := w.shard.lines[w.key]
	return w.gift, ln != nil && ln.asker == w, news
}

// Rejoin puts w, whose gift was worth nothing, back into the line.
func (w *Waiter) Rejoin() {
	w.shard.Lock()
	defer w.shard.Unlock()
	w.gift = nil
	w.shard.Line(w.key).Join(w)
}

// Behind returns how many wait behind the asker.
func (w *Waiter) Behind() int {
	w.shard.Lock()
	defer w.shard.Unlock()
	if ln := w.shard.lines[w.key]; ln != nil {
		return ln.Queued
	}
	return 0
}

// Leave takes w out of its line: it is given nothing any more. It returns what
// it had been given.
func (w *Waiter) Leave() (gift any) {
	ls, s := w.lines, w.shard
	s.Lock()
	unwatch := false
	if ln := s.lines[w.key]; ln != nil {
		ln.remove(w)
		if ln.asker == w {
			ln.asker = nil
			ln.promote()
		}
		unwatch = s.tidy(ln)
	}
	gift = w.gift
	if w.bed != nil {
		ls.makeBed(w.bed)
		w.bed, w.wake = nil, nil
	}
	s.Unlock()
	if unwatch {
		ls.news.unwatch(w.key)
	}
	return gift
}

// Left returns how much of w's wait is left; it may be negative.
func (w *Waiter) Left() time.Duration {
	if w.until.IsZero() {
		return Forever
	}
	return time.Until(w.until)
}

// Sleep waits for news, at most for d. The error is ErrWaitOver, ErrClosed, or
// ctx's own.
func (w *Waiter) Sleep(ctx context.Context, d time.Duration) error {
	w.shard.Lock()
	if w.news {
		w.shard.Unlock()
		return nil
	}
	w.idle = true
	if w.bed == nil {
		w.bed = w.lines.newBed()
		w.wake = w.bed.wake
	}
	w.shard.Unlock()
	left := w.Left()
	if left <= 0 {
		return ErrWaitOver
	}
	last := left <= d
	if d = min(d, left); d != Forever {
		w.bed.timer.Reset(d)
		defer w.bed.timer.Stop()
	}
	select {
	case <-w.bed.wake:
	case <-w.bed.timer.C:
		if last {
			return ErrWaitOver
		}
	case <-ctx.Done():
		return ctx.Err()
	case <-w.lines.closing:
		return ErrClosed
	}
	return nil
}

// bed is what a caller sleeps with.
type bed struct {
	timer *time.Timer
	wake  chan struct{}
}

func (ls *Lines) newBed() *bed {
	if b, ok := ls.beds.Get().(*bed); ok {
		return b
	}
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &bed{timer: t, wake: make(chan struct{}, 1)}
}

// makeBed keeps b for another. Nobody may signal its owner any more.
func (ls *Lines) makeBed(b *bed) {
	b.timer.Stop()
	select {
	case <-b.wake:
	default:
	}
	ls.beds.Put(b)
}

const (
	// wakeJitter spreads the askers of many processes that wait for the same
	// expiry.
	wakeJitter = 20 * time.Millisecond
	// A store that cannot tell is polled.
	pollFirst   = 5 * time.Millisecond
	pollDoubled = 6 // the longest pause is 5 ms << 6
	// So is one whose subscription does not come to stand, less often.
	unheardFirst = 100 * time.Millisecond
)

// Pause returns how long the asker waits for news before it asks again, after
// tries asks in a row without news, the last of which was told that the key is
// held for remaining unless that is renewed (0: unknown). It sees to it that
// news will come. A dead holder's key is free after what remains of its time,
// whether or not the store has noticed.
func (w *Waiter) Pause(tries int, remaining time.Duration) time.Duration {
	expiry := Forever
	if remaining > 0 {
		expiry = remaining + time.Millisecond + rand.N(wakeJitter)
	}
	if w.lines.news.listen == nil {
		return min(expiry, Backoff(pollFirst, tries))
	}
	w.shard.Lock()
	ln := w.shard.Line(w.key)
	watched, heard := ln.watched, ln.heard
	ln.watched = true
	w.shard.Unlock()
	if !watched {
		w.lines.news.watch(w.key)
	}
	if !heard || expiry == Forever {
		return min(expiry, Backoff(unheardFirst, tries))
	}
	return expiry
}

// Retry returns the pause after the n-th failure in a row.
func Retry(n int) time.Duration { return Backoff(pollFirst, n) }

// Backoff returns the pause before try n+1, jittered: base doubled each time,
// up to 64 times base.
func Backoff(base time.Duration, n int) time.Duration {
	d := base << min(max(n-1, 0), pollDoubled)
	return d/2 + rand.N(d)
}
