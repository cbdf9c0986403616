package idempotencytest

import (
	"bytes"
	"time"

	"github.com/semel-go/semel/idempotency"
)

func inspectionLaws() []law {
	return []law{{
		name:  "LookTellsState",
		why:   "an operator who decides what to do with a key needs to see what it is in, whose it is and for how long",
		needs: []ability{inspection},
		test:  lookTellsState,
	}, {
		name:  "LookChangesNothing",
		why:   "looking must not claim, prolong or free a key",
		needs: []ability{inspection},
		test: func(p *probe) {
			key, in := p.key(), p.inspector()
			p.claim(key, p.nonce(), short)
			for range 3 {
				_, err := in.Look(p.ctx(), key)
				p.must(err, "look")
				p.advance(short / 4)
			}
			p.outlast(short / 4)
			_, err := in.Look(p.ctx(), key)
			p.must(err, "look")
			p.owns(key, p.claimed(key))
		},
	}, {
		name:  "ListTellsAll",
		why:   "a key that is not in the list is one that nobody finds",
		needs: []ability{inspection},
		test:  listTellsAll,
	}, {
		name:  "ListSelects",
		why:   "an operator who asks for a scope or a state gets that, all of it, and nothing else",
		needs: []ability{inspection},
		test:  listSelects,
	}}
}

func (p *probe) inspector() idempotency.Inspector {
	p.Helper()
	in, ok := p.store.(idempotency.Inspector)
	if !ok {
		p.Fatal("the store's features include inspection, but it is no idempotency.Inspector")
	}
	return in
}

// looks insists on the state of a key, whose it is, and what remains of it.
func (p *probe) looks(
	key idempotency.Digest, want idempotency.State, nonce idempotency.Nonce, of time.Duration, waiters bool,
) idempotency.Info {
	p.Helper()
	info, err := p.inspector().Look(p.ctx(), key)
	p.must(err, "look")
	if info.Key != key || info.State != want {
		p.Fatalf("look says that the key is %s, want %s (the same key: %t)", info.State, want, info.Key == key)
	}
	if want == idempotency.StateAbsent {
		return info
	}
	if info.Record.Nonce != nonce {
		p.Fatalf("look says that a key that is %s is the nonce %x's, want %x's", want, info.Record.Nonce, nonce)
	}
	if info.Waiters != waiters {
		p.Fatalf("look says waiters=%t of a key that is %s, want %t", info.Waiters, want, waiters)
	}
	if want != idempotency.StateCompleted && len(info.Record.Body) != 0 {
		p.Fatalf("look tells a body of a key that is %s", want)
	}
	p.remains(info.Remaining, of, "a key that is "+want.String())
	return info
}

func lookTellsState(p *probe) {
	key, a := p.key(), p.nonce()
	p.looks(key, idempotency.StateAbsent, a, 0, false)
	b := p.claimFor(key, a, time.Hour, p.print(9))
	is := func(r idempotency.Record, when string) {
		p.Helper()
		if r.Fence != b.Fence || r.Attempt != b.Attempt || r.Fingerprint != p.print(9) {
			p.Fatalf("look tells fence %d, attempt %d, fingerprint %x of a key %s, want %d, %d, %x",
				r.Fence, r.Attempt, r.Fingerprint, when, b.Fence, b.Attempt, p.print(9))
		}
	}
	is(p.looks(key, idempotency.StateClaimed, a, time.Hour, false).Record, "that is claimed")
	p.awaits(key)
	is(p.looks(key, idempotency.StateClaimed, a, time.Hour, true).Record, "that is claimed")
	p.doubt(key, a, time.Hour)
	is(p.looks(key, idempotency.StateUnknown, a, time.Hour, false).Record, "whose outcome is unknown")

	done := p.key("done")
	r := p.run(done, "body")
	info := p.looks(done, idempotency.StateCompleted, r.Nonce, long, false)
	p.same(info.Record, r)

	free := p.key("free")
	n := p.nonce()
	p.claim(free, n, long)
	p.give(free, n)
	if info := p.looks(free, idempotency.StateFree, n, long, false); info.NotBefore > 0 {
		p.Fatalf("look says that a free key may not be claimed for %v, want 0", info.NotBefore)
	}
	early := p.key("early")
	n = p.nonce()
	p.claim(early, n, long)
	p.must(p.releaseAs(idempotency.ReleaseRequest{Key: early, Nonce: n, NotBefore: time.Minute}), "release with a not-before time")
	info = p.looks(early, idempotency.StateFree, n, long+time.Minute, false)
	p.remains(info.NotBefore, time.Minute, "a not-before time")
	if info.Remaining < info.NotBefore {
		p.Fatalf("look says that a key is forgotten in %v that may not be claimed for %v", info.Remaining, info.NotBefore)
	}
}

