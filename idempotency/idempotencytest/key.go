package idempotencytest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/semel-go/semel/idempotency"
)

func keyLaws() []law {
	return []law{{
		name: "KeysAreTheirBytes",
		why:  "keys that differ in one bit are two keys, whichever bit: one that stands for another answers an event with another's result",
		test: keysAreTheirBytes,
	}, {
		name: "ScopesNeverMeet",
		why:  "parts of a key are length-delimited: two scopes that run into their ids must not share a record, or one tenant is answered with another's",
		test: scopesNeverMeet,
	}}
}

// nastyDigests returns digests that are told apart byte by byte, and are not by
// stores that stop at a NUL, cut, fold case or take them for text.
func nastyDigests() []idempotency.Digest {
	fill := func(b string) (d idempotency.Digest) {
		copy(d[:], strings.Repeat(b, len(d)/len(b)))
		return d
	}
	all := []idempotency.Digest{
		{}, fill("\xff"), fill("a"), fill("A"), fill("\n"), fill(" "), fill("{"), fill("}"), fill("{}"), fill("*"), fill("?"),
		fill("["), fill("\\"), fill("%"), fill("'"), fill("\""), fill("\x00a"), fill("a\x00"), fill("\xc3\x28"), fill("_-"), fill("+/"),
	}
	base := fill("a\x00Z\xff")
	for i := range base {
		for bit := range 8 {
			d := base
			d[i] ^= 1 << bit
			all = append(all, d)
		}
	}
	return append(all, base)
}

func keysAreTheirBytes(p *probe) {
	keys := nastyDigests()
	records := make([]idempotency.Record, len(keys))
	for i, key := range keys {
		a := p.nonce()
		b, err := p.ask(key, a, long)
		if err != nil || b.State != idempotency.StateClaimed {
			p.Fatalf("begin of the key %x says %s, %v", key, b.State, err)
		}
		records[i] = p.record(a, b, fmt.Sprint("body ", i))
	}
	for i, key := range keys {
		p.owns(key, records[i].Nonce)
		p.must(p.renew(key, records[i].Nonce, long), "renew by the owner")
		p.finish(key, records[i])
		if i+1 < len(keys) {
			p.owns(keys[i+1], records[i+1].Nonce)
		}
	}
	for i, key := range keys {
		p.holds(key, records[i])
	}
}

func scopesNeverMeet(p *probe) {
	keys := []idempotency.Key{
		{Scope: "ab", ID: "c"}, {Scope: "a", ID: "bc"}, {Scope: "abc", ID: "\x00"}, {Scope: "abc\x00", ID: "\x00"},
		{Scope: "a", ID: "a"}, {Scope: "A", ID: "a"}, {Scope: "a", ID: "A"}, {Scope: "a ", ID: "a"}, {Scope: "a", ID: " a"},
		{Scope: "a:b", ID: "c"}, {Scope: "a", ID: "b:c"}, {Scope: "a\x00b", ID: "c"}, {Scope: "a", ID: "\x00bc"},
		{Scope: idempotency.Scope("a", "b"), ID: "c"}, {Scope: idempotency.Scope("ab"), ID: "c"},
		{Scope: idempotency.Scope("", "ab"), ID: "c"}, {Scope: idempotency.Scope("ab", ""), ID: "c"},
		{Scope: idempotency.Scope("a", "", "b"), ID: "c"}, {Scope: "\xff", ID: "\xfe"}, {Scope: "\xfe", ID: "\xff"},
	}
	records := make([]idempotency.Record, len(keys))
	for i, key := range keys {
		d, err := key.Digest()
		p.must(err, "digest of a key")
		if !bytes.HasPrefix(d[:], idempotency.ScopeDigest(key.Scope)) {
			p.Fatalf("the digest of the key %q does not begin with that of its scope", key)
		}
		records[i] = p.run(d, fmt.Sprintf("%q", key))
	}
	for i, key := range keys {
		d, err := key.Digest()
		p.must(err, "digest of a key")
		p.holds(d, records[i])
	}
	for _, key := range []idempotency.Key{{}, {Scope: "a"}, {ID: "a"}} {
		if d, err := key.Digest(); err == nil {
			p.Fatalf("the key %q, which is not whole, has the digest %s: all that forgot to fill it in would share it", key, d)
		}
	}
}
