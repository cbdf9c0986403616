package idempotency_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// bodies is testdata/bodies.json.
type bodies struct {
	Keys   map[string]string
	Record struct {
		Digest, Nonce, Fingerprint string
		Fence                      uint64
		Attempt                    uint32
		ClaimedAt                  int64 `json:"claimed_at_ms"`
		CompletedAt                int64 `json:"completed_at_ms"`
	}
	Bodies []struct {
		Name  string
		Kind  idempotency.Kind
		Codec string
		Data  string
		Body  string
		Exact bool
		Key   string
	}
}

func readBodies(t testing.TB) bodies {
	t.Helper()
	text, err := os.ReadFile("testdata/bodies.json")
	require.NoError(t, err)
	var b bodies
	require.NoError(t, json.Unmarshal(text, &b))
	return b
}

func (b bodies) record(t testing.TB) (idempotency.Digest, idempotency.Record) {
	t.Helper()
	return idempotency.Digest(unhex(t, b.Record.Digest)), idempotency.Record{
		Nonce:       idempotency.Nonce(unhex(t, b.Record.Nonce)),
		Fence:       b.Record.Fence,
		Attempt:     b.Record.Attempt,
		Fingerprint: idempotency.Fingerprint(unhex(t, b.Record.Fingerprint)),
		ClaimedAt:   time.UnixMilli(b.Record.ClaimedAt),
		CompletedAt: time.UnixMilli(b.Record.CompletedAt),
	}
}

func (b bodies) encryption(t testing.TB) idempotency.Encryption {
	t.Helper()
	keys := idempotency.Keyring{}
	for id, secret := range b.Keys {
		keys[id] = unhex(t, secret)
	}
	return idempotency.Encryption{Current: "2025-11", Keys: keys}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// result returns a Result as open does: without data rather than with none.
func result(kind idempotency.Kind, codec, data string) idempotency.Result {
	res := idempotency.Result{Kind: kind, Codec: codec}
	if data != "" {
		res.Data = []byte(data)
	}
	return res
}

func newSealer(t testing.TB, c idempotency.Compression, e idempotency.Encryption) idempotency.Sealer {
	t.Helper()
	s, err := idempotency.NewSealer(c, e)
	require.NoError(t, err)
	return s
}

// TestBodyVectors holds the format to bodies that were written down apart from
// the code: it is read by later versions, for as long as records are retained.
func TestBodyVectors(t *testing.T) {
	t.Parallel()
	vectors := readBodies(t)
	key, record := vectors.record(t)
	plain := newSealer(t, idempotency.Compression{}, idempotency.Encryption{})
	encrypted := newSealer(t, idempotency.Compression{}, vectors.encryption(t))
	require.NotEmpty(t, vectors.Bodies)
	for _, v := range vectors.Bodies {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			want := result(v.Kind, v.Codec, v.Data)
			r := record
			r.Body = unhex(t, v.Body)
			s := plain
			if v.Key != "" {
				s = encrypted
			}
			got, err := s.Open(key, r)
			require.NoError(t, err)
			require.Equal(t, want, got)
			if v.Exact {
				body, err := s.Seal(key, record, want)
				require.NoError(t, err)
				require.Equal(t, r.Body, body)
			}
		})
	}
}

// TestBodySize: most webhooks answer with nothing, and most records are theirs.
func TestBodySize(t *testing.T) {
	t.Parallel()
	vectors := readBodies(t)
	key, record := vectors.record(t)
	body, err := newSealer(t, idempotency.Compression{}, idempotency.Encryption{}).Seal(key, record, idempotency.Result{})
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), 4)

	body, err = newSealer(t, idempotency.Compression{}, vectors.encryption(t)).Seal(key, record, idempotency.Result{})
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), 3+len("2025-11")+12+16+3)
}

