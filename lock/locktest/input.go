package locktest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/semel-go/semel/lock"
)

// nastyKeys returns keys that are told apart byte by byte, and are not by
// stores that stop at a NUL, cut, fold case, normalise, escape once too little
// or once too much, or take a part of the key for something else.
func nastyKeys() []string {
	return []string{
		"a", "A", "ab", "a b", " a", "a ", "a\x00", "a\x00b", "\x00", "\x00a",
		"\n", "a\n", "a\r\nb", "\t", "\"a\"", "'a'", "`a`", "\\", "a\\", "a\\x00", `a\n`,
		"{}", "{a}", "{a}b", "{a}c", "a{b}", "}{", "{", "{{a}}",
		"*", "a*", "?", "a?", "[a]", "[^a]", "a[b-c]", "%", "a%", "_", "%00", "a%00",
		":", "a:", "a:b", "/", "a/b", "a//b", "..", ".", "#", "$1", "${a}", "a;b", "--", "a'; DROP TABLE a",
		"\xff", "\xfe", "\ufffd", "\xff\xfe", "a\xc3\x28", "\xed\xa0\x80",
		"\u00e9", "e\u0301", "\u00df", "ss", "\u0131", "i", "\u0130", "K", "\u212a",
		"\u200b", "a\u200b", "\u202e", "\u4e16\u754c",
		strings.Repeat("k", 255), strings.Repeat("k", 256), strings.Repeat("k", 257),
		strings.Repeat("k", 64<<10-1), strings.Repeat("k", 64<<10),
		strings.Repeat("k", 64<<10-1) + "\x00", strings.Repeat("\x00", 64<<10),
	}
}

func inputLaws() []law {
	return []law{{
		name: "KeysAreTheirBytes",
		why:  "keys that differ in one byte are two keys, whatever the byte: one that stands for another locks a stranger out, or lets it in",
		test: func(p *probe) {
			keys := nastyKeys()
			owners := make([]string, len(keys))
			for i, key := range keys {
				owners[i] = p.nonce()
				if _, err := p.acquire(key, owners[i], long); err != nil {
					p.Fatalf("acquire of the key %.40q (%d bytes) returned %v", key, len(key), err)
				}
			}
			for i, key := range keys {
				p.owns(key, owners[i])
				p.give(key, owners[i])
				if i+1 < len(keys) {
					p.owns(keys[i+1], owners[i+1])
				}
			}
		},
	}, {
		name: "EmptyKeyIsInvalid",
		why:  "a key that somebody forgot to fill in must not become one lock that all share",
		test: func(p *probe) {
			p.badRequest(lock.Request{Nonce: p.nonce(), TTL: long, Block: 1}, "Key")
		},
	}, {
		name: "EmptyNonceIsInvalid",
		why:  "without a nonce nobody's claim can be told from another's",
		test: func(p *probe) {
			p.badRequest(lock.Request{Key: "key", TTL: long, Block: 1}, "Nonce")
		},
	}, {
		name: "TTLOutOfRangeIsInvalid",
		why:  "a TTL that is forgotten, negative or rounded to 0 either never ends or ends at once, and one of a year is a mistake",
		test: func(p *probe) {
			for _, ttl := range []time.Duration{
				0, -1, -time.Hour, 1, time.Microsecond, 999 * time.Microsecond,
				p.features.MinTTL - 1, lock.MaxTTL + 1, 1<<63 - 1,
			} {
				p.badRequest(lock.Request{Key: "key", Nonce: p.nonce(), TTL: ttl, Block: 1}, "TTL")
			}
			for _, ttl := range []time.Duration{p.features.MinTTL, lock.MaxTTL} {
				a := p.nonce()
				p.take("key", a, ttl)
				_ = p.release("key", a)
			}
		},
	}, {
		name: "BlockZeroIsInvalid",
		why:  "a grant without a fence cannot be fenced",
		test: func(p *probe) {
			_, err := p.backend.Acquire(p.ctx(), lock.Request{Key: "key", Nonce: p.nonce(), TTL: long})
			p.fails(err, lock.ErrInvalid, "acquire with Block 0")
			p.take("key", p.nonce(), long)
		},
	}, {
		name: "DeadContextLeavesNothing",
		why:  "a caller that has gone must not hold a key, nor be told that another does or that its lease is lost when nobody looked",
		test: deadContextLeavesNothing,
	}}
}

// badRequest insists that req is refused by all methods with an error that
// names the field, and that nothing is stored.
func (p *probe) badRequest(req lock.Request, field string) {
	p.Helper()
	insist := func(err error, method string) {
		p.Helper()
		p.fails(err, lock.ErrInvalid, method)
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(field)) {
			p.Fatalf("%s returned %q, which does not name %s", method, err, field)
		}
	}
	_, err := p.backend.Acquire(p.ctx(), req)
	insist(err, "acquire with a bad "+field)
	_, err = p.backend.Extend(p.ctx(), req)
	insist(err, "extend with a bad "+field)
	for _, compensate := range []bool{false, true} {
		err = p.backend.Release(p.ctx(), lock.ReleaseRequest{
			Key: req.Key, Nonce: req.Nonce, TTL: req.TTL, Compensate: compensate,
		})
		insist(err, "release with a bad "+field)
	}
	if in, ok := p.backend.(lock.Inspector); ok {
		for info, err := range in.List(p.ctx()) {
			p.must(err, "list")
			p.Fatalf("a refused request left a key in the state %s", info.State)
		}
	}
	if req.Key != "" && req.Nonce != "" {
		a := p.nonce()
		p.take(req.Key, a, p.features.MinTTL)
		p.outlast(p.features.MinTTL)
	}
}

func deadContextLeavesNothing(p *probe) {
	dead, cancel := context.WithCancel(p.Context())
	cancel()
	for range 20 {
		a := p.nonce()
		_, err := p.backend.Acquire(dead, lock.Request{Key: "key", Nonce: a, TTL: long, Block: 1})
		if errors.Is(err, lock.ErrNotAcquired) || errors.Is(err, lock.ErrSpent) {
			p.Fatalf("acquire of a free key under a context that had ended returned %v", err)
		}
		p.must(p.compensate("key", a), "compensation after an acquire under a context that had ended")
		_, err = p.acquire("key", a, long)
		p.fails(err, lock.ErrSpent, "a copy of the acquire after it was undone")

		b := p.nonce()
		p.take("key", b, long)
		if _, err = p.backend.Extend(dead, lock.Request{Key: "key", Nonce: b, TTL: long}); errors.Is(err, lock.ErrLost) {
			p.Fatalf("the owner's extend under a context that had ended returned %v", err)
		}
		err = p.backend.Release(dead, lock.ReleaseRequest{Key: "key", Nonce: b, TTL: long})
		if errors.Is(err, lock.ErrLost) {
			p.Fatalf("the owner's release under a context that had ended returned %v", err)
		}
		p.give("key", b)
	}
}
