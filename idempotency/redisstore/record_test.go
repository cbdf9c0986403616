package redisstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
)

func TestRecordComesBack(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		at := time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)
		all := bytes.Repeat([]byte{0, '\r', '\n', 0xff, '$', '%'}, 1<<18/6)
		for name, r := range map[string]idempotency.Record{
			"bare":             {},
			"nothing but text": {Body: []byte("x")},
			"all": {
				Fence: 1<<52 - 1, Attempt: math.MaxUint32, Fingerprint: printOf("x"),
				ClaimedAt: at, CompletedAt: at.Add(time.Hour), Body: all, Label: all[:70_000],
			},
			"label alone":       {Label: []byte{0}},
			"label and body":    {Label: []byte("l"), Body: []byte("b")},
			"print alone":       {Fingerprint: printOf("x")},
			"print and body":    {Fingerprint: printOf("x"), Body: []byte{0, 0, 0, 1, 'x'}},
			"long ago":          {ClaimedAt: time.UnixMilli(-1).UTC(), CompletedAt: time.UnixMilli(-(1<<47 - 1)).UTC()},
			"far away":          {ClaimedAt: time.UnixMilli(1<<47 - 1).UTC(), CompletedAt: time.UnixMilli(0).UTC()},
			"a mebibyte":        {Body: bytes.Repeat([]byte("0123456789abcdef"), 1<<16)},
			"body like a value": {Body: []byte("1d-0"), Label: []byte("1f-0")},
		} {
			key := digestOf(t, name)
			r.Nonce = newNonce()
			if name != "bare" {
				e.begin(t, key, r.Nonce)
			}
			require.Equal(t, name == "bare", e.complete(t, key, r), name)
			b := e.refused(t, key, true)
			require.Equal(t, idempotency.StateCompleted, b.State)
			about(t, keep, b.Remaining)
			require.Equal(t, r, b.Record, name)
			require.True(t, r.ClaimedAt.Equal(b.Record.ClaimedAt))
			info := e.look(t, key)
			require.Equal(t, r, info.Record, name)
			require.False(t, info.Waiters, "nobody waits for what is over")
		}
		// A list leaves the bodies out.
		count := 0
		for info, err := range e.List(t.Context(), idempotency.ListOptions{}) {
			require.NoError(t, err)
			whole := e.look(t, info.Key)
			whole.Record.Body = nil
			whole.Remaining, info.Remaining = 0, 0
			require.Equal(t, whole, info)
			count++
		}
		require.Equal(t, 11, count)
	})
}

func TestCompleteAgain(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		r := record(nonce, e.begin(t, key, nonce))
		require.False(t, e.complete(t, key, r))
		other := r
		other.Body = []byte("another outcome")
		e.unchanged(t, key, func() {
			require.False(t, e.complete(t, key, r))
			require.False(t, e.complete(t, key, other))
		})
		e.expire(t, key)
		require.EqualValues(t, 1, e.begin(t, key, newNonce()).Attempt, "the retention is over")
	})
}

// TestCompleteLate is an owner whose lease has run out.
func TestCompleteLate(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		alone, taken := digestOf(t, "alone"), digestOf(t, "taken")
		nonce, other := newNonce(), newNonce()
		b := e.begin(t, alone, nonce)
		e.expire(t, alone)
		require.True(t, e.complete(t, alone, record(nonce, b)))
		require.Equal(t, record(nonce, b).Body, e.refused(t, alone, false).Record.Body)
		require.False(t, e.complete(t, alone, record(nonce, b)), "again")

		e.begin(t, taken, nonce)
		e.expire(t, taken)
		next := e.begin(t, taken, other)
		require.Greater(t, next.Fence, b.Fence)
		e.unchanged(t, taken, func() {
			_, err := e.Complete(t.Context(), idempotency.CompleteRequest{Key: taken, Record: record(nonce, b), Retention: keep})
			require.ErrorIs(t, err, lock.ErrTaken)
		})
		e.complete(t, taken, record(other, next))
		e.unchanged(t, taken, func() {
			_, err := e.Complete(t.Context(), idempotency.CompleteRequest{Key: taken, Record: record(nonce, b), Retention: keep})
			require.ErrorIs(t, err, lock.ErrTaken)
		})
	})
}

