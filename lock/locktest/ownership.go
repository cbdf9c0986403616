package locktest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/semel-go/semel/lock"
)

func ownershipLaws() []law {
	return []law{{
		name: "OneOwner",
		why:  "a key that one nonce holds is refused to every other, or the lock locks nothing",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			held := p.refused("key", false)
			p.fails(held, lock.ErrNotAcquired, "a *lock.HeldError")
			p.refused("key", true)
			p.owns("key", a)
		},
	}, {
		name: "OneOwnerOfMany",
		why:  "of many that ask at the same time one is granted: asking whether a key is free and taking it must be one step",
		test: oneOwnerOfMany,
	}, {
		name: "RefusalTellsRemaining",
		why:  "who is refused waits for the remaining TTL at most: 0 makes it ask in a loop, too long strands it behind a dead owner",
		test: func(p *probe) {
			p.take("key", p.nonce(), time.Minute)
			most := time.Minute + time.Millisecond + p.features.Granularity
			if r := p.refused("key", false).Remaining; r <= 0 || r > most {
				p.Fatalf("a key held for a minute has %v remaining, want more than 0 and at most %v", r, most)
			}
			a := p.nonce()
			p.take("kept", a, long)
			p.keep("kept", a, time.Minute)
			if r := p.refused("kept", false).Remaining; r <= 0 || r > most {
				p.Fatalf("a key kept for a minute has %v remaining, want more than 0 and at most %v", r, most)
			}
		},
	}, {
		name: "RefusalChangesNothing",
		why:  "a refused ask neither prolongs nor shortens the owner's claim, also where the store notes that somebody waits: waiters must not keep a dead owner alive",
		test: refusalChangesNothing,
	}, {
		name: "NoncesCompareWhole",
		why:  "a nonce that is the beginning or the end of the owner's, or differs in case, is another's: a comparison by prefix lets strangers release",
		test: noncesCompareWhole,
	}, {
		name: "ResendIsOurs",
		why:  "clients send a command again when its reply was lost: an acquire that finds its own nonce has succeeded, with the same fences",
		test: func(p *probe) {
			a := p.nonce()
			first := p.reserve("key", a, long, 7)
			for range 3 {
				if again := p.reserve("key", a, long, 7); again.Fence != first.Fence || again.Block != first.Block {
					p.Fatalf("the resent acquire was granted %d fences from %d, want the same %d from %d",
						again.Block, again.Fence, first.Block, first.Fence)
				}
			}
			p.owns("key", a)
		},
	}, {
		name: "ResendArmsFullTTL",
		why:  "the answer to a resent acquire is trusted from the time it was sent: it must last from then on",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, p.short)
			p.advance(p.short / 2)
			m := p.now()
			p.take("key", a, p.short)
			p.advance(p.short * 3 / 4)
			_, err := p.acquire("key", p.nonce(), long)
			if err == nil && p.within(m, p.short) {
				p.Fatal("the key was free before the TTL of the resent acquire was over")
			}
		},
	}, {
		name: "ResendNeverShortens",
		why:  "a copy of the acquire may arrive when the lease has been extended to a longer TTL, which its owner trusts",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			p.take("key", a, p.short)
			p.outlast(p.short)
			p.owns("key", a)
		},
	}}
}

func oneOwnerOfMany(p *probe) {
	for round := range 8 {
		key := fmt.Sprint("key", round)
		errs := make([]error, 64)
		start := make(chan struct{})
		var asking sync.WaitGroup
		for i := range errs {
			req := lock.Request{Key: key, Nonce: p.nonce(), TTL: long, Block: 1, Waiting: i%2 == 0}
			ctx := p.ctx()
			asking.Go(func() {
				<-start
				_, errs[i] = p.backend.Acquire(ctx, req)
			})
		}
		close(start)
		asking.Wait()
		owners := 0
		for _, err := range errs {
			switch {
			case err == nil:
				owners++
			case !errors.Is(err, lock.ErrNotAcquired):
				p.Fatalf("an acquire beside others returned %v, want nil or a *lock.HeldError", err)
			}
		}
		if owners != 1 {
			p.Fatalf("%d of %d acquires at the same time were granted, want 1", owners, len(errs))
		}
	}
}

func refusalChangesNothing(p *probe) {
	m := p.now()
	p.take("key", p.nonce(), p.short)
	for range 4 {
		p.advance(p.short / 5)
		for _, wait := range []bool{false, true} {
			_, err := p.backend.Acquire(p.ctx(), lock.Request{
				Key: "key", Nonce: p.nonce(), TTL: long, Block: 1, Waiting: wait,
			})
			if err == nil && p.within(m, p.short) {
				p.Fatal("the key was granted to another before the owner's TTL was over")
			}
			if err == nil {
				return // a slow machine: the TTL was over, and the claim is the waiter's
			}
		}
	}
	p.outlast(p.short / 5)
	p.take("key", p.nonce(), long)
}

func noncesCompareWhole(p *probe) {
	const owner = "abcdefghijklmnopqrstuvwxyz"
	strangers := []string{
		"a", owner[:25], owner + "a", owner + owner, owner[1:], "a" + owner, strings.ToUpper(owner),
	}
	for i, stranger := range strangers {
		for j, pair := range [][2]string{{owner, stranger}, {stranger, owner}} {
			key, holds, asks := fmt.Sprint("key", i, "-", j), pair[0], pair[1]
			p.take(key, holds, long)
			if _, err := p.acquire(key, asks, long); !errors.Is(err, lock.ErrNotAcquired) {
				p.Fatalf("acquire by %q of a key that %q holds returned %v", asks, holds, err)
			}
			_, err := p.extend(key, asks, long)
			p.fails(err, lock.ErrTaken, fmt.Sprintf("extend by %q of a key that %q holds", asks, holds))
			p.fails(p.release(key, asks), lock.ErrTaken, fmt.Sprintf("release by %q of a key that %q holds", asks, holds))
			p.fails(p.compensate(key, asks), lock.ErrTaken, fmt.Sprintf("compensation by %q of a key that %q holds", asks, holds))
			p.owns(key, holds)
			p.give(key, holds)
			p.fails(p.release(key, asks), lock.ErrExpired, fmt.Sprintf("release by %q of a key that %q gave back", asks, holds))
			p.take(key, asks, long)
		}
	}
}
