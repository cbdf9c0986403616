package idempotencytest

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/observe"
)

func guardReplayLaws() []law {
	return []law{{
		name: "GuardReplayEquals",
		why:  "a duplicate must not be able to tell that it was not the first: the same bytes, the same times, the same fence",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			for name, body := range bodies(min(p.features.MaxBody/2, 64<<10)) {
				want := idempotency.Result{Codec: "codec \x00\xff", Data: body}
				first, err := g.Run(p.ctx(), named(name), idempotency.RunOptions{}, func(context.Context) (idempotency.Result, error) {
					return want, nil
				})
				p.must(err, "a run that succeeds")
				for _, other := range []*idempotency.Guard{g, p.guard(idempotency.Options{})} {
					out, err := p.duplicate(other, name, idempotency.RunOptions{})
					p.must(err, "a duplicate of a run that succeeded")
					p.replayed(out, want)
					if out.Fence != first.Fence || out.Attempt != first.Attempt ||
						!out.ClaimedAt.Equal(first.ClaimedAt) || !out.CompletedAt.Equal(first.CompletedAt) {
						p.Fatalf("a replay has %d, %d, %v, %v; the run had %d, %d, %v, %v",
							out.Fence, out.Attempt, out.ClaimedAt, out.CompletedAt,
							first.Fence, first.Attempt, first.ClaimedAt, first.CompletedAt)
					}
				}
			}
		},
	}, {
		name: "GuardValuesSurvive",
		why:  "a value comes back as it was: large numbers whole, and zero as zero",
		test: func(p *probe) {
			type receipt struct {
				Number, Zero int64
				Text         string
				At           time.Time
				Lines        []string
				Nothing      *int
			}
			want := receipt{Number: math.MaxInt64 - 1, Text: "\x00 \u2028 <&>", At: time.UnixMilli(1_700_000_000_123).UTC(), Lines: []string{"", "a"}}
			g, calls := p.guard(idempotency.Options{}), 0
			for range 3 {
				got, err := idempotency.Do(p.ctx(), g, named("key"), func(context.Context) (receipt, error) {
					calls++
					return want, nil
				})
				p.must(err, "Do")
				if !reflect.DeepEqual(got, want) {
					p.Fatalf("a value came back as %+v, want %+v", got, want)
				}
			}
			if calls != 1 {
				p.Fatalf("Do called its function %d times, want 1", calls)
			}
		},
	}, {
		name: "GuardOversizedIsTombstone",
		why:  "a result that is too large to keep costs its replay, never the first caller its answer, and never a second run",
		test: func(p *probe) {
			d := &diary{}
			g := p.guard(idempotency.Options{MaxResult: 1000, Observer: d})
			p.executes(g, "fits", strings.Repeat("x", 1000))
			p.replays(g, "fits", strings.Repeat("x", 1000))
			first := p.executes(g, "large", strings.Repeat("x", 1001))
			p.tells(d, observe.ResultDropped)
			out, err := p.duplicate(p.guard(idempotency.Options{}), "large", idempotency.RunOptions{})
			p.fails(err, idempotency.ErrResultUnavailable, "a duplicate whose result was not kept")
			if !out.CompletedAt.Equal(first.CompletedAt) || len(out.Result.Data) > 0 {
				p.Fatalf("a duplicate whose result was not kept got %d bytes, completed at %v; want none, and %v",
					len(out.Result.Data), out.CompletedAt, first.CompletedAt)
			}
			none := p.guard(idempotency.Options{MaxResult: idempotency.NoResults})
			p.executes(none, "none", "x")
			p.duplicateFails(none, "none", idempotency.ErrResultUnavailable)
		},
	}, {
		name: "GuardUnreadableIsNotRunAgain",
		why:  "a completed key whose record cannot be read has taken effect: running it because nobody knows the result makes it happen twice",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			p.run(p.digest("noise"), "\xff\xfe, which no version of a body begins with")
			p.duplicateFails(g, "noise", idempotency.ErrResultUnavailable)
			p.duplicateFails(g, "noise", idempotency.ErrResultUnavailable)

			p.executes(g, "other codec", "1")
			called := false
			_, err := idempotency.Do(p.ctx(), g, named("other codec"), func(context.Context) (int, error) {
				called = true
				return 2, nil
			})
			p.fails(err, idempotency.ErrResultUnavailable, "a duplicate that reads with another codec")
			if called {
				p.Fatal("a duplicate that reads with another codec was run")
			}
		},
	}, {
		name: "GuardMovedRecordIsRefused",
		why:  "an encrypted record that somebody moved to another key, or changed, must not be replayed as that key's result",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Encryption: idempotency.Encryption{
				Current: "k1", Keys: map[string][]byte{"k1": bytes.Repeat([]byte{7}, 32)},
			}})
			p.executes(g, "theirs", "their result")
			p.replays(g, "theirs", "their result")
			r := p.finds(p.digest("theirs"), idempotency.StateCompleted).Record
			if bytes.Contains(r.Body, []byte("result")) {
				p.Fatal("the store has a result in the clear that was to be encrypted")
			}
			_, err := p.complete(p.digest("mine"), r)
			p.must(err, "complete of an absent key")
			p.duplicateFails(g, "mine", idempotency.ErrResultUnavailable)
			changed := r
			changed.Fence++
			theirs := p.digest("changed")
			_, err = p.complete(theirs, changed)
			p.must(err, "complete of an absent key")
			p.duplicateFails(g, "changed", idempotency.ErrResultUnavailable)
		},
	}, {
		name: "GuardScopesNeverMeet",
		why:  "two tenants, or two kinds of things, may use the same ids: neither may get the other's result",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			keys := []idempotency.Key{
				{Scope: "ab", ID: "c"}, {Scope: "a", ID: "bc"}, {Scope: "c", ID: "ab"}, {Scope: "a", ID: "c"}, {Scope: "c", ID: "a"},
				{Scope: idempotency.Scope("a", "b"), ID: "c"}, {Scope: idempotency.Scope("ab"), ID: "c"},
				{Scope: idempotency.Scope("a"), ID: "bc"},
			}
			for round := range 2 {
				for _, key := range keys {
					want := key.Scope + "\x00" + key.ID
					out, err := g.Run(p.ctx(), key, idempotency.RunOptions{}, returns(want, nil))
					p.must(err, "a run")
					if string(out.Result.Data) != want || (out.Status == idempotency.Executed) != (round == 0) {
						p.Fatalf("the key %q was %s with %q", key, out.Status, out.Result.Data)
					}
				}
			}
		},
	}, {
		name: "GuardCacheIsChecked",
		why:  "a replay from memory is held to the same rules: it equals the record, another content is a mismatch, and it saves the round trip",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{Cache: idempotency.LocalCache{Bytes: 1 << 20, TTL: time.Minute}})
			ro := idempotency.RunOptions{Fingerprint: p.print(1)}
			_, err := g.Run(p.ctx(), named("key"), ro, returns("done", nil))
			p.must(err, "a run that succeeds")
			asked := f.seen(beginning)
			f.cut()
			for range 3 {
				out, err := p.duplicate(g, "key", ro)
				p.must(err, "a duplicate that the cache knows")
				p.replayed(out, value("done"))
			}
			_, err = p.duplicate(g, "key", idempotency.RunOptions{Fingerprint: p.print(2)})
			p.fails(err, idempotency.ErrMismatch, "another content that the cache knows")
			if n := f.seen(beginning) - asked; n != 0 {
				p.Fatalf("duplicates that the cache knows asked the store %d times", n)
			}
			_, err = p.duplicate(g, "unknown to the cache", ro)
			p.unavailable(err)
			if errors.Is(err, idempotency.ErrMismatch) {
				p.Fatal("a key that the cache does not know is a mismatch")
			}
		},
	}}
}