// TestBodyRefused lists what is near the format and not in it.
func TestBodyRefused(t *testing.T) {
	t.Parallel()
	packed := string(gzipped(t, "aaaaaaaaaa"))
	badSum := []byte(packed)
	badSum[len(badSum)-8] ^= 1
	for name, tc := range map[string]struct{ body, want string }{
		"empty":                  {"", "truncated"},
		"version alone":          {"\x01", "truncated"},
		"version 0":              {"\x00\x00\x00\x00", "unknown format version 0"},
		"version 2":              {"\x02\x00\x00\x00", "unknown format version 2"},
		"unknown kind":           {"\x01\x03\x00\x00", "unknown kind"},
		"unknown flag":           {"\x01\x80\x00\x00", "unknown kind or flags"},
		"fence flag in plain":    {"\x01\x40\x00\x00", "unknown kind or flags"},
		"encrypted, no key":      {"\x01\x20\x01k0123456789abcdefghijklmnopqrstuvwxyz", `unknown key "k"`},
		"encrypted, unknown bit": {"\x01\xa0\x01k0123456789abcdefghijklmnopqrstuvwxyz", "unknown flags"},
		"encrypted, kind":        {"\x01\x21\x01k0123456789abcdefghijklmnopqrstuvwxyz", "unknown flags"},
		"encrypted, no id":       {"\x01\x20", "truncated"},
		"encrypted, short id":    {"\x01\x20\x05abcd", "truncated"},
		"codec cut":              {"\x01\x00\x05json", "truncated"},
		"no length":              {"\x01\x00\x04json", "malformed length"},
		"length cut":             {"\x01\x00\x00\x80", "malformed length"},
		"length not shortest":    {"\x01\x00\x00\x80\x00", "malformed length"},
		"length above 64 bits":   {"\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "malformed length"},
		"length above all data":  {"\x01\x00\x00" + varint(idempotency.MaxData+1), "above"},
		"length of 2^63":         {"\x01\x00\x00" + varint(1<<63), "above"},
		"data cut":               {"\x01\x00\x00\x04abc", "3 bytes of data where 4 were recorded"},
		"trailing byte":          {"\x01\x00\x00\x02abc", "3 bytes of data where 2 were recorded"},
		"no compressor":          {"\x01\x10\x00", "truncated"},
		"unknown compressor":     {"\x01\x10\x00\x02\x01x", "unknown compressor 2"},
		"gzip of nothing":        {"\x01\x10\x00\x01\x0a", "decompressing"},
		"gzip, not at all":       {"\x01\x10\x00\x01\x0aabcdefghijklmnopqrstuvwxyz", "decompressing"},
		"gzip cut":               {"\x01\x10\x00\x01\x0a" + packed[:len(packed)-1], "decompressing"},
		"gzip, wrong sum":        {"\x01\x10\x00\x01\x0a" + string(badSum), "checksum"},
		"gzip, more":             {"\x01\x10\x00\x01\x09" + packed, "more than 9"},
		"gzip, less":             {"\x01\x10\x00\x01\x0b" + packed, "unexpected EOF"},
		"gzip, trailing byte":    {"\x01\x10\x00\x01\x0a" + packed + "x", "after the end"},
		"gzip, second member":    {"\x01\x10\x00\x01\x14" + packed + packed, "unexpected EOF"},
		"gzip, claims a bomb":    {"\x01\x10\x00\x01" + varint(idempotency.MaxData) + packed, "cannot come of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSealer(t, idempotency.Compression{}, idempotency.Encryption{})
			res, err := s.Open(idempotency.Digest{}, idempotency.Record{Body: []byte(tc.body)})
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
			require.ErrorContains(t, err, tc.want)
			require.Zero(t, res)
		})
	}
}

// TestBodyCut cuts plain bodies short everywhere and flips every bit: what is
// read then, if anything, is a result that writes to the very same bytes.
func TestBodyCut(t *testing.T) {
	t.Parallel()
	s := newSealer(t, idempotency.Compression{}, idempotency.Encryption{})
	vectors := readBodies(t)
	key, record := vectors.record(t)
	for _, v := range vectors.Bodies {
		if v.Key != "" {
			continue
		}
		body := unhex(t, v.Body)
		for n := range body {
			record.Body = body[:n]
			_, err := s.Open(key, record)
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "%s, %d bytes", v.Name, n)
		}
		record.Body = append(bytes.Clone(body), 0)
		_, err := s.Open(key, record)
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "%s, one byte more", v.Name)

		eachFlip(body, func(bit int, flipped []byte) {
			record.Body = flipped
			res, err := s.Open(key, record)
			if err != nil {
				require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "%s, bit %d", v.Name, bit)
				return
			}
			again, err := s.Seal(key, record, res)
			require.NoError(t, err)
			if v.Exact {
				require.Equal(t, flipped, again, "%s, bit %d", v.Name, bit)
			}
		})
	}
}

