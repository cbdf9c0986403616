package idempotencytest

import (
	"fmt"
	"sync"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func claimLaws() []law {
	return []law{{
		name: "OneOwner",
		why:  "a key that one run has claimed is refused to every other, or its event takes effect twice",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			p.claim(key, a, long)
			for _, wait := range []bool{false, true} {
				b, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{
					Key: key, Nonce: p.nonce(), Lease: long, Waiting: wait,
				})
				p.must(err, "begin of a key that another has claimed")
				if b.State != idempotency.StateHeld {
					p.Fatalf("begin of a key that another has claimed says that it is %s, want %s", b.State, idempotency.StateHeld)
				}
			}
			p.owns(key, a)
		},
	}, {
		name: "OneOwnerOfMany",
		why:  "of many duplicates that arrive at the same time one runs: asking whether a key is free and claiming it must be one step",
		test: oneOwnerOfMany,
	}, {
		name: "OneOwnerAfterExpiry",
		why:  "of many that find a dead owner's claim ended one takes over",
		test: func(p *probe) {
			key := p.key()
			p.claim(key, p.nonce(), short)
			p.outlast(short)
			oneClaims(p, key)
		},
	}, {
		name: "RefusalTellsRemaining",
		why:  "who is refused comes back after what remains: 0 makes it ask in a loop, too much strands it behind a dead owner",
		test: func(p *probe) {
			held, unknown, early := p.key("held"), p.key("unknown"), p.key("early")
			p.claim(held, p.nonce(), time.Minute)
			p.remains(p.finds(held, idempotency.StateHeld).Remaining, time.Minute, "a lease")
			a := p.nonce()
			p.claim(unknown, a, long)
			p.doubt(unknown, a, time.Minute)
			p.remains(p.finds(unknown, idempotency.StateUnknown).Remaining, time.Minute, "an unknown outcome")
			a = p.nonce()
			p.claim(early, a, long)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: early, Nonce: a, NotBefore: time.Minute}),
				"release with a not-before time")
			p.remains(p.finds(early, idempotency.StateFree).Remaining, time.Minute, "a not-before time")
			done := p.key("done")
			a = p.nonce()
			_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{
				Key: done, Record: p.record(a, p.claim(done, a, long), "body"), Retention: time.Minute,
			})
			p.must(err, "complete by the owner")
			p.remains(p.finds(done, idempotency.StateCompleted).Remaining, time.Minute, "a record")
		},
	}, {
		name: "RefusalChangesNothing",
		why:  "a refused duplicate neither prolongs nor shortens the owner's claim, also where the store notes that somebody waits: duplicates must not keep a dead owner alive",
		test: refusalChangesNothing,
	}, {
		name: "FingerprintComesBackWhole",
		why:  "each asker compares its own fingerprint with the owner's, so all of it must come back: a part of it lets another content pass",
		test: fingerprintComesBackWhole,
	}, {
		name: "NoncesCompareWhole",
		why:  "a nonce that differs from the owner's in one byte is another's: a comparison by a part lets strangers release and complete",
		test: noncesCompareWhole,
	}}
}

// oneClaims lets many begin at once and insists that one claims.
func oneClaims(p *probe, key idempotency.Digest) {
	p.Helper()
	var (
		answers [64]idempotency.Begun
		errs    [64]error
		asking  sync.WaitGroup
	)
	start := make(chan struct{})
	for i := range answers {
		r := idempotency.BeginRequest{Key: key, Nonce: p.nonce(), Lease: long, Waiting: i%2 == 0}
		ctx := p.ctx()
		asking.Go(func() {
			<-start
			answers[i], errs[i] = p.store.Begin(ctx, r)
		})
	}
	close(start)
	asking.Wait()
	owners := 0
	for i, b := range answers {
		switch {
		case errs[i] != nil:
			p.Fatalf("a begin beside others returned %v", errs[i])
		case b.State == idempotency.StateClaimed:
			owners++
		case b.State != idempotency.StateHeld:
			p.Fatalf("a begin beside others says that the key is %s, want %s or %s", b.State, idempotency.StateClaimed, idempotency.StateHeld)
		}
	}
	if owners != 1 {
		p.Fatalf("%d of %d begins at the same time claimed the key, want 1", owners, len(answers))
	}
}

