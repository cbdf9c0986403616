package redisclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/internal/redistest"
)

// append adds its argument to a key and returns the key's length.
const appendLua = `
redis.call('APPEND', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return redis.call('STRLEN', KEYS[1])`

func newRedis(t *testing.T, rdb redisclient.Client, o redisclient.Options) *redisclient.Redis {
	t.Helper()
	r, err := redisclient.New(rdb, o)
	require.NoError(t, err)
	return r
}

func connect(t *testing.T, addr string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// call returns a call of s that appends text, given by pointer, to key.
func call(s *redisclient.Script, key string, text *string) *redisclient.Call {
	c := &redisclient.Call{}
	c.Begin(s, key)
	c.Add(text)
	return c
}

func TestNew(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{ReadTimeout: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	grid := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"localhost:1"}, ReadTimeout: time.Second})
	t.Cleanup(func() { _ = grid.Close() })
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}, ReadTimeout: time.Second})
	t.Cleanup(func() { _ = ring.Close() })
	blocking, err := rdb.AutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = blocking.Close() })
	deferred, err := rdb.AsyncAutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = deferred.Close() })

	var none *redis.ClusterClient
	for name, tc := range map[string]struct {
		client redisclient.Client
		o      redisclient.Options
		wrong  []string // nothing: it is fine
	}{
		"client":       {client: rdb, o: redisclient.Options{Replicas: 1}},
		"cluster":      {client: grid, o: redisclient.Options{Replicas: 1}},
		"ring":         {client: ring, o: redisclient.Options{FixedRing: true, Replicas: 1}},
		"blocking":     {client: blocking},
		"deferred":     {client: deferred},
		"nil":          {wrong: []string{"nil client"}},
		"typed nil":    {client: none, wrong: []string{"nil client"}},
		"moving ring":  {client: ring, wrong: []string{"FixedRing"}},
		"piped wait":   {client: blocking, o: redisclient.Options{Replicas: 1}, wrong: []string{"not an AutoPipeliner"}},
		"several":      {client: rdb, o: redisclient.Options{Replicas: -1, ReplicaTimeout: -1}, wrong: []string{"Replicas is", "ReplicaTimeout is"}},
		"long":         {client: rdb, o: redisclient.Options{Replicas: 1, ReplicaTimeout: time.Second}, wrong: []string{"ReadTimeout"}},
		"long cluster": {client: grid, o: redisclient.Options{Replicas: 1, ReplicaTimeout: time.Second}, wrong: []string{"ReadTimeout"}},
		"long ring":    {client: ring, o: redisclient.Options{FixedRing: true, Replicas: 1, ReplicaTimeout: time.Second}, wrong: []string{"ReadTimeout"}},
		"long unused":  {client: rdb, o: redisclient.Options{ReplicaTimeout: time.Second}},
	} {
		r, err := redisclient.New(tc.client, tc.o)
		if len(tc.wrong) == 0 {
			require.NoError(t, err, name)
			require.Equal(t, name == "deferred", r.Deferred())
			require.Equal(t, tc.o.Replicas, r.Replicas())
		}
		for _, want := range tc.wrong {
			require.ErrorContains(t, err, want, name)
		}
	}
}

func TestMilliseconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, time.Hour: 3_600_000, -time.Millisecond: -1, -1: 0,
	} {
		require.Equal(t, want, redisclient.Milliseconds(d), d)
	}
}

// TestRun calls scripts that a server does not know, and does know.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, addr := range map[string]func(t *testing.T) string{
		"miniredis": func(t *testing.T) string { return miniredis.RunT(t).Addr() },
		"redis":     func(t *testing.T) string { return redistest.Start(t).Addr() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := connect(t, addr(t))
			r, s, text := newRedis(t, rdb, redisclient.Options{}), redisclient.NewScript(appendLua), "x\x00\r\n"
			for n := range 3 {
				cmd, err := redisclient.Run(t.Context(), r, call(s, "key", &text), redis.NewIntCmd)
				require.NoError(t, err)
				require.EqualValues(t, (n+1)*len(text), cmd.Val())
			}
			require.NoError(t, rdb.ScriptFlush(t.Context()).Err())
			var calls []*redisclient.Call
			for i := range 10 {
				calls = append(calls, call(s, fmt.Sprint("key ", i), &text))
			}
			for round := range 2 {
				if round == 1 { // one fails, and the others do not
					require.NoError(t, rdb.Del(t.Context(), "key 5").Err())
					require.NoError(t, rdb.LPush(t.Context(), "key 5", "x").Err())
				}
				calls := slices.Clone(calls)
				for i := range calls {
					calls[i] = call(s, fmt.Sprint("key ", i), &text)
				}
				cmds, errs := redisclient.RunAll(t.Context(), r, calls, redis.NewIntCmd)
				for i := range calls {
					if round == 1 && i == 5 {
						require.True(t, redisclient.IsWrongType(errs[i]), errs[i])
						continue
					}
					require.NoError(t, errs[i])
					require.EqualValues(t, (round+1)*len(text), cmds[i].Val())
				}
			}
			cmds, errs := redisclient.RunAll(t.Context(), r, nil, redis.NewIntCmd)
			require.Empty(t, cmds)
			require.Empty(t, errs)
		})
	}
}

