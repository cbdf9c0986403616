package idempotencytest

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func recordLaws() []law {
	return []law{{
		name: "RecordIsByteEqual",
		why:  "a replay equals the original: every byte of a body comes back, whatever it is and however many there are",
		test: func(p *probe) {
			for name, body := range bodies(p.features.MaxBody) {
				key, a := p.key(name), p.nonce()
				r := p.record(a, p.claim(key, a, long), "")
				r.Body, r.Label = body, nil
				p.finish(key, r)
				p.holds(key, r)
			}
		},
	}, {
		name: "LabelIsByteEqual",
		why:  "the label is opaque: a store that takes it for text spoils it, or lets it run into the body",
		test: func(p *probe) {
			for name, label := range bodies(8 << 10) {
				for _, body := range [][]byte{nil, {0}, []byte("body")} {
					key, a := p.key(name, len(body)), p.nonce()
					b, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{Key: key, Nonce: a, Lease: long, Label: label})
					p.must(err, "begin with a label")
					r := p.record(a, b, "")
					r.Body, r.Label = body, label
					p.finish(key, r)
					p.holds(key, r)
				}
			}
		},
	}, {
		name: "RecordIsWhole",
		why:  "who replays a record needs all of it: its fence orders it, its fingerprint is compared, its times are told, and a sealed body opens only with all of them as they were",
		test: func(p *probe) {
			// Odd digits at the end, which a conversion to floating point or a
			// short format would lose.
			for i, fence := range []uint64{1, 1<<31 + 1, 1<<32 + 1, 1<<51 + 12345, 1<<52 - 1} {
				for j, attempt := range []uint32{1, 255, 256, 1<<31 + 1, 1<<32 - 1} {
					key, a := p.key(i, "-", j), p.nonce()
					p.claim(key, a, long)
					r := p.record(a, idempotency.Begun{Fence: fence, Attempt: attempt}, "body")
					r.Fingerprint = p.print(byte(i*16 + j))
					r.ClaimedAt = time.UnixMilli(1_600_000_000_001 + int64(i))
					r.CompletedAt = time.Date(2105+j, 1, 2, 3, 4, 5, 999e6, time.UTC)
					p.finish(key, r)
					p.holds(key, r)
				}
			}
		},
	}, {
		name: "ZeroFingerprintIsZero",
		why:  "a run that gave no fingerprint has none: one made up later makes every duplicate a mismatch",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			r := p.record(a, p.claim(key, a, long), "")
			r.Fingerprint, r.Body, r.Label = idempotency.Fingerprint{}, nil, nil
			p.finish(key, r)
			p.holds(key, r)
		},
	}, {
		name: "RecordIsNobodysElse",
		why:  "callers use their buffers again, and handlers change what they are given: neither may change what the next duplicate gets",
		test: recordIsNobodysElse,
	}}
}

// bodies returns bodies up to n bytes that stores could stumble over: those
// that stop at a NUL, cut, trim, take bytes for text or a length for 16 bits.
func bodies(n int) map[string][]byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	// Always the same bytes, so that a failure is found again.
	random := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{'s', 'e', 'm', 'e', 'l'}).Read(random)
	all := map[string][]byte{
		"empty": {}, "a NUL": {0}, "NULs": make([]byte, 1000), "NUL first": []byte("\x00body"), "NUL last": []byte("body\x00"),
		"every byte": every, "not UTF-8": []byte("a\xff\xfe\xc3\x28"), "space": []byte(" \t\n body \r\n"),
		"a colon": []byte(":1:2|3,4;5"), "quotes": []byte(`"'\"`), "JSON": []byte(`{"a":null}`), "nil": []byte("nil"),
		"a digit": []byte("7"), "percent": []byte("%s%d%%"), "random": random,
		"text": []byte(strings.Repeat("semel ", n/6)),
	}
	for _, size := range []int{1, 2, 3, 127, 128, 255, 256, 257, 4095, 4096, 1<<16 - 1, 1 << 16, 1<<16 + 1, n} {
		if size <= n {
			all["x"+time.Duration(size).String()] = bytes.Repeat([]byte{'x'}, size)
		}
	}
	for name, body := range all {
		all[name] = body[:min(len(body), n)]
	}
	return all
}

func recordIsNobodysElse(p *probe) {
	scribble := func(all ...[]byte) {
		for _, b := range all {
			for i := range b {
				b[i] = '#'
			}
		}
	}
	key, a := p.key(), p.nonce()
	label := []byte("label")
	begun, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{Key: key, Nonce: a, Lease: long, Label: label})
	p.must(err, "begin of a key that nobody owns")
	scribble(label)
	want := p.record(a, begun, "the body of the record")
	given := want
	given.Body, given.Label = bytes.Clone(want.Body), bytes.Clone(want.Label)
	p.finish(key, given)
	scribble(given.Body, given.Label)
	p.holds(key, want)
	got := p.finds(key, idempotency.StateCompleted).Record
	scribble(got.Body, got.Label)
	p.holds(key, want)
	if in, ok := p.store.(idempotency.Inspector); ok && p.features.Inspect {
		info, err := in.Look(p.ctx(), key)
		p.must(err, "look")
		scribble(info.Record.Body, info.Record.Label)
		for info, err := range in.List(p.ctx(), idempotency.ListOptions{}) {
			p.must(err, "list")
			scribble(info.Record.Body, info.Record.Label)
		}
		p.holds(key, want)
	}
}

