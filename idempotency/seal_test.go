package idempotency_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// secret returns a key for tests.
func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func oneKey(id string, b byte) idempotency.Encryption {
	return idempotency.Encryption{Current: id, Keys: idempotency.Keyring{id: secret(b)}}
}

// completed returns a key and its record, without body.
func completed() (idempotency.Digest, idempotency.Record) {
	return idempotency.Digest{1, 2, 3}, idempotency.Record{
		Nonce:       idempotency.Nonce{4},
		Fence:       1764441000123456,
		Attempt:     2,
		Fingerprint: idempotency.Fingerprint{5},
		ClaimedAt:   time.UnixMilli(1764441000123),
		CompletedAt: time.UnixMilli(1764441002007),
		Label:       []byte("invoice in_123"),
	}
}

func TestSealRoundTrip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`{"sku":"a","quantity":1},`, 400)
	results := []idempotency.Result{
		{},
		result(idempotency.KindValue, "json", `{"a":1}`),
		result(idempotency.KindValue, "", "x"),
		result(idempotency.KindValue, "json", long),
		result(idempotency.KindError, "", "card declined"),
		result(idempotency.KindError, "", ""),
		result(idempotency.KindTombstone, "", ""),
		result(idempotency.KindTombstone, "http", "201"),
		result(idempotency.KindValue, strings.Repeat("\x00", 255), strings.Repeat("\xff", 127)),
		result(idempotency.KindValue, "b", strings.Repeat("\x00", 128)),
	}
	for name, s := range map[string]idempotency.Sealer{
		"plain":                newSealer(t, idempotency.Compression{}, idempotency.Encryption{}),
		"compressed":           newSealer(t, idempotency.Compression{Above: 1}, idempotency.Encryption{}),
		"encrypted":            newSealer(t, idempotency.Compression{}, oneKey("k", 1)),
		"compressed encrypted": newSealer(t, idempotency.Compression{Above: 1}, oneKey(strings.Repeat("k", 16), 1)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, r := completed()
			var wg sync.WaitGroup
			for _, res := range results {
				wg.Go(func() {
					r := r
					var err error
					if r.Body, err = s.Seal(key, r, res); err != nil {
						t.Error(err)
						return
					}
					if got, err := s.Open(key, r); err != nil || got.Kind != res.Kind || got.Codec != res.Codec || !bytes.Equal(got.Data, res.Data) {
						t.Errorf("%v became %v, %v", res, got, err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestSealBound: an encrypted result opens in the record it was sealed in, and
// in no other.
func TestSealBound(t *testing.T) {
	t.Parallel()
	s := newSealer(t, idempotency.Compression{}, oneKey("k", 1))
	key, record := completed()
	want := result(idempotency.KindValue, "json", `"paid"`)
	var err error
	record.Body, err = s.Seal(key, record, want)
	require.NoError(t, err)

	for name, change := range map[string]func(*idempotency.Digest, *idempotency.Record){
		"key":               func(d *idempotency.Digest, _ *idempotency.Record) { d[31] ^= 1 },
		"nonce":             func(_ *idempotency.Digest, r *idempotency.Record) { r.Nonce[15] ^= 1 },
		"fence":             func(_ *idempotency.Digest, r *idempotency.Record) { r.Fence++ },
		"no fence":          func(_ *idempotency.Digest, r *idempotency.Record) { r.Fence = 0 },
		"attempt":           func(_ *idempotency.Digest, r *idempotency.Record) { r.Attempt++ },
		"fingerprint":       func(_ *idempotency.Digest, r *idempotency.Record) { r.Fingerprint[0] ^= 1 },
		"no fingerprint":    func(_ *idempotency.Digest, r *idempotency.Record) { r.Fingerprint = idempotency.Fingerprint{} },
		"claimed later":     func(_ *idempotency.Digest, r *idempotency.Record) { r.ClaimedAt = r.ClaimedAt.Add(time.Millisecond) },
		"completed earlier": func(_ *idempotency.Digest, r *idempotency.Record) { r.CompletedAt = r.CompletedAt.Add(-1) },
		"times exchanged": func(_ *idempotency.Digest, r *idempotency.Record) {
			r.ClaimedAt, r.CompletedAt = r.CompletedAt, r.ClaimedAt
		},
	} {
		d, r := key, record
		change(&d, &r)
		_, err := s.Open(d, r)
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable, name)
	}
	for name, change := range map[string]func(*idempotency.Record){
		"zone":            func(r *idempotency.Record) { r.ClaimedAt = r.ClaimedAt.UTC() },
		"less than a ms":  func(r *idempotency.Record) { r.CompletedAt = r.CompletedAt.Add(time.Millisecond - 1) },
		"label":           func(r *idempotency.Record) { r.Label = nil },
		"nothing changed": func(*idempotency.Record) {},
	} {
		r := record
		change(&r)
		got, err := s.Open(key, r)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

// TestSealNoFence: a record that is put in place of a run gets its fence from
// the store, after it was sealed. Everything else is bound all the same, and no
// other record can claim to be such a one.
func TestSealNoFence(t *testing.T) {
	t.Parallel()
	s := newSealer(t, idempotency.Compression{}, oneKey("k", 1))
	key, record := completed()
	record.Fence = 0
	body, err := s.Seal(key, record, idempotency.Result{})
	require.NoError(t, err)
	for _, fence := range []uint64{0, 1, 1 << 60} {
		r := record
		r.Body, r.Fence = body, fence
		_, err = s.Open(key, r)
		require.NoError(t, err)
	}
	r := record
	r.Body, r.Attempt = body, 9
	_, err = s.Open(key, r)
	require.ErrorIs(t, err, idempotency.ErrResultUnavailable)

	record.Fence = 7
	bound, err := s.Seal(key, record, idempotency.Result{})
	require.NoError(t, err)
	require.Equal(t, byte(0x20), bound[1])
	bound[1] |= 0x40
	record.Body = bound
	_, err = s.Open(key, record)
	require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
}

// TestSealTamper: no cut, no flipped bit and no other body passes the seal.
func TestSealTamper(t *testing.T) {
	t.Parallel()
	encryption := oneKey("k", 1)
	encryption.AllowPlain = true // so that the flag alone does not decide
	strict := newSealer(t, idempotency.Compression{Above: 64}, oneKey("k", 1))
	lenient := newSealer(t, idempotency.Compression{}, encryption)
	key, r := completed()
	for _, res := range []idempotency.Result{
		{},
		result(idempotency.KindValue, "json", `"paid"`),
		result(idempotency.KindValue, "json", strings.Repeat("a", 200)),
	} {
		body, err := strict.Seal(key, r, res)
		require.NoError(t, err)
		for n := range body {
			r.Body = body[:n]
			_, err := strict.Open(key, r)
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "%d bytes", n)
		}
		r.Body = append(bytes.Clone(body), 0)
		_, err = strict.Open(key, r)
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "one byte more")
		eachFlip(body, func(bit int, flipped []byte) {
			r.Body = flipped
			_, err := strict.Open(key, r)
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "bit %d", bit)
			_, err = lenient.Open(key, r)
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "bit %d", bit)
		})
	}
}

func TestSealSecret(t *testing.T) {
	t.Parallel()
	s := newSealer(t, idempotency.Compression{}, oneKey("k", 1))
	key, r := completed()
	res := result(idempotency.KindError, "codecname", "the card was declined")
	a, err := s.Seal(key, r, res)
	require.NoError(t, err)
	b, err := s.Seal(key, r, res)
	require.NoError(t, err)
	require.NotEqual(t, a, b, "two seals with one nonce")
	require.NotContains(t, string(a), "card")
	require.NotContains(t, string(a), "codec")
	require.NotEqual(t, a[4:16], b[4:16])
}

func TestSealRotation(t *testing.T) {
	t.Parallel()
	key, r := completed()
	old := newSealer(t, idempotency.Compression{}, oneKey("old", 1))
	both := idempotency.Keyring{"old": secret(1), "new": secret(2)}
	learned := newSealer(t, idempotency.Compression{}, idempotency.Encryption{Current: "old", Keys: both})
	changed := newSealer(t, idempotency.Compression{}, idempotency.Encryption{Current: "new", Keys: both})
	retired := newSealer(t, idempotency.Compression{}, oneKey("new", 2))
	impostor := newSealer(t, idempotency.Compression{}, oneKey("new", 3))
	sealers := map[string]idempotency.Sealer{"old": old, "learned": learned, "changed": changed, "retired": retired, "impostor": impostor}

	for writer, readers := range map[string][]string{
		"old":     {"old", "learned", "changed"},
		"learned": {"old", "learned", "changed"},
		"changed": {"learned", "changed", "retired"},
	} {
		var err error
		r.Body, err = sealers[writer].Seal(key, r, result(idempotency.KindValue, "", "x"))
		require.NoError(t, err)
		for _, reader := range slices.Sorted(maps.Keys(sealers)) {
			_, err := sealers[reader].Open(key, r)
			if slices.Contains(readers, reader) {
				require.NoError(t, err, "%s by %s", writer, reader)
			} else {
				require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "%s by %s", writer, reader)
			}
		}
	}
}

// TestSealPlain: where results are encrypted, one that is not was put there by
// somebody else, unless the owner says that there are such.
func TestSealPlain(t *testing.T) {
	t.Parallel()
	key, r := completed()
	plain := newSealer(t, idempotency.Compression{}, idempotency.Encryption{})
	strict := newSealer(t, idempotency.Compression{}, oneKey("k", 1))
	migration := oneKey("k", 1)
	migration.AllowPlain = true
	migrating := newSealer(t, idempotency.Compression{}, migration)
	migration.Current = ""
	leaving := newSealer(t, idempotency.Compression{}, migration)

	want := result(idempotency.KindValue, "", "x")
	r.Body, _ = plain.Seal(key, r, want)
	_, err := strict.Open(key, r)
	require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
	require.ErrorContains(t, err, "AllowPlain")
	got, err := migrating.Open(key, r)
	require.NoError(t, err)
	require.Equal(t, want, got)

	left, err := leaving.Seal(key, r, want)
	require.NoError(t, err)
	require.Equal(t, r.Body, left)
	r.Body, _ = migrating.Seal(key, r, want)
	for _, s := range []idempotency.Sealer{strict, migrating, leaving} {
		got, err = s.Open(key, r)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = plain.Open(key, r)
	require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
}

// TestSealOwnMemory: a store may give the same body to many.
func TestSealOwnMemory(t *testing.T) {
	t.Parallel()
	for _, e := range []idempotency.Encryption{{}, oneKey("k", 1)} {
		s := newSealer(t, idempotency.Compression{}, e)
		key, r := completed()
		var err error
		r.Body, err = s.Seal(key, r, result(idempotency.KindValue, "", "paid"))
		require.NoError(t, err)
		res, err := s.Open(key, r)
		require.NoError(t, err)
		res.Data[0] = 'x'
		res, err = s.Open(key, r)
		require.NoError(t, err)
		require.Equal(t, "paid", string(res.Data))
	}
}

func BenchmarkSeal(b *testing.B) {
	key, r := completed()
	res := result(idempotency.KindValue, "json", strings.Repeat("a", 1024))
	for name, e := range map[string]idempotency.Encryption{"plain": {}, "encrypted": oneKey("k", 1)} {
		s := newSealer(b, idempotency.Compression{}, e)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, err := s.Seal(key, r, res)
				if err != nil {
					b.Fatal(err)
				}
				r.Body = body
				if _, err := s.Open(key, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
