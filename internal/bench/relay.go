package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Relay hands a lock to and fro between two processes, numbered 1 and 2, and
// returns how long each hand-over to this one took: from the moment at which
// the other began to release, to the moment at which this one had it.
//
// Each process holds the lock for some milliseconds, so that the other one is
// already waiting when it is released, and then lets the other have it before
// it wants it back. The time that a lock is held for varies, so that those who
// poll do not fall into step with it.
func Relay(ctx context.Context, c Contender, r *Register, key string, me int64, times int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(times)*100*time.Millisecond+patience)
	defer cancel()
	words := r.words
	var took []time.Duration
	inside := func() {
		now := time.Now().UnixNano()
		if last := words.holder.Swap(me); last != me && last != 0 {
			took = append(took, time.Duration(now-words.release.Load()))
		}
		time.Sleep(2*time.Millisecond + rand.N(4*time.Millisecond))
		words.release.Store(time.Now().UnixNano())
	}
	for turn := range times {
		if turn > 0 || me != 1 {
			if err := awaitOther(ctx, words, me); err != nil {
				return took, err
			}
		}
		if err := c.Hold(ctx, key, inside); err != nil {
			return took, err
		}
	}
	return took, nil
}

// awaitOther returns when the other process has the lock.
func awaitOther(ctx context.Context, words *registerWords, me int64) error {
	for {
		if last := words.holder.Load(); last != me && last != 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("bench: the other process never had the lock: %w", ctx.Err())
		case <-time.After(200 * time.Microsecond):
		}
	}
}