func TestRenew(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		e.begin(t, key, nonce)
		value, _ := e.raw(t, key)
		renew := func(d time.Duration) {
			t.Helper()
			require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: d}))
		}
		renew(2 * lease)
		after, left := e.raw(t, key)
		require.Equal(t, value, after)
		about(t, 2*lease, left)
		renew(lease)
		_, left = e.raw(t, key)
		about(t, 2*lease, left)
		renew(2*lease + time.Nanosecond)
		_, left = e.raw(t, key)
		about(t, 2*lease+time.Millisecond, left)
	})
}

func TestRenewBatch(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		nonce := newNonce()
		var rs []idempotency.RenewRequest
		for _, situation := range situations {
			key := digestOf(t, situation)
			e.arrange(t, situation, key, nonce)
			rs = append(rs, idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: 2 * lease})
		}
		rs = append(rs, idempotency.RenewRequest{Key: rs[0].Key, Nonce: nonce}) // no lease
		e.mustDo(t, "SCRIPT", "FLUSH")
		sent := &recorder{}
		e.rdb.AddHook(sent)
		for round := range 2 {
			errs := e.RenewBatch(t.Context(), rs)
			require.Len(t, errs, len(rs))
			for i, situation := range situations {
				one := e.Renew(t.Context(), rs[i])
				require.Equal(t, one, errs[i], situation)
			}
			require.ErrorIs(t, errs[len(situations)], idempotency.ErrInvalid)
			want := 1
			if round == 0 {
				want = 2 // The script was not known.
			}
			require.Len(t, sent.take(), want+len(situations))
		}
		_, left := e.raw(t, digestOf(t, "mine"))
		about(t, 2*lease, left)
		require.Empty(t, e.RenewBatch(t.Context(), nil))
	})
}

func TestReleaseCompensates(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		compensate := func(key idempotency.Digest, nonce idempotency.Nonce, ttl time.Duration) {
			t.Helper()
			require.NoError(t, e.Release(t.Context(), idempotency.ReleaseRequest{
				Key: key, Nonce: nonce, TTL: ttl, Compensate: true,
			}))
		}
		spent := func(key idempotency.Digest, nonce idempotency.Nonce) {
			t.Helper()
			_, err := e.Begin(t.Context(), request(key, nonce))
			require.ErrorIs(t, err, lock.ErrSpent)
		}
		// What was never seen is no attempt.
		key, nonce := digestOf(t, "claimed"), newNonce()
		first := e.begin(t, key, nonce)
		compensate(key, nonce, stub)
		spent(key, nonce)
		nonce = newNonce()
		second := e.begin(t, key, nonce)
		require.EqualValues(t, 1, second.Attempt)
		require.Greater(t, second.Fence, first.Fence)

		// A free key keeps what it knows, for as long as it would have.
		require.NoError(t, e.Release(t.Context(), idempotency.ReleaseRequest{
			Key: key, Nonce: nonce, TTL: stub, NotBefore: keep,
		}))
		nonce = newNonce()
		compensate(key, nonce, lease)
		spent(key, nonce)
		info := e.look(t, key)
		about(t, keep, info.NotBefore)
		about(t, keep+stub, info.Remaining)
		require.Equal(t, second.Fence, info.Record.Fence)
		require.EqualValues(t, 1, info.Record.Attempt)

		compensate(key, newNonce(), 2*keep)
		about(t, 2*keep, e.look(t, key).Remaining)

		key, nonce = digestOf(t, "absent"), newNonce()
		compensate(key, nonce, stub)
		spent(key, nonce)
		about(t, stub, e.look(t, key).Remaining)
		require.EqualValues(t, 1, e.begin(t, key, newNonce()).Attempt)
	})
}