// eachFlip calls f with each of the bodies that differ from body in one bit.
func eachFlip(body []byte, f func(bit int, flipped []byte)) {
	for bit := range len(body) * 8 {
		flipped := bytes.Clone(body)
		flipped[bit/8] ^= 1 << (bit % 8)
		f(bit, flipped)
	}
}

// TestBodyMemory: a body claims a length, and whoever can write to the store
// can claim any.
//
//nolint:paralleltest // it counts what the process allocates
func TestBodyMemory(t *testing.T) {
	const size = 1 << 20
	bomb := gzipped(t, strings.Repeat("a", size))
	s := newSealer(t, idempotency.Compression{}, idempotency.Encryption{})
	for name, tc := range map[string]struct {
		body string
		most uint64
	}{
		"claims more than there is": {"\x01\x10\x00\x01" + varint(idempotency.MaxData) + string(bomb[:1000]), 1 << 19},
		"is more than it claims":    {"\x01\x10\x00\x01" + varint(1000) + string(bomb), 1 << 19},
		"is too much":               {"\x01\x10\x00\x01" + varint(idempotency.MaxData+1) + string(bomb), 1 << 19},
		"plain, claims all":         {"\x01\x00\x00" + varint(idempotency.MaxData) + "x", 1 << 19},
		// Twice, since the race detector keeps the compiler from growing in place.
		"is what it claims": {"\x01\x10\x00\x01" + varint(size) + string(bomb), 2*size + 1<<19},
	} {
		r := idempotency.Record{Body: []byte(tc.body)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := s.Open(idempotency.Digest{}, r)
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, tc.most, name)
		if err != nil {
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable, name)
			continue
		}
		require.Len(t, res.Data, size, name)
	}
}

func varint(n uint64) string { return string(binary.AppendUvarint(nil, n)) }

func gzipped(t testing.TB, s string) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	_, err := zw.Write([]byte(s))
	require.NoError(t, err)
	require.NoError(t, zw.Close())
	return buf.Bytes()
}

func TestBodyResultInvalid(t *testing.T) {
	t.Parallel()
	vectors := readBodies(t)
	tooMuch := make([]byte, idempotency.MaxData+1)
	for _, e := range []idempotency.Encryption{{}, vectors.encryption(t)} {
		s := newSealer(t, idempotency.Compression{}, e)
		for want, res := range map[string]idempotency.Result{
			"Result.Kind":  {Kind: 3},
			"Result.Codec": {Codec: strings.Repeat("c", idempotency.MaxCodec+1)},
			"Result.Data":  {Data: tooMuch},
		} {
			_, err := s.Seal(idempotency.Digest{}, idempotency.Record{}, res)
			require.ErrorIs(t, err, idempotency.ErrInvalid)
			require.ErrorContains(t, err, want)
		}
	}
}

// FuzzOpen opens whatever there may be in a store.
func FuzzOpen(f *testing.F) {
	vectors := readBodies(f)
	key, record := vectors.record(f)
	for _, v := range vectors.Bodies {
		f.Add(unhex(f, v.Body))
	}
	f.Add([]byte(nil))
	f.Add([]byte("\x01\x10\x00\x01" + varint(idempotency.MaxData) + "x"))

	plain := newSealer(f, idempotency.Compression{}, idempotency.Encryption{})
	migrating := vectors.encryption(f)
	migrating.AllowPlain = true
	sealers := map[string]idempotency.Sealer{
		"plain":     plain,
		"packing":   newSealer(f, idempotency.Compression{Above: 16}, idempotency.Encryption{}),
		"encrypted": newSealer(f, idempotency.Compression{}, vectors.encryption(f)),
		"migrating": newSealer(f, idempotency.Compression{}, migrating),
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		stored := bytes.Clone(body)
		for name, s := range sealers {
			r := record
			r.Body = body
			res, err := s.Open(key, r)
			require.Equal(t, stored, body, "%s: the store's memory was written to", name)
			if err != nil {
				require.ErrorIs(t, err, idempotency.ErrResultUnavailable, name)
				require.Zero(t, res, name)
				continue
			}
			r.Body, err = s.Seal(key, record, res)
			require.NoError(t, err, name)
			again, err := s.Open(key, r)
			require.NoError(t, err, name)
			require.Equal(t, res, again, name)
			if name == "plain" && body[1]&0x10 == 0 {
				require.Equal(t, body, r.Body, "a result has two bodies")
			}
		}
	})
}