// populate brings n keys of each scope into every state.
func (p *probe) populate(n int, scopes ...string) map[idempotency.Digest]idempotency.State {
	p.Helper()
	all := map[idempotency.Digest]idempotency.State{}
	states := []idempotency.State{idempotency.StateClaimed, idempotency.StateCompleted, idempotency.StateUnknown, idempotency.StateFree}
	for _, scope := range scopes {
		for i := range n {
			key, err := idempotency.Key{Scope: scope, ID: time.Duration(i).String()}.Digest()
			p.must(err, "digest of a key")
			state, a := states[i%len(states)], p.nonce()
			b := p.claim(key, a, long)
			switch state {
			case idempotency.StateCompleted:
				p.finish(key, p.record(a, b, "body"))
			case idempotency.StateUnknown:
				p.doubt(key, a, long)
			case idempotency.StateFree:
				p.give(key, a)
			}
			all[key] = state
		}
	}
	return all
}

// lists insists that a list holds want and nothing else.
func (p *probe) lists(o idempotency.ListOptions, want map[idempotency.Digest]idempotency.State) {
	p.Helper()
	got := map[idempotency.Digest]idempotency.State{}
	for info, err := range p.inspector().List(p.ctx(), o) {
		p.must(err, "list")
		got[info.Key] = info.State
		if info.Remaining <= 0 {
			p.Fatalf("list says that %v remains of a key that is %s", info.Remaining, info.State)
		}
		// A list may leave out bodies, which only a look at one key needs.
		if body := string(info.Record.Body); body != "" && (body != "body" || info.State != idempotency.StateCompleted) {
			p.Fatalf("list tells the body %.40q of a key that is %s", body, info.State)
		}
	}
	for key, state := range want {
		if got[key] != state {
			p.Fatalf("list says that a key is %s that is %s", got[key], state)
		}
	}
	if len(got) > len(want) {
		p.Fatalf("list tells %d keys, want %d", len(got), len(want))
	}
}

func listTellsAll(p *probe) {
	p.lists(idempotency.ListOptions{}, nil)
	want := p.populate(1200, "a") // more than one page of any store
	for _, key := range nastyDigests()[:40] {
		p.claimed(key)
		want[key] = idempotency.StateClaimed
	}
	p.lists(idempotency.ListOptions{}, want)
	for _, err := range p.inspector().List(p.ctx(), idempotency.ListOptions{}) {
		p.must(err, "list")
		break // leaving early must leave nothing behind
	}
	if p.features.Bind {
		p.binds(p.key("id"), p.key("value"), long, true)
		p.lists(idempotency.ListOptions{}, want)
	}
}

func listSelects(p *probe) {
	all := p.populate(40, "a", "b", "ab")
	part := func(scope []byte, states ...idempotency.State) map[idempotency.Digest]idempotency.State {
		some := map[idempotency.Digest]idempotency.State{}
		for key, state := range all {
			in := len(states) == 0
			for _, s := range states {
				in = in || s == state
			}
			if in && bytes.HasPrefix(key[:], scope) {
				some[key] = state
			}
		}
		return some
	}
	for _, scope := range [][]byte{nil, idempotency.ScopeDigest("a"), idempotency.ScopeDigest("ab"), idempotency.ScopeDigest("c")} {
		for _, states := range [][]idempotency.State{
			nil, {idempotency.StateClaimed}, {idempotency.StateCompleted}, {idempotency.StateUnknown}, {idempotency.StateFree},
			{idempotency.StateUnknown, idempotency.StateClaimed},
		} {
			p.lists(idempotency.ListOptions{Scope: scope, States: states}, part(scope, states...))
		}
	}
}
