package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
)

// TestTrips counts what goes over the wire: one round trip for each call, two
// for the first one after a server has forgotten its scripts.
func TestTrips(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		sent := &recorder{}
		e.rdb.AddHook(sent)
		for round := range 2 {
			if round == 1 {
				e.mustDo(t, "SCRIPT", "FLUSH")
				sent.take()
			}
			want := []string{"evalsha"}
			if round == 0 || round == 1 {
				want = append(want, "eval")
			}
			for range 2 {
				key, nonce := digestOf(t, fmt.Sprint(newNonce())), newNonce()
				step := func(what string, do func()) {
					t.Helper()
					do()
					require.Equal(t, want, sent.take(), what)
				}
				var b idempotency.Begun
				step("begin", func() { b = e.begin(t, key, nonce) })
				first := want
				want = []string{"evalsha"}
				step("held", func() { e.refused(t, key, true) })
				want = first
				step("renew", func() {
					require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease}))
				})
				step("complete", func() { e.complete(t, key, record(nonce, b)) })
				want = []string{"evalsha"}
				step("completed", func() { e.refused(t, key, false) })
				want = first
				step("bind", func() {
					_, err := e.Bind(t.Context(), key, key, keep)
					require.NoError(t, err)
				})
				step("look", func() { e.look(t, key) })
				step("forget", func() {
					_, err := e.Forget(t.Context(), key, stub)
					require.NoError(t, err)
				})
				step("release", func() {
					require.ErrorIs(t, e.Release(t.Context(), idempotency.ReleaseRequest{
						Key: key, Nonce: newNonce(), TTL: stub,
					}), lock.ErrExpired)
				})
				step("force complete", func() {
					_, err := e.ForceComplete(t.Context(), idempotency.CompleteRequest{
						Key: key, Record: record(nonce, b), Retention: keep,
					})
					require.NoError(t, err)
				})
				step("release dead", func() {
					_, err := e.ReleaseDead(t.Context(), key, nonce, stub)
					require.NoError(t, err)
				})
				want = []string{"evalsha"}
			}
		}
	})
}

// TestLostReplies has the server act and the reply lost at every call: the
// client sends the request again, and the caller is told what the first copy
// did.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := connect(t, proxy.Addr())
	lost := func(do func()) {
		t.Helper()
		proxy.DropReplies(1)
		do()
	}
	key, nonce := digestOf(t, "a"), newNonce()
	e.complete(t, key, record(nonce, e.begin(t, key, nonce))) // the scripts are known
	e.release(t, digestOf(t, "b"), func() idempotency.Nonce {
		e.begin(t, digestOf(t, "b"), nonce)
		return nonce
	}())

	for round := range 5 {
		key, nonce = digestOf(t, fmt.Sprint("round", round)), newNonce()
		var b idempotency.Begun
		lost(func() { b = e.begin(t, key, nonce) })
		require.EqualValues(t, 1, b.Attempt)
		lost(func() {
			require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease}))
		})
		lost(func() { require.Equal(t, idempotency.StateHeld, e.refused(t, key, true).State) })
		lost(func() { e.release(t, key, nonce) })
		nonce = newNonce()
		lost(func() { b = e.begin(t, key, nonce) })
		require.EqualValues(t, 2, b.Attempt)
		if round%2 == 0 {
			lost(func() { require.False(t, e.complete(t, key, record(nonce, b))) })
			lost(func() { require.Equal(t, record(nonce, b).Body, e.refused(t, key, false).Record.Body) })
		} else {
			end := idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, Unknown: keep}
			lost(func() { require.NoError(t, e.Release(t.Context(), end)) })
			require.Equal(t, idempotency.StateUnknown, e.look(t, key).State)
			r := idempotency.CompleteRequest{Key: key, Record: record(newNonce(), idempotency.Begun{}), Retention: keep}
			lost(func() {
				done, err := e.ForceComplete(t.Context(), r)
				require.NoError(t, err)
				require.True(t, done)
			})
		}
		nonce = newNonce()
		lost(func() {
			require.NoError(t, e.Release(t.Context(), idempotency.ReleaseRequest{
				Key: digestOf(t, fmt.Sprint("never seen", round)), Nonce: nonce, TTL: stub, Compensate: true,
			}))
		})
		lost(func() {
			same, err := e.Bind(t.Context(), key, key, keep)
			require.NoError(t, err)
			require.True(t, same)
		})
	}
	e.noneForever(t)
}

