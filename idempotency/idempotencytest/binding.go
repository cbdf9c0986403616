package idempotencytest

import (
	"sync"
	"time"

	"github.com/semel-go/semel/idempotency"
)

func bindingLaws() []law {
	return []law{{
		name:  "BindHoldsFirst",
		why:   "an id goes with the digest that it came with first: whoever sends another under it is refused, however often",
		needs: []ability{binding},
		test: func(p *probe) {
			id, value := p.key("id"), p.key("value")
			p.binds(id, value, long, true)
			for i := range value {
				other := value
				other[i] ^= 1
				p.binds(id, other, long, false)
			}
			p.binds(id, value, long, true)
			p.binds(p.key("another id"), p.key("another value"), long, true)
			p.binds(id, value, long, true)
		},
	}, {
		name:  "BindOneOfMany",
		why:   "of two contents that come under one id at the same time one is refused: looking and storing must be one step",
		needs: []ability{binding},
		test:  bindOneOfMany,
	}, {
		name:  "BindingEnds",
		why:   "a binding lasts for its time, and asking again does not prolong it: what never ends fills the store",
		needs: []ability{binding},
		test: func(p *probe) {
			var id idempotency.Digest
			for i := range 10 {
				m := p.now()
				id = p.key("id", i)
				p.binds(id, p.key("value"), short, true)
				p.advance(short / 2)
				same, err := p.binder().Bind(p.ctx(), id, p.key("value"), long)
				p.must(err, "bind")
				if p.within(m, short) {
					if !same {
						p.Fatal("an id is not bound to its digest any more before its time was over")
					}
					break
				}
				// The machine is slow: it may have been bound anew, and for long.
			}
			p.outlast(short / 2)
			p.binds(id, p.key("another value"), long, true)
		},
	}, {
		name:  "BindingIsNotEarly",
		why:   "a forgery must not become acceptable before its time, whatever time the later asks name",
		needs: []ability{binding},
		test: func(p *probe) {
			id := p.key("id")
			p.binds(id, p.key("value"), long, true)
			p.binds(id, p.key("value"), short, true)
			p.binds(id, p.key("another value"), short, false)
			p.outlast(short)
			p.binds(id, p.key("another value"), short, false)
		},
	}, {
		name:  "BindingsAndRecordsNeverMeet",
		why:   "an id that happens to be a key's digest must neither claim it nor be read as its record",
		needs: []ability{binding},
		test: func(p *probe) {
			for i, key := range nastyDigests()[:40] {
				p.binds(key, p.key("value", i), long, true)
				a := p.nonce()
				b := p.claim(key, a, long)
				p.binds(key, p.key("value", i), long, true)
				r := p.record(a, b, "body")
				p.finish(key, r)
				p.binds(key, p.key("another value", i), long, false)
				p.holds(key, r)

				other := p.key("claimed first", i)
				p.run(other, "body")
				p.binds(other, key, long, true)
				p.binds(other, p.key("another value", i), long, false)
			}
		},
	}, {
		name:  "BindOutOfRangeIsInvalid",
		why:   "a binding without an end fills the store, and one that ends at once binds nothing",
		needs: []ability{binding},
		test: func(p *probe) {
			id := p.key("id")
			for _, d := range []time.Duration{0, -1, -time.Hour, idempotency.MaxRetention + 1, forever} {
				_, err := p.binder().Bind(p.ctx(), id, p.key("value"), d)
				p.invalid(err, "bind", "ttl", d)
			}
			p.binds(id, p.key("another value"), idempotency.MaxRetention, true)
		},
	}}
}

func (p *probe) binder() idempotency.Binder {
	p.Helper()
	b, ok := p.store.(idempotency.Binder)
	if !ok {
		p.Fatal("the store's features include bindings, but it is no idempotency.Binder")
	}
	return b
}

// binds binds and insists on the answer.
func (p *probe) binds(id, value idempotency.Digest, ttl time.Duration, want bool) {
	p.Helper()
	same, err := p.binder().Bind(p.ctx(), id, value, ttl)
	p.must(err, "bind")
	if same != want {
		p.Fatalf("bind says same=%t, want %t", same, want)
	}
}

func bindOneOfMany(p *probe) {
	for round := range 4 {
		id := p.key("id", round)
		var (
			same   [32]bool
			errs   [32]error
			asking sync.WaitGroup
		)
		start := make(chan struct{})
		for i := range same {
			value := p.key("value", i/2) // each comes twice
			asking.Go(func() {
				<-start
				same[i], errs[i] = p.binder().Bind(p.ctx(), id, value, long)
			})
		}
		close(start)
		asking.Wait()
		first := -1
		for i := range same {
			p.must(errs[i], "bind beside others")
			switch {
			case same[i] != same[i^1]:
				p.Fatal("the same digest was bound to an id and refused")
			case same[i] && first >= 0 && first != i/2:
				p.Fatal("one id was bound to two digests at the same time")
			case same[i]:
				first = i / 2
			}
		}
		if first < 0 {
			p.Fatal("an id that several bound at the same time is bound to none of them")
		}
	}
}