func oneOwnerOfMany(p *probe) {
	for round := range 8 {
		oneClaims(p, p.key(round))
	}
}

func refusalChangesNothing(p *probe) {
	key, m := p.key(), p.now()
	p.claim(key, p.nonce(), short)
	for range 4 {
		p.advance(short / 5)
		for _, wait := range []bool{false, true} {
			b, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{
				Key: key, Nonce: p.nonce(), Lease: long, Waiting: wait, Fingerprint: p.print(1),
			})
			p.must(err, "begin of a key that another has claimed")
			if b.State != idempotency.StateClaimed {
				continue
			}
			if p.within(m, short) {
				p.Fatal("the key was claimed by another before the owner's lease was over")
			}
			return // a slow machine: the lease was over, and the claim is the asker's
		}
	}
	p.outlast(short / 5)
	p.claim(key, p.nonce(), long)
}

func fingerprintComesBackWhole(p *probe) {
	prints := []idempotency.Fingerprint{{}, p.print(0), p.print(200)}
	for i := range (idempotency.Fingerprint{}) {
		var one idempotency.Fingerprint
		one[i] = 0x80
		prints = append(prints, one)
	}
	for i, print := range prints {
		key, a := p.key(i), p.nonce()
		begun := p.claimFor(key, a, long, print)
		b, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{
			Key: key, Nonce: p.nonce(), Lease: long, Fingerprint: p.print(99),
		})
		p.must(err, "begin with another fingerprint")
		if b.State != idempotency.StateHeld || b.Fingerprint != print {
			p.Fatalf("a key claimed with the fingerprint %x is %s with %x to another", print, b.State, b.Fingerprint)
		}
		p.owns(key, a)
		if i%2 == 0 {
			p.doubt(key, a, long)
			if b := p.finds(key, idempotency.StateUnknown); b.Fingerprint != print {
				p.Fatalf("an unknown outcome came back with the fingerprint %x, want %x", b.Fingerprint, print)
			}
			continue
		}
		r := p.record(a, begun, "")
		r.Fingerprint = print
		p.finish(key, r)
		p.holds(key, r)
	}
}

func noncesCompareWhole(p *probe) {
	for i := range (idempotency.Nonce{}) {
		key, owner := p.key(i), idempotency.Nonce([]byte("aBcDeFgHiJkLmNoP"))
		stranger := owner
		stranger[i] ^= 0x20 // the same letter in the other case
		begun := p.claim(key, owner, long)
		b, err := p.ask(key, stranger, long)
		if err != nil || b.State != idempotency.StateHeld {
			p.Fatalf("begin by a nonce that differs in byte %d says %s, %v, want %s", i, b.State, err, idempotency.StateHeld)
		}
		at := fmt.Sprintf(" by a nonce that differs in byte %d", i)
		p.fails(p.renew(key, stranger, long), lock.ErrTaken, "renew"+at)
		p.fails(p.release(key, stranger), lock.ErrTaken, "release"+at)
		p.fails(p.compensate(key, stranger), lock.ErrTaken, "compensation"+at)
		_, err = p.complete(key, p.record(stranger, begun, "stranger"))
		p.fails(err, lock.ErrTaken, "complete"+at)
		p.owns(key, owner)
		if i%2 == 0 {
			p.give(key, owner)
			p.fails(p.release(key, stranger), lock.ErrExpired, "release of a free key"+at)
			p.claim(key, stranger, long)
			continue
		}
		r := p.record(owner, begun, "owner")
		p.finish(key, r)
		_, err = p.complete(key, p.record(stranger, begun, "stranger"))
		p.fails(err, lock.ErrTaken, "complete of a completed key"+at)
		p.holds(key, r)
	}
}

// claimed claims key for long and returns the owner's nonce.
func (p *probe) claimed(key idempotency.Digest) idempotency.Nonce {
	p.Helper()
	n := p.nonce()
	p.claim(key, n, long)
	return n
}