// TestLateCopies has each request arrive a second time, much later.
func TestLateCopies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := connect(t, proxy.Addr())
	warm, nonce := digestOf(t, "warm"), newNonce()
	e.begin(t, warm, nonce)
	e.release(t, warm, nonce)
	proxy.Duplicate(func(args []string) bool { return strings.EqualFold(args[0], "evalsha") })

	key, first, second := digestOf(t, "a"), newNonce(), newNonce()
	e.begin(t, key, first)
	e.release(t, key, first)
	b := e.begin(t, key, second)
	proxy.Duplicate(nil)
	replies, err := proxy.SendCopies()
	require.NoError(t, err)
	require.Len(t, replies, 3)
	require.Contains(t, replies[0], "v", "the first begin finds another")
	require.EqualValues(t, -2, replies[1], "the release finds another")
	require.Equal(t, "g", replies[2].(string)[:1], "the second begin has what it had")
	require.Equal(t, b, e.begin(t, key, second))

	e.release(t, key, second)
	_, err = e.Begin(t.Context(), request(key, second))
	require.ErrorIs(t, err, lock.ErrSpent)
}

// TestUnavailable is a server that is gone: never an answer, never contention.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{
		Addr: server.Addr(), MaxRetries: -1, DialTimeout: time.Second, ReadTimeout: time.Second,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	s := newStore(t, rdb, redisstore.Options{})
	key, nonce := digestOf(t, "a"), newNonce()
	_, err := s.Begin(t.Context(), request(key, nonce))
	require.NoError(t, err)
	server.Kill()
	begun, err := s.Begin(t.Context(), request(key, newNonce()))
	require.Error(t, err)
	require.Zero(t, begun)
	for _, err := range []error{
		err,
		s.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease}),
		s.RenewBatch(t.Context(), []idempotency.RenewRequest{{Key: key, Nonce: nonce, Lease: lease}})[0],
		s.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub}),
	} {
		require.Error(t, err)
		require.NotErrorIs(t, err, lock.ErrLost)
		require.NotErrorIs(t, err, idempotency.ErrResultUnavailable)
		require.NotErrorIs(t, err, idempotency.ErrInvalid)
	}
	_, err = s.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(nonce, begun), Retention: keep})
	require.Error(t, err)
	require.NotErrorIs(t, err, lock.ErrLost)
}

// TestDenied is a user who may not do what is needed, and one who has exactly
// what the package's documentation grants.
func TestDenied(t *testing.T) {
	t.Parallel()
	e := connect(t, redistest.Start(t).Addr())
	user := func(name string, rules ...any) *redis.Client {
		args := append([]any{"ACL", "SETUSER", name, "on", ">" + name}, rules...)
		e.mustDo(t, args...)
		rdb := redis.NewClient(&redis.Options{Addr: e.rdb.Options().Addr, Username: name, Password: name})
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	key, nonce := digestOf(t, "a"), newNonce()
	for name, rules := range map[string][]any{
		"noscript": {"~*", "&*", "+@all", "-@scripting"},
		"nowrite":  {"~*", "&*", "+@all", "-set"},
		"nokeys":   {"~other:*", "&*", "+@all"},
	} {
		_, err := newStore(t, user(name, rules...), redisstore.Options{}).Begin(t.Context(), request(key, nonce))
		require.ErrorContains(t, err, "denies what the scripts need", name)
	}

	rdb := user("enough", "~semel:run:*", "resetchannels", "&semel:run:*",
		"+evalsha", "+eval", "+get", "+set", "+getrange", "+setrange", "+strlen", "+pttl", "+pexpire", "+time",
		"+publish", "+subscribe", "+unsubscribe", "+ping", "+scan", "+hello", "+client")
	granted := e
	granted.Store = newStore(t, rdb, redisstore.Options{})
	for _, situation := range situations {
		granted.arrange(t, situation, digestOf(t, situation), nonce)
	}
	count := 0
	for _, err := range granted.List(t.Context(), idempotency.ListOptions{}) {
		require.NoError(t, err)
		count++
	}
	require.Equal(t, len(situations)-1, count)
	_, err := granted.Forget(t.Context(), digestOf(t, "mine"), stub)
	require.NoError(t, err)

	// Without the channel nobody is told, and nothing fails.
	mute := e
	mute.Store = newStore(t, user("mute", "~semel:run:*", "resetchannels", "+@all"), redisstore.Options{})
	key = digestOf(t, "mute")
	mute.begin(t, key, nonce)
	mute.refused(t, key, true)
	mute.release(t, key, nonce)
	require.Equal(t, idempotency.StateFree, e.look(t, key).State)
	nonce = newNonce()
	b := mute.begin(t, key, nonce)
	mute.refused(t, key, true)
	mute.complete(t, key, record(nonce, b))
	require.Equal(t, idempotency.StateCompleted, e.look(t, key).State)
	key = digestOf(t, "mute too")
	mute.begin(t, key, nonce)
	mute.refused(t, key, true)
	found, err := mute.Forget(t.Context(), key, stub)
	require.NoError(t, err)
	require.True(t, found)
}

// TestFaces runs the life of a key through each kind of client.
func TestFaces(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	blocking, err := rdb.AutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = blocking.Close() })
	deferred, err := rdb.AsyncAutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = deferred.Close() })
	ring := redis.NewRing(&redis.RingOptions{
		Addrs:       map[string]string{"a": server.Addr(), "b": redistest.Start(t).Addr()},
		HeartbeatFn: func(context.Context, *redis.Client) bool { return true },
	})
	t.Cleanup(func() { _ = ring.Close() })
	for name, tc := range map[string]struct {
		client        redisstore.Client
		interruptible bool
	}{
		"plain":    {rdb, false},
		"blocking": {blocking, false},
		"deferred": {deferred, true},
		"ring":     {ring, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := env{Store: newStore(t, tc.client, redisstore.Options{FixedRing: true}), rdb: rdb}
			require.Equal(t, tc.interruptible, e.Interruptible())
			e.live(t, 30)
		})
	}
}