func finalityLaws() []law {
	return []law{{
		name: "CompletionIsFinal",
		why:  "a completed record changes only by its retention ending or an operator: no begin, renewal, release or completion touches it, whoever it is from",
		test: completionIsFinal,
	}, {
		name: "ReleaseOfCompletedIsTaken",
		why:  "a release that comes after the completion, be it the own one's late copy or the undoing of a begin, must not free the key: its event would run again",
		test: func(p *probe) {
			key := p.key()
			r := p.run(key, "body")
			for _, n := range []idempotency.Nonce{r.Nonce, p.nonce()} {
				for _, how := range []idempotency.ReleaseRequest{{}, {Compensate: true}, {NotBefore: short}, {Unknown: short}} {
					how.Key, how.Nonce = key, n
					p.fails(p.releaseAs(how), lock.ErrTaken, "release of a completed key")
					p.holds(key, r)
				}
			}
			p.outlast(short)
			p.holds(key, r)
		},
	}, {
		name: "CompleteOfCompletedIsTaken",
		why:  "the first recorded outcome is the outcome: a second one would make two callers see two results",
		test: func(p *probe) {
			key := p.key()
			r := p.run(key, "first")
			other := p.record(p.nonce(), idempotency.Begun{Fence: r.Fence + 1000, Attempt: r.Attempt + 1}, "second")
			_, err := p.complete(key, other)
			p.fails(err, lock.ErrTaken, "complete of a key that another completed")
			p.holds(key, r)
		},
	}}
}

func completionIsFinal(p *probe) {
	key := p.key()
	r := p.run(key, "body")
	strangers := []idempotency.Nonce{r.Nonce, p.nonce(), {}}
	for _, n := range strangers {
		other := p.record(n, idempotency.Begun{Fence: r.Fence + 1<<20, Attempt: 9}, "another body")
		_, _ = p.ask(key, n, idempotency.MinLease)
		_ = p.renew(key, n, idempotency.MinLease)
		_, _ = p.store.Complete(p.ctx(), idempotency.CompleteRequest{
			Key: key, Record: other, Retention: idempotency.MinLease,
		})
		for _, how := range []idempotency.ReleaseRequest{
			{}, {Compensate: true}, {NotBefore: idempotency.MinLease}, {Unknown: idempotency.MinLease},
		} {
			how.Key, how.Nonce, how.TTL = key, n, idempotency.MinLease
			_ = p.store.Release(p.ctx(), how)
		}
		p.holds(key, r)
	}
	_, err := p.ask(key, p.nonce(), idempotency.MinLease)
	p.must(err, "begin by another")
	p.outlast(short)
	p.holds(key, r)
}

// record makes a record for the claim b of nonce.
func (p *probe) record(nonce idempotency.Nonce, b idempotency.Begun, body string) idempotency.Record {
	return idempotency.Record{
		Nonce: nonce, Fence: b.Fence, Attempt: b.Attempt, Fingerprint: p.print(5),
		ClaimedAt: time.UnixMilli(1_700_000_000_123), CompletedAt: time.UnixMilli(1_700_000_000_987),
		Body: []byte(body), Label: []byte("label of " + body),
	}
}

// complete records r for a long retention.
func (p *probe) complete(key idempotency.Digest, r idempotency.Record) (late bool, err error) {
	return p.store.Complete(p.ctx(), idempotency.CompleteRequest{Key: key, Record: r, Retention: long})
}

// finish completes and insists that it was in time.
func (p *probe) finish(key idempotency.Digest, r idempotency.Record) {
	p.Helper()
	late, err := p.complete(key, r)
	p.must(err, "complete by the owner")
	if late {
		p.Fatal("complete by the owner said that it was late, while its claim lived")
	}
}

// run claims a key and completes it.
func (p *probe) run(key idempotency.Digest, body string) idempotency.Record {
	p.Helper()
	a := p.nonce()
	r := p.record(a, p.claim(key, a, long), body)
	p.finish(key, r)
	return r
}

// holds insists that the key is completed with r, whoever asks.
func (p *probe) holds(key idempotency.Digest, r idempotency.Record) {
	p.Helper()
	for range 2 {
		p.same(p.finds(key, idempotency.StateCompleted).Record, r)
	}
}

// same insists that two records are equal.
func (p *probe) same(got, want idempotency.Record) {
	p.Helper()
	differs := func(field string, got, want any) {
		p.Helper()
		p.Fatalf("the record came back with %s %.80v, want %.80v", field, got, want)
	}
	switch {
	case got.Nonce != want.Nonce:
		differs("Nonce", got.Nonce, want.Nonce)
	case got.Fence != want.Fence:
		differs("Fence", got.Fence, want.Fence)
	case got.Attempt != want.Attempt:
		differs("Attempt", got.Attempt, want.Attempt)
	case got.Fingerprint != want.Fingerprint:
		differs("Fingerprint", got.Fingerprint, want.Fingerprint)
	case !got.ClaimedAt.Equal(want.ClaimedAt):
		differs("ClaimedAt", got.ClaimedAt.UTC(), want.ClaimedAt.UTC())
	case !got.CompletedAt.Equal(want.CompletedAt):
		differs("CompletedAt", got.CompletedAt.UTC(), want.CompletedAt.UTC())
	case !bytes.Equal(got.Body, want.Body):
		p.Fatalf("the record came back with another body: %d bytes %.40q, want %d bytes %.40q",
			len(got.Body), got.Body, len(want.Body), want.Body)
	case !bytes.Equal(got.Label, want.Label):
		p.Fatalf("the record came back with the label %.40q, want %.40q", got.Label, want.Label)
	}
}
