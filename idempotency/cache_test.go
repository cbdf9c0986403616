package idempotency_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

func newCache(t testing.TB, bytes int64, ttl time.Duration) idempotency.Cache {
	t.Helper()
	c, err := idempotency.NewCache(idempotency.LocalCache{Bytes: bytes, TTL: ttl})
	require.NoError(t, err)
	return c
}

// numbered returns a digest of one scope.
func numbered(i int) idempotency.Digest {
	d, err := idempotency.Key{Scope: "s", ID: fmt.Sprint(i)}.Digest()
	if err != nil {
		panic(err)
	}
	return d
}

// put keeps data under d as whoever has just read it does.
func put(c idempotency.Cache, d idempotency.Digest, data string) {
	_, r := completed()
	c.Put(d, c.Generation(d), r, result(idempotency.KindValue, "json", data), time.Hour)
}

func TestCacheGet(t *testing.T) {
	t.Parallel()
	c := newCache(t, 1<<20, time.Minute)
	d, r := completed()
	r.Body = []byte("body")
	_, _, ok := c.Get(d)
	require.False(t, ok)

	want := result(idempotency.KindError, "json", "declined")
	given := idempotency.Result{Kind: want.Kind, Codec: want.Codec, Data: []byte("declined")}
	c.Put(d, c.Generation(d), r, given, time.Hour)
	given.Data[0] = 'x'
	record, got, ok := c.Get(d)
	require.True(t, ok)
	require.Equal(t, want, got, "the data is the cache's own")
	require.Nil(t, record.Body)
	require.Nil(t, record.Label)
	r.Body, r.Label = nil, nil
	require.Equal(t, r, record)

	d[31]++
	require.False(t, c.Has(d))
}

// TestCacheOff: a cache that is off can be used like any other.
func TestCacheOff(t *testing.T) {
	t.Parallel()
	c := newCache(t, 0, 0)
	require.True(t, c.Off())
	put(c, numbered(1), "x")
	require.False(t, c.Has(numbered(1)))
	c.Forget(numbered(1))
}

func TestCacheInvalid(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]idempotency.LocalCache{
		"Options.Cache.Bytes is -1":   {Bytes: -1},
		"Options.Cache.Bytes is 4095": {Bytes: 4095},
		"Options.Cache.TTL is -1ns":   {Bytes: 1 << 20, TTL: -1},
		"Options.Cache.TTL is 1m0.0":  {Bytes: 1 << 20, TTL: time.Minute + 1},
		"Options.Cache.TTL is 1h":     {TTL: time.Hour},
	} {
		_, err := idempotency.NewCache(o)
		require.ErrorIs(t, err, idempotency.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
}

// TestCacheLife: an entry lives for the shortest of the cache's time and its
// record's rest, from before the store was asked.
func TestCacheLife(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ ttl, asking, life, want time.Duration }{
		"default":            {0, 0, time.Hour, 5 * time.Second},
		"set":                {time.Minute, 0, time.Hour, time.Minute},
		"record ends first":  {time.Minute, 0, time.Second, time.Second},
		"answered late":      {5 * time.Second, 3 * time.Second, time.Hour, 2 * time.Second},
		"answered too late":  {5 * time.Second, 5 * time.Second, time.Hour, 0},
		"record has no rest": {0, 0, 0, 0},
		"record has ended":   {0, 0, -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCache(t, 1<<20, tc.ttl)
				d, r := completed()
				g := c.Generation(d)
				time.Sleep(tc.asking)
				c.Put(d, g, r, idempotency.Result{}, tc.life)
				require.Equal(t, tc.want > 0, c.Has(d))
				if tc.want > 0 {
					time.Sleep(tc.want - time.Microsecond)
					require.True(t, c.Has(d))
					time.Sleep(time.Microsecond)
				}
				require.False(t, c.Has(d))
				n, size, sound := c.Used()
				require.Zero(t, n)
				require.Zero(t, size)
				require.True(t, sound)
			})
		})
	}
}

// TestCacheForget: what was read before a Forget is not kept after it.
func TestCacheForget(t *testing.T) {
	t.Parallel()
	c := newCache(t, 1<<20, time.Minute)
	d, r := completed()
	put(c, d, "x")
	require.True(t, c.Has(d))
	before := c.Generation(d)
	c.Forget(d)
	require.False(t, c.Has(d))

	c.Put(d, before, r, idempotency.Result{}, time.Hour)
	require.False(t, c.Has(d), "an old result came back")
	put(c, d, "y")
	require.True(t, c.Has(d))
}

// TestCacheFence: an answer that took long does not put an earlier run in the
// place of a later one.
func TestCacheFence(t *testing.T) {
	t.Parallel()
	c := newCache(t, 1<<20, time.Minute)
	d, r := completed()
	g := c.Generation(d)
	for _, step := range []struct {
		fence, want uint64
	}{{7, 7}, {6, 7}, {7, 7}, {8, 8}, {7, 8}} {
		r.Fence = step.fence
		c.Put(d, g, r, idempotency.Result{}, time.Hour)
		got, _, ok := c.Get(d)
		require.True(t, ok)
		require.Equal(t, step.want, got.Fence)
	}
	n, _, sound := c.Used()
	require.Equal(t, 1, n)
	require.True(t, sound)
}