// TestClusterRun has nodes of which some do not know a script.
func TestClusterRun(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	blocking, err := rdb.AutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = blocking.Close() })
	fresh := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = fresh.Close() })
	require.Empty(t, newRedis(t, fresh, redisclient.Options{}).Node("key"), "nothing is loaded to find out")

	s, text := redisclient.NewScript(appendLua), "x"
	for n, client := range []redisclient.Client{rdb, blocking} {
		r := newRedis(t, client, redisclient.Options{})
		_, err := redisclient.Run(t.Context(), r, call(s, "one", &text), redis.NewIntCmd)
		require.NoError(t, err)
		grid.Nodes()[1].MustDo("SCRIPT", "FLUSH")
		var calls []*redisclient.Call
		for i := range 100 {
			calls = append(calls, call(s, fmt.Sprint(i), &text))
		}
		cmds, errs := redisclient.RunAll(t.Context(), r, calls, redis.NewIntCmd)
		for i := range calls {
			require.NoError(t, errs[i])
			require.EqualValues(t, n+1, cmds[i].Val(), "each is done once")
		}
	}

	r := newRedis(t, rdb, redisclient.Options{})
	servers, err := r.Servers(t.Context())
	require.NoError(t, err)
	want := slices.Sorted(slices.Values(grid.Addrs()))
	var got []string
	for _, server := range servers {
		got = append(got, server.Addr)
		info, err := server.Info(t.Context(), "cluster")
		require.NoError(t, err)
		require.Equal(t, "1", info["cluster_enabled"])
	}
	require.Equal(t, want, got)
	for i := range 100 {
		require.Equal(t, grid.NodeForKey(fmt.Sprint(i)).Addr(), r.Node(fmt.Sprint(i)))
	}
	names := map[string]bool{}
	for some, err := range r.Scan(t.Context(), "") {
		require.NoError(t, err)
		for _, name := range some {
			names[name] = true
		}
	}
	require.Len(t, names, 101)
	_, err = newRedis(t, blocking, redisclient.Options{}).Servers(t.Context())
	require.ErrorContains(t, err, "use its ClusterClient")
}

// TestScan has prefixes that mean something in a pattern.
func TestScan(t *testing.T) {
	t.Parallel()
	rdb := connect(t, redistest.Start(t).Addr())
	piped, err := rdb.AutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = piped.Close() })
	const many = 1500
	for _, prefix := range []string{"a", `*`, `?`, `[a-z]`, `\`, "^", "\x00\xff"} {
		pipe := rdb.Pipeline()
		for i := range many / 10 {
			pipe.Set(t.Context(), fmt.Sprint(prefix, i), "", time.Minute)
		}
		_, err := pipe.Exec(t.Context())
		require.NoError(t, err)
	}
	for _, client := range []redisclient.Client{rdb, piped} {
		r := newRedis(t, client, redisclient.Options{})
		for _, prefix := range []string{"a", `*`, `?`, `[a-z]`, `\`, "^", "\x00\xff", "nothing"} {
			names := map[string]bool{}
			for some, err := range r.Scan(t.Context(), prefix) {
				require.NoError(t, err)
				for _, name := range some {
					require.True(t, strings.HasPrefix(name, prefix))
					names[name] = true
				}
			}
			if prefix == "nothing" {
				require.Empty(t, names)
			} else {
				require.Len(t, names, many/10, "%q", prefix)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range newRedis(t, rdb, redisclient.Options{}).Scan(ended, "a") {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	require.False(t, redisclient.IsNoScript(nil))
	require.False(t, redisclient.IsDenied(nil))
	require.False(t, redisclient.IsWrongType(nil))
	for text, denied := range map[string]bool{
		"NOPERM this user has no permissions to run the 'evalsha' command":                true,
		"ERR unknown command 'EVALSHA', with args beginning with:":                        true,
		"ERR Error running script: ERR Unknown Redis command called from Lua script":      true,
		"ERR The user executing the script can't run this command or subcommand":          true,
		"ERR ACL failure in script: No permissions to access a key":                       true,
		"LOADING Redis is loading the dataset in memory":                                  false,
		"NOSCRIPT No matching script. Please use EVAL.":                                   false,
		"READONLY You can't write against a read only replica.":                           false,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to": false,
	} {
		require.Equal(t, denied, redisclient.IsDenied(errors.New(text)), text)
	}
}