func TestBind(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		bind := func(id, value idempotency.Digest, ttl time.Duration) bool {
			t.Helper()
			same, err := e.Bind(t.Context(), id, value, ttl)
			require.NoError(t, err)
			return same
		}
		id, a, b := digestOf(t, "id"), digestOf(t, "a"), digestOf(t, "b")
		require.True(t, bind(id, a, keep))
		left := e.rdb.PTTL(t.Context(), nameOf(id)+":b").Val()
		about(t, keep, left)
		require.True(t, bind(id, a, 2*keep), "again")
		require.False(t, bind(id, b, 2*keep))
		require.True(t, bind(id, a, keep), "the first one stays")
		require.LessOrEqual(t, e.rdb.PTTL(t.Context(), nameOf(id)+":b").Val(), left)

		// Bindings and records do not meet.
		nonce := newNonce()
		e.complete(t, id, record(nonce, e.begin(t, id, nonce)))
		require.True(t, bind(id, a, keep))
		found, err := e.Forget(t.Context(), id, stub)
		require.NoError(t, err)
		require.True(t, found)
		require.False(t, bind(id, b, keep))
		for info, err := range e.List(t.Context(), idempotency.ListOptions{}) {
			require.NoError(t, err)
			require.Equal(t, id, info.Key)
			require.Equal(t, idempotency.StateFree, info.State)
		}
		require.NoError(t, e.rdb.Set(t.Context(), nameOf(b)+":b", "2bsomething", keep).Err())
		_, err = e.Bind(t.Context(), b, a, keep)
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
	})
}

// TestSize states what a record costs: in its value, by MEMORY USAGE, which does
// not count the table of expiry times, and by what the server's memory grows by.
func TestSize(t *testing.T) {
	t.Parallel()
	e := connect(t, redistest.Start(t).Addr())
	const many = 4096 // so that the server's tables are full
	at := time.Now()
	for _, tc := range []struct {
		name  string
		body  int
		print bool
		value int
	}{
		{"no result, no fingerprint", 0, false, 58},
		{"no result", 0, true, 90},
		{"an empty result as a Guard encodes it", 4, true, 94},
		{"1 KiB", 1024, true, 90 + 1024},
	} {
		r := idempotency.Record{
			Fence: uint64(at.UnixMicro()), Attempt: 1, ClaimedAt: at, CompletedAt: at,
			Body: bytes.Repeat([]byte("x"), tc.body),
		}
		if tc.print {
			r.Fingerprint = printOf("x")
		}
		e.mustDo(t, "FLUSHALL")
		before := e.memory(t)
		var key idempotency.Digest
		for i := range many {
			key = digestOf(t, fmt.Sprint(tc.name, i))
			r.Nonce = newNonce()
			e.complete(t, key, r)
		}
		grown := (e.memory(t) - before) / many
		value, _ := e.raw(t, key)
		require.Len(t, value, tc.value)
		require.LessOrEqual(t, tc.value-tc.body, 120)
		size := e.look(t, key).Size
		t.Logf("%s: %d bytes of value, MEMORY USAGE %d, grown by %d, estimated as %d", tc.name,
			len(value), e.rdb.MemoryUsage(t.Context(), nameOf(key)).Val(), grown, size)
		require.InEpsilon(t, grown, size, 0.25, "the estimate is near")
	}
}

// TestSizeByHand states beside it what the usual record costs that a team writes
// by hand: JSON under the readable key.
func TestSizeByHand(t *testing.T) {
	t.Parallel()
	e := connect(t, redistest.Start(t).Addr())
	const many = 4096
	for name, result := range map[string]any{"no result": nil, "1 KiB": strings.Repeat("x", 1022)} {
		e.mustDo(t, "FLUSHALL")
		before := e.memory(t)
		var key string
		var size int
		for i := range many {
			text, err := json.Marshal(map[string]any{
				"status": "completed", "fingerprint": strings.Repeat("f", 64), "result": result,
				"created_at": time.Now(), "completed_at": time.Now(),
			})
			require.NoError(t, err)
			key = fmt.Sprintf("idempotency:stripe:evt_1PqXYZ2eZvKYlo2C%08d", i)
			require.NoError(t, e.rdb.Set(t.Context(), key, text, time.Hour).Err())
			size = len(text)
		}
		used := e.rdb.MemoryUsage(t.Context(), key).Val()
		require.Positive(t, used)
		t.Logf("by hand, %s: %d bytes of value, MEMORY USAGE %d, grown by %d", name, size, used, (e.memory(t)-before)/many)
	}
}

// memory returns how much memory the server uses.
func (e env) memory(t *testing.T) int64 {
	t.Helper()
	for line := range strings.Lines(e.rdb.Info(t.Context(), "memory").Val()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatal("used_memory is not told")
	return 0
}