// live brings many keys through their lives.
func (e env) live(t *testing.T, keys int) {
	t.Helper()
	var batch []idempotency.RenewRequest
	nodes := map[string]bool{}
	listed := map[idempotency.Digest]idempotency.State{}
	claims := map[idempotency.Digest]idempotency.Record{}
	for i := range keys {
		key, nonce := digestOf(t, fmt.Sprint(i)), newNonce()
		b := e.begin(t, key, nonce)
		require.Equal(t, idempotency.StateHeld, e.refused(t, key, true).State)
		e.release(t, key, nonce)
		nonce = newNonce()
		next := e.begin(t, key, nonce)
		require.Greater(t, next.Fence, b.Fence)
		require.EqualValues(t, 2, next.Attempt)
		batch = append(batch, idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: 2 * lease})
		claims[key] = record(nonce, next)
		listed[key] = idempotency.StateCompleted
		nodes[e.Node(key)] = true
		same, err := e.Bind(t.Context(), key, key, keep)
		require.NoError(t, err)
		require.True(t, same)
	}
	for i, err := range e.RenewBatch(t.Context(), batch) {
		require.NoError(t, err)
		about(t, 2*lease, e.look(t, batch[i].Key).Remaining)
	}
	for key, r := range claims {
		require.False(t, e.complete(t, key, r))
		require.Equal(t, r, e.refused(t, key, false).Record)
	}
	got := map[idempotency.Digest]idempotency.State{}
	scope := idempotency.ScopeDigest(t.Name())
	for info, err := range e.List(t.Context(), idempotency.ListOptions{Scope: scope}) {
		require.NoError(t, err)
		got[info.Key] = info.State
	}
	require.Equal(t, listed, got)
	t.Logf("%d nodes", len(nodes))
}

// TestInDoubt leaves a request behind on the deferred face of an AutoPipeliner.
func TestInDoubt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: 10 * time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	deferred, err := rdb.AsyncAutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = deferred.Close() })
	e := env{Store: newStore(t, deferred, redisstore.Options{}), rdb: rdb}
	key, nonce := digestOf(t, "a"), newNonce()
	e.begin(t, digestOf(t, "warm"), nonce)

	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = e.Begin(ctx, request(key, nonce))
	require.Less(t, time.Since(began), 5*time.Second)
	var doubt *lock.InDoubtError
	require.ErrorAs(t, err, &doubt)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	select {
	case <-doubt.Settled:
		t.Fatal("nobody has answered")
	default:
	}
	server.Resume()
	<-doubt.Settled
	require.Equal(t, nonce, e.look(t, key).Record.Nonce, "it did arrive")
	require.NoError(t, e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, Compensate: true}))
	require.Equal(t, idempotency.StateFree, e.look(t, key).State)
}

func TestNew(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{ReadTimeout: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	piped, err := rdb.AutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = piped.Close() })
	var none *redis.Client
	for name, tc := range map[string]struct {
		client redisstore.Client
		o      redisstore.Options
		want   []string
	}{
		"nil":        {nil, redisstore.Options{}, []string{"nil client"}},
		"typed nil":  {none, redisstore.Options{}, []string{"nil client"}},
		"ring":       {ring, redisstore.Options{}, []string{"FixedRing"}},
		"all wrong":  {piped, redisstore.Options{Replicas: 1, ReplicaTimeout: -1}, []string{"AutoPipeliner", "ReplicaTimeout"}},
		"negative":   {rdb, redisstore.Options{Replicas: -1}, []string{"Replicas"}},
		"above read": {rdb, redisstore.Options{Replicas: 1, ReplicaTimeout: time.Second}, []string{"ReadTimeout"}},
	} {
		_, err := redisstore.New(tc.client, tc.o)
		require.ErrorIs(t, err, idempotency.ErrInvalid, name)
		for _, want := range tc.want {
			require.ErrorContains(t, err, want, name)
		}
	}
	require.NoError(t, newStore(t, rdb, redisstore.Options{}).Close())
}
