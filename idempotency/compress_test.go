package idempotency_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// runs is a Compressor of the tests': one letter for each run of it. What it
// decompresses to and how it fails can be falsified.
type runs struct {
	id   byte
	lie  []byte
	fail error
}

func (r runs) ID() byte { return r.id }

func (r runs) Compress(dst, src []byte) []byte {
	for len(src) > 0 {
		n := 1
		for n < len(src) && n < 255 && src[n] == src[0] {
			n++
		}
		dst = append(dst, byte(n), src[0])
		src = src[n:]
	}
	return dst
}

func (r runs) Decompress(dst, src []byte, limit int) ([]byte, error) {
	if r.fail != nil || r.lie != nil {
		return append(dst, r.lie...), r.fail
	}
	for ; len(src) >= 2; src = src[2:] {
		dst = append(dst, bytes.Repeat(src[1:2], int(src[0]))...)
		if len(dst) > limit {
			return nil, errors.New("too much")
		}
	}
	return dst, nil
}

func TestCompressAbove(t *testing.T) {
	t.Parallel()
	key, r := completed()
	random := make([]byte, 4096) // random enough: every byte value, never twice in a row
	for i := range random {
		random[i] = byte(i * i * 7 >> 3)
	}
	reader := newSealer(t, idempotency.Compression{}, idempotency.Encryption{})
	for name, tc := range map[string]struct {
		c      idempotency.Compression
		data   string
		packed bool
	}{
		"off":            {idempotency.Compression{}, strings.Repeat("a", 4096), false},
		"below":          {idempotency.Compression{Above: 4097}, strings.Repeat("a", 4096), false},
		"at":             {idempotency.Compression{Above: 4096}, strings.Repeat("a", 4096), false},
		"above":          {idempotency.Compression{Above: 4095}, strings.Repeat("a", 4096), true},
		"not smaller":    {idempotency.Compression{Above: 1}, "abc", false},
		"nothing at all": {idempotency.Compression{Above: 1}, "", false},
	} {
		s := newSealer(t, tc.c, idempotency.Encryption{})
		want := result(idempotency.KindValue, "json", tc.data)
		body, err := s.Seal(key, r, want)
		require.NoError(t, err, name)
		require.Equal(t, tc.packed, len(body) < len(tc.data), name)
		r.Body = body
		got, err := reader.Open(key, r)
		require.NoError(t, err, "%s: gzip is read by whoever does not write it", name)
		require.Equal(t, want, got, name)
	}

	// What the tests' compressor makes of it is longer: it is kept as it is.
	s := newSealer(t, idempotency.Compression{Above: 1, With: runs{id: 200}}, idempotency.Encryption{})
	body, err := s.Seal(key, r, idempotency.Result{Data: random})
	require.NoError(t, err)
	r.Body = body
	got, err := reader.Open(key, r)
	require.NoError(t, err)
	require.Equal(t, random, got.Data)
}

// TestCompressPooled: compressors are used again, by many at once.
func TestCompressPooled(t *testing.T) {
	t.Parallel()
	s := newSealer(t, idempotency.Compression{Above: 1}, idempotency.Encryption{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key, r := completed()
			for j := range 20 {
				want := strings.Repeat(string(rune('a'+i)), 100+j)
				body, err := s.Seal(key, r, result(idempotency.KindValue, "", want))
				if err != nil || len(body) > 60 {
					t.Errorf("%d bytes, %v", len(body), err)
				}
				r.Body = body[:len(body)-1]
				if _, err := s.Open(key, r); !errors.Is(err, idempotency.ErrResultUnavailable) {
					t.Errorf("cut: %v", err)
				}
				r.Body = body
				if res, err := s.Open(key, r); err != nil || string(res.Data) != want {
					t.Errorf("%q, %v", res.Data, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestCompressOwn: who brings a compressor can change it, and the old one's
// records are read on; one that lies is found out.
func TestCompressOwn(t *testing.T) {
	t.Parallel()
	key, r := completed()
	want := result(idempotency.KindValue, "json", strings.Repeat("a", 1000))
	var err error
	r.Body, err = newSealer(t, idempotency.Compression{Above: 100, With: runs{id: 200}}, idempotency.Encryption{}).Seal(key, r, want)
	require.NoError(t, err)
	require.Less(t, len(r.Body), 100)

	for name, tc := range map[string]struct {
		c    idempotency.Compression
		want string
	}{
		"the same":       {idempotency.Compression{Above: 1, With: runs{id: 200}}, ""},
		"not writing":    {idempotency.Compression{With: runs{id: 200}}, ""},
		"changed":        {idempotency.Compression{Above: 1, Also: []idempotency.Compressor{runs{id: 199}, runs{id: 200}}}, ""},
		"unknown":        {idempotency.Compression{Above: 1, With: runs{id: 201}}, "unknown compressor 200"},
		"fails":          {idempotency.Compression{With: runs{id: 200, fail: errors.New("broken")}}, "broken"},
		"too much":       {idempotency.Compression{With: runs{id: 200, lie: make([]byte, 1001)}}, "1001 bytes of data where 1000 were recorded"},
		"too little":     {idempotency.Compression{With: runs{id: 200, lie: make([]byte, 999)}}, "999 bytes"},
		"nothing at all": {idempotency.Compression{With: runs{id: 200, lie: []byte{}}}, "0 bytes"},
	} {
		got, err := newSealer(t, tc.c, idempotency.Encryption{}).Open(key, r)
		if tc.want == "" {
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
		} else {
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable, name)
			require.ErrorContains(t, err, tc.want, name)
		}
	}
}

func TestCompressInvalid(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]idempotency.Compression{
		"Compression.Above is -1":                        {Above: -1},
		"Compression.With has the ID 1, must be at":      {With: runs{id: 1}},
		"Compression.With has the ID 127":                {With: runs{id: 127}},
		"Compression.Also[0] is nil":                     {Also: []idempotency.Compressor{nil}},
		"Compression.Also[1] has the ID 0":               {Also: []idempotency.Compressor{runs{id: 128}, runs{}}},
		"Compression.Also[0] has the ID 200, which anot": {With: runs{id: 200}, Also: []idempotency.Compressor{runs{id: 200}}},
	} {
		_, err := idempotency.NewSealer(c, idempotency.Encryption{})
		require.ErrorIs(t, err, idempotency.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
}

func BenchmarkCompress(b *testing.B) {
	key, r := completed()
	s := newSealer(b, idempotency.Compression{Above: 1}, idempotency.Encryption{})
	res := result(idempotency.KindValue, "json", strings.Repeat(`{"sku":"semel-0001","quantity":1},`, 1000))
	b.ReportAllocs()
	b.SetBytes(int64(len(res.Data)))
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
}