// TestCacheEvicts: an entry that was asked for outlives those that were not, and
// one that cannot fit turns nobody out.
func TestCacheEvicts(t *testing.T) {
	t.Parallel()
	c := newCache(t, 64<<10, time.Minute)
	require.Equal(t, 1, c.Shards())
	const size = 10 << 10
	for i := range 5 {
		put(c, numbered(i), strings.Repeat("a", size))
	}
	require.True(t, c.Has(numbered(0)))
	put(c, numbered(5), strings.Repeat("a", size))
	put(c, numbered(6), strings.Repeat("a", size))
	require.True(t, c.Has(numbered(0)))
	require.False(t, c.Has(numbered(1)))
	n, used, sound := c.Used()
	require.LessOrEqual(t, used, int64(64<<10))
	require.True(t, sound)
	require.Greater(t, n, 4)

	put(c, numbered(7), strings.Repeat("a", 64<<10))
	require.False(t, c.Has(numbered(7)))
	after, _, _ := c.Used()
	require.Equal(t, n, after)
	put(c, numbered(8), strings.Repeat("a", 60<<10))
	require.True(t, c.Has(numbered(8)))
	after, _, sound = c.Used()
	require.Equal(t, 1, after)
	require.True(t, sound)
}

// TestCacheOver: entries whose life has ended make room before others do.
func TestCacheOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, 1<<20, 5*time.Second)
		for i := range 100 {
			put(c, numbered(i), "x")
		}
		time.Sleep(5 * time.Second)
		put(c, numbered(100), "x")
		n, _, sound := c.Used()
		require.Equal(t, 1, n)
		require.True(t, sound)
	})
}

func TestCacheShards(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]int{
		4096: 1, 1 << 20: 1, 2<<20 - 1: 1, 2 << 20: 2, 3 << 20: 2, 7 << 20: 4, 64 << 20: 64, 1 << 40: 64,
	} {
		require.Equal(t, want, newCache(t, bytes, 0).Shards(), "%d bytes", bytes)
	}
	// Keys of one scope fill all shards, not one of them.
	c := newCache(t, 4<<20, time.Minute)
	kib := strings.Repeat("a", 1<<10)
	for i := range 2000 {
		put(c, numbered(i), kib)
	}
	n, _, sound := c.Used()
	require.Equal(t, 2000, n)
	require.True(t, sound)
}

// TestCacheRace uses a small cache from all sides.
func TestCacheRace(t *testing.T) {
	t.Parallel()
	c := newCache(t, 2<<20, time.Minute)
	long := strings.Repeat("a", 100<<10)
	var keys [50]idempotency.Digest
	for i := range keys {
		keys[i] = numbered(i)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 400 {
				d := keys[(i*7+g)%len(keys)]
				switch (i + g) % 5 {
				case 0:
					c.Forget(d)
				case 1, 2:
					put(c, d, long[:100<<10>>(i%10)])
				default:
					if _, res, ok := c.Get(d); ok && (len(res.Data) == 0 || res.Data[len(res.Data)-1] != 'a') {
						t.Error("not what was put")
					}
				}
			}
		})
	}
	wg.Wait()
	_, used, sound := c.Used()
	require.True(t, sound)
	require.LessOrEqual(t, used, int64(2<<20))
}

// TestCacheForgetRace: whatever the order of reading, forgetting and keeping, a
// value that was read before a Forget is not there after it.
func TestCacheForgetRace(t *testing.T) {
	t.Parallel()
	c := newCache(t, 1<<20, time.Minute)
	d, r := completed()
	for range 500 {
		g := c.Generation(d)
		var wg sync.WaitGroup
		wg.Go(func() { c.Put(d, g, r, idempotency.Result{}, time.Hour) })
		wg.Go(func() { c.Forget(d) })
		wg.Wait()
		require.False(t, c.Has(d))
	}
}

// TestCacheMemory holds the bound to what the heap says.
//
//nolint:paralleltest // it counts what the process allocates
func TestCacheMemory(t *testing.T) {
	for _, size := range []int{0, 100, 4000} {
		const limit = 4 << 20
		before := heap()
		c := newCache(t, limit, time.Minute)
		data := strings.Repeat("a", size)
		for i := range limit * 5 / 4 / (400 + size) {
			put(c, numbered(i), data)
		}
		used := heap() - before
		_, counted, _ := c.Used()
		require.Greater(t, counted, int64(limit)*9/10)
		require.LessOrEqual(t, used, int64(limit)*11/10, "%d bytes each", size)
		require.GreaterOrEqual(t, used, int64(limit)/2, "%d bytes each", size)
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestCacheAllocates: a replay from memory costs the collector nothing.
//
//nolint:paralleltest // it counts what the process allocates
func TestCacheAllocates(t *testing.T) {
	c := newCache(t, 1<<20, time.Minute)
	d := numbered(1)
	put(c, d, "x")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if !c.Has(d) {
			t.Fatal("gone")
		}
	}))
}

func BenchmarkCacheGet(b *testing.B) {
	c := newCache(b, 64<<20, time.Minute)
	var keys [1 << 10]idempotency.Digest
	for i := range keys {
		keys[i] = numbered(i)
		put(c, keys[i], "x")
	}
	b.Run("hit", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			if !c.Has(keys[i%len(keys)]) {
				b.Fatal("gone")
			}
		}
	})
	b.Run("hit in parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if !c.Has(keys[i%len(keys)]) {
					b.Error("gone")
				}
			}
		})
	})
	b.Run("miss", func(b *testing.B) {
		b.ReportAllocs()
		var d idempotency.Digest
		for b.Loop() {
			binary.LittleEndian.PutUint64(d[24:], binary.LittleEndian.Uint64(d[24:])+1)
			if c.Has(d) {
				b.Fatal("there")
			}
		}
	})
}
