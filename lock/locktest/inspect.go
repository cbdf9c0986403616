package locktest

import (
	"fmt"
	"time"

	"github.com/semel-go/semel/lock"
)

func inspectionLaws() []law {
	return []law{{
		name: "FeaturesAreAsTold",
		why:  "a law that is skipped because a feature was not told, or lost unnoticed, proves nothing",
		test: featuresAreAsTold,
	}, {
		name:  "LookTellsState",
		why:   "an operator who decides whether to break a lock needs to see who holds it and for how long",
		needs: []ability{inspection},
		test:  lookTellsState,
	}, {
		name:  "ListTellsAll",
		why:   "a lock that is not in the list is one that nobody finds",
		needs: []ability{inspection},
		test:  listTellsAll,
	}, {
		name:  "BreakFrees",
		why:   "a key whose owner hangs can be taken from it, and the owner learns of it when it next extends",
		needs: []ability{inspection},
		test: func(p *probe) {
			in := p.backend.(lock.Inspector)
			for _, kept := range []bool{false, true} {
				key, a, b := fmt.Sprint("key", kept), p.nonce(), p.nonce()
				p.take(key, a, long)
				if kept {
					p.keep(key, a, long)
				}
				p.must(in.Break(p.ctx(), key), "break")
				_, err := p.extend(key, a, long)
				p.fails(err, lock.ErrExpired, "extend by the owner after its key was broken")
				_, err = p.acquire(key, a, long)
				p.fails(err, lock.ErrSpent, "a copy of the acquire after its key was broken")
				p.take(key, b, long)
				p.owns(key, b)
				p.fails(p.release(key, a), lock.ErrTaken, "release by the owner after its key was broken and taken")
				p.owns(key, b)
			}
		},
	}}
}

func featuresAreAsTold(p *probe) {
	_, waits := p.backend.(lock.Waiter)
	_, batches := p.backend.(lock.BatchExtender)
	_, inspects := p.backend.(lock.Inspector)
	_, raises := p.backend.(lock.Raiser)
	for _, f := range []struct {
		name       string
		told, real bool
	}{
		{"Fencing", p.features.Fencing, p.take("key", p.nonce(), long).Fence > 0},
		{"Waiting", p.features.Waiting, waits},
		{"Batch", p.features.Batch, batches},
		{"Inspect", p.features.Inspect, inspects},
		{"Raise", p.features.Raise, raises},
	} {
		if f.told != f.real {
			p.Errorf("Features.%s is %t, and the backend's is %t", f.name, f.told, f.real)
		}
	}
}

func lookTellsState(p *probe) {
	in := p.backend.(lock.Inspector)
	a := p.nonce()
	look := func(key string, want lock.State, nonce string, ttl time.Duration, waiters bool) lock.Info {
		p.Helper()
		got, err := in.Look(p.ctx(), key)
		p.must(err, "look")
		if got.Key != key || got.State != want {
			p.Fatalf("look at %q says that the key %q is %s, want %s", key, got.Key, got.State, want)
		}
		if want == lock.StateAbsent {
			return got
		}
		if got.Nonce != nonce || got.Waiters != waiters {
			p.Fatalf("look at a key that is %s says nonce %q, waiters=%t, want %q, %t", want, got.Nonce, got.Waiters, nonce, waiters)
		}
		if got.Remaining <= 0 || got.Remaining > ttl+time.Millisecond+p.features.Granularity {
			p.Fatalf("look at a key that is %s says %v remaining of %v", want, got.Remaining, ttl)
		}
		return got
	}
	look("key", lock.StateAbsent, "", 0, false)
	g := p.reserve("key", a, time.Hour, 5)
	held := look("key", lock.StateHeld, a, time.Hour, false)
	if last := g.Fence + g.Block - 1; p.features.Fencing && held.Fence != last {
		p.Fatalf("look says that the last fence is %d, want %d", held.Fence, last)
	}
	p.refused("key", true)
	look("key", lock.StateHeld, a, time.Hour, true)
	p.give("key", a)
	free := look("key", lock.StateFree, a, long, false)
	if p.features.Fencing && free.Fence != held.Fence {
		p.Fatalf("look says that the last fence is %d after a release, want %d", free.Fence, held.Fence)
	}
	b := p.nonce()
	p.take("key", b, long)
	p.keep("key", b, time.Hour)
	look("key", lock.StateKept, b, time.Hour, false)
}

func listTellsAll(p *probe) {
	in := p.backend.(lock.Inspector)
	want := map[string]lock.State{}
	for i := range 120 {
		want[fmt.Sprint("key", i)] = lock.StateHeld
	}
	for i, key := range nastyKeys() {
		want[key] = []lock.State{lock.StateHeld, lock.StateFree, lock.StateKept}[i%3]
	}
	for key, state := range want {
		a := p.nonce()
		p.take(key, a, long)
		switch state {
		case lock.StateFree:
			p.give(key, a)
		case lock.StateKept:
			p.keep(key, a, long)
		}
	}
	got := map[string]lock.State{}
	for info, err := range in.List(p.ctx()) {
		p.must(err, "list")
		got[info.Key] = info.State
		if info.Remaining <= 0 {
			p.Fatalf("list says %v remaining for a key that is %s", info.Remaining, info.State)
		}
	}
	for key, state := range want {
		if got[key] != state {
			p.Errorf("list says that the key %.40q is %q, want %s", key, got[key], state)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			p.Errorf("list tells the key %.40q, which nobody took", key)
		}
	}
	for _, err := range in.List(p.ctx()) {
		p.must(err, "list")
		break // leaving early must leave nothing behind
	}
}
