package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// patience is how long after its end a contest may go on. By then even the
// lock of somebody who died has been free for a while: whoever does not have it
// is stranded.
const patience = TTL + 2*time.Second

// slowest is the least speed at which a contest for a number of visits must
// get on.
const slowest = 20 * time.Millisecond

// Contest is many goroutines that want one key, again and again.
type Contest struct {
	// Key is what they want.
	Key string
	// Goroutines is how many of them there are, in each process.
	Goroutines int
	// For is how long they go on. Those who wait at the end still get it.
	For time.Duration
	// Until, if not 0, is how many visits of the register end the contest
	// instead. Those who wait at the end give up.
	Until int
}

// Outcome is what came of a contest.
type Outcome struct {
	// Held is how often the key was had until the end, Elapsed how long that
	// took.
	Held    int
	Elapsed time.Duration
	// Waits is how long each successful wait took, those that went on after
	// the end included.
	Waits []time.Duration
	// Goroutines is how many took part.
	Goroutines int
	// Least is how often the least lucky goroutine had the key.
	Least int
	// Clashes is how often somebody was not alone with the key.
	Clashes int
	// Stranded is how many goroutines gave up with an error, and Why the
	// first of these errors.
	Stranded int
	Why      string
}

// Rate returns how often a second the key was had.
func (o Outcome) Rate() float64 {
	if o.Elapsed <= 0 {
		return 0
	}
	return float64(o.Held) / o.Elapsed.Seconds()
}

// Evenness returns how often the least lucky goroutine had the key, as a share
// of what it would have been if all had had it equally often.
func (o Outcome) Evenness() float64 {
	if o.Held == 0 {
		return 0
	}
	return float64(o.Least*o.Goroutines) / float64(o.Held)
}

// Fault returns what is wrong with the outcome, or nil.
func (o Outcome) Fault() error {
	if o.Clashes > 0 || o.Stranded > 0 {
		return fmt.Errorf("bench: %d clashes, %d stranded (%s)", o.Clashes, o.Stranded, o.Why)
	}
	return nil
}

// merge adds what came of the same contest in another process or slice.
func (o Outcome) merge(other Outcome) Outcome {
	o.Waits = append(o.Waits, other.Waits...)
	o.Held += other.Held
	o.Goroutines += other.Goroutines
	o.Least = min(o.Least, other.Least)
	o.Clashes += other.Clashes
	o.Stranded += other.Stranded
	if o.Why == "" {
		o.Why = other.Why
	}
	return o
}

// Contend holds a contest in this process.
func Contend(ctx context.Context, c Contender, r *Register, contest Contest) Outcome {
	limit := contest.For + patience
	if contest.Until > 0 {
		limit = time.Duration(contest.Until-r.Visits())*slowest + patience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	elapsed := contest.For
	enough := sync.OnceFunc(func() {
		elapsed = time.Since(start)
		cancel()
	})
	over := func() bool {
		if contest.Until == 0 {
			return time.Since(start) >= contest.For
		}
		if r.Visits() < contest.Until {
			return false
		}
		enough()
		return true
	}
	outcomes := make([]Outcome, contest.Goroutines)
	var all sync.WaitGroup
	for g := range outcomes {
		all.Go(func() { outcomes[g] = contend(ctx, c, r, contest.Key, over) })
	}
	all.Wait()
	if contest.Until > 0 {
		enough()
	}
	total := outcomes[0]
	for _, o := range outcomes[1:] {
		total = total.merge(o)
	}
	total.Elapsed = elapsed
	return total
}

// contend is one goroutine of a contest.
func contend(ctx context.Context, c Contender, r *Register, key string, over func() bool) Outcome {
	o := Outcome{Goroutines: 1}
	var asked time.Time
	inside := func() {
		o.Waits = append(o.Waits, time.Since(asked))
		if !over() {
			o.Held++
		}
		if !r.Visit() {
			o.Clashes++
		}
	}
	for !over() {
		asked = time.Now()
		if err := c.Hold(ctx, key, inside); err != nil {
			if !errors.Is(ctx.Err(), context.Canceled) { // Else the contest has ended.
				o.Stranded, o.Why = 1, err.Error()
			}
			break
		}
	}
	o.Least = o.Held
	return o
}
