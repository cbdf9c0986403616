package idempotencytest

import (
	"sync"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func completeLaws() []law {
	return []law{{
		name: "CompleteRecords",
		why:  "a duplicate of a completed run is answered with its record, whoever asks",
		test: func(p *probe) {
			key := p.key()
			r := p.run(key, "body")
			p.holds(key, r)
			b, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{
				Key: key, Nonce: p.nonce(), Lease: long, Waiting: true, Fingerprint: p.print(77),
			})
			p.must(err, "begin with another fingerprint")
			p.same(b.Record, r)
			p.holds(key, r)
		},
	}, {
		name: "CompleteTwiceSucceeds",
		why:  "a complete whose reply was lost is sent again: it must not look like a loss, and the first outcome stands",
		test: func(p *probe) {
			key := p.key()
			r := p.run(key, "body")
			for range 2 {
				_, err := p.complete(key, r)
				p.must(err, "a second complete by the same nonce")
			}
			other := r
			other.Body, other.Fence = []byte("another body"), r.Fence+1
			_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{Key: key, Record: other, Retention: short})
			p.must(err, "a second complete by the same nonce, with another outcome")
			p.outlast(short)
			p.holds(key, r)
		},
	}, {
		name: "LateCompleteIsStored",
		why:  "the effect has happened: an outcome that comes when the lease has run out and nobody came is worth keeping, or the redelivery runs it again",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			begun := p.claim(key, a, short)
			p.outlast(short)
			r := p.record(a, begun, "late")
			late, err := p.complete(key, r)
			p.must(err, "complete after the lease was over, when nobody had come")
			if !late {
				p.Fatal("complete after the lease was over did not say that it was late")
			}
			p.holds(key, r)
			_, err = p.complete(key, r)
			p.must(err, "a second complete by the same nonce")
			p.holds(key, r)
		},
	}, {
		name: "CompleteAfterTakeoverIsTaken",
		why:  "once another has taken over, the late owner's outcome must not overwrite what the other does",
		test: func(p *probe) {
			key, a, b := p.key(), p.nonce(), p.nonce()
			first := p.claim(key, a, short)
			p.outlast(short)
			second := p.claim(key, b, long)
			_, err := p.complete(key, p.record(a, first, "late"))
			p.fails(err, lock.ErrTaken, "complete by an owner whose key was taken over")
			p.owns(key, b)
			r := p.record(b, second, "successor")
			p.finish(key, r)
			_, err = p.complete(key, p.record(a, first, "later"))
			p.fails(err, lock.ErrTaken, "complete by an owner whose successor has completed")
			p.holds(key, r)
		},
	}, {
		name: "CompleteOnFreeIsExpired",
		why:  "a key that is free was released or forgotten since: whoever completes it now would hide that it is to run again",
		test: func(p *probe) {
			key, a, b := p.key(), p.nonce(), p.nonce()
			begun := p.claim(key, a, long)
			p.give(key, a)
			_, err := p.complete(key, p.record(a, begun, "own"))
			p.fails(err, lock.ErrExpired, "complete after the own release")
			_, err = p.complete(key, p.record(b, begun, "other"))
			p.fails(err, lock.ErrExpired, "complete after another's release")
			p.give(key, a)
			p.claim(key, b, long)
			p.owns(key, b)

			early := p.key("early")
			begun = p.claim(early, a, long)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: early, Nonce: a, NotBefore: long}),
				"release with a not-before time")
			_, err = p.complete(early, p.record(a, begun, "own"))
			p.fails(err, lock.ErrExpired, "complete after the own release with a not-before time")
			p.finds(early, idempotency.StateFree)
		},
	}, {
		name: "OneOutcomeOfMany",
		why:  "of several late owners that complete at the same time one is recorded, and the others learn that they are not",
		test: oneOutcomeOfMany,
	}, {
		name: "CompletionOrTakeover",
		why:  "a late outcome and a takeover that meet must not both succeed: the takeover would overwrite a completion, or the completion a live claim",
		test: completionOrTakeover,
	}}
}

func oneOutcomeOfMany(p *probe) {
	for round := range 4 {
		key := p.key(round)
		var (
			records [32]idempotency.Record
			lates   [32]bool
			errs    [32]error
			asking  sync.WaitGroup
		)
		start := make(chan struct{})
		for i := range records {
			n := p.nonce()
			records[i] = p.record(n, idempotency.Begun{Fence: uint64(i) + 1, Attempt: 1}, string(rune('a'+i)))
			r := idempotency.CompleteRequest{Key: key, Record: records[i], Retention: long}
			ctx := p.ctx()
			asking.Go(func() {
				<-start
				lates[i], errs[i] = p.store.Complete(ctx, r)
			})
		}
		close(start)
		asking.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err != nil:
				p.fails(err, lock.ErrTaken, "a complete that came after another's")
			case winner >= 0:
				p.Fatal("two of several late outcomes were recorded")
			case !lates[i]:
				p.Fatal("complete of a key that nobody owns did not say that it was late")
			default:
				winner = i
			}
		}
		if winner < 0 {
			p.Fatal("none of several late outcomes was recorded")
		}
		p.holds(key, records[winner])
	}
}

func completionOrTakeover(p *probe) {
	for round := range 16 {
		key, a := p.key(round), p.nonce()
		r := p.record(a, idempotency.Begun{Fence: 7, Attempt: 1}, "late")
		var (
			begun     [16]idempotency.Begun
			errs      [16]error
			completed [16]error // of one complete and its resends
			asking    sync.WaitGroup
		)
		start := make(chan struct{})
		for i := range begun {
			n := p.nonce()
			both := [2]func(){
				func() { _, completed[i] = p.complete(key, r) },
				func() { begun[i], errs[i] = p.ask(key, n, long) },
			}
			// On one processor the goroutine that was made last runs first: each
			// side is to come first in half of the rounds.
			for side := range both {
				asking.Go(func() {
					<-start
					both[(side+round)%2]()
				})
			}
		}
		close(start)
		asking.Wait()
		owners := 0
		for i, b := range begun {
			p.must(errs[i], "begin beside a late complete")
			if b.State == idempotency.StateClaimed {
				owners++
			}
		}
		stored := 0
		for _, err := range completed {
			if err == nil {
				stored++
			} else {
				p.fails(err, lock.ErrTaken, "complete beside a takeover")
			}
		}
		if owners > 1 || owners == 1 && stored > 0 || owners == 0 && stored < len(completed) {
			p.Fatalf("%d of %d copies of a late complete succeeded beside %d takeovers", stored, len(completed), owners)
		}
		if owners == 0 {
			p.holds(key, r)
		}
	}
}
