package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

func onRedis(t *testing.T) env {
	t.Helper()
	return connect(t, &redis.UniversalOptions{Addrs: []string{redistest.Start(t).Addr()}})
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	e := connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}})
	text := e.ok("doctor")
	require.Regexp(t, `(?m)^server +127\.0\.0\.1:\d+$`, text)
	require.Regexp(t, `(?m)^  version +\d+\.\d+`, text)
	require.Regexp(t, `(?m)^  eviction +noeviction$`, text)
	require.Regexp(t, `(?m)^  scripts +yes$`, text)
	require.Regexp(t, `(?m)^  replicas +0$`, text)
	require.Regexp(t, `(?m)^  clock +[+-]\d+\.\d ms, to within`, text)
	require.Regexp(t, `(?m)^records +yes$`, text)
	require.Regexp(t, `(?m)^  persistence RDB no, AOF yes, appendfsync always$`, text)
	require.NotContains(t, text, "PROBLEM")
	require.NotContains(t, text, "note")
	object := e.object("doctor")
	require.Equal(t, true, object["healthy"])
	found := object["servers"].([]any)[0].(map[string]any)
	require.Equal(t, "no", found["evicts"])
	require.Empty(t, found["problems"])
	require.Empty(t, found["notes"])
}

// TestDoctorWarns of what is wrong, and ends with a failure.
func TestDoctorWarns(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}})
	server.MustDo("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	server.MustDo("ACL", "SETUSER", "weak", "on", ">pw", "~other:*", "&*", "+@all")
	e.url = strings.Replace(e.url, "redis://", "redis://weak:pw@", 1)
	code, stdout, stderr := e.run("doctor", "-replicas", "1")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "there are problems")
	require.Contains(t, stdout, "use noeviction")
	require.Contains(t, stdout, "may evict a record, whose next delivery then runs again: use noeviction")
	require.Contains(t, stdout, "0 replicas are connected")
	require.Contains(t, stdout, "nothing can be claimed")
	require.NotRegexp(t, `\blocks?\b`, stdout)
	require.Regexp(t, `(?m)^records +idempotency: .*denies`, stdout)
	code, stdout, _ = e.run("doctor", "-json")
	require.Equal(t, failed, code)
	require.Equal(t, false, parse(t, stdout)["healthy"])
}

// TestDoctorPersistence: what a restart would forget is said, and nothing is
// said where the server does not tell.
func TestDoctorPersistence(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}})
	examine := func(want int) map[string]any {
		t.Helper()
		code, stdout, _ := e.run("doctor", "-json")
		require.Equal(t, want, code, stdout)
		return parse(t, stdout)["servers"].([]any)[0].(map[string]any)
	}
	found := examine(failed)
	require.Equal(t, "RDB no, AOF no", found["persistence"])
	require.Contains(t, found["problems"].([]any)[0], "a restart forgets every record")
	_, stdout, _ := e.run("doctor")
	require.Regexp(t, `(?m)^  PROBLEM +neither RDB nor AOF is on`, stdout)

	server.MustDo("CONFIG", "SET", "save", "3600 1")
	found = examine(done)
	require.Equal(t, "RDB yes, AOF no", found["persistence"])
	require.Contains(t, found["notes"].([]any)[0], "since the last snapshot")
	require.Regexp(t, `(?m)^  note +RDB alone`, e.ok("doctor"))

	server.MustDo("CONFIG", "SET", "save", "")
	server.MustDo("CONFIG", "SET", "appendonly", "yes")
	for _, fsync := range []string{"everysec", "no"} {
		server.MustDo("CONFIG", "SET", "appendfsync", fsync)
		found = examine(done)
		require.Equal(t, "RDB no, AOF yes, appendfsync "+fsync, found["persistence"])
		require.Contains(t, found["notes"].([]any)[0], "appendfsync "+fsync)
	}

	server.MustDo("CONFIG", "SET", "appendonly", "no")
	server.MustDo("ACL", "SETUSER", "noconfig", "on", ">pw", "~*", "&*", "+@all", "-config")
	server.MustDo("ACL", "SETUSER", "neither", "on", ">pw", "~*", "&*", "+@all", "-config", "-info")
	address := e.url
	for user, want := range map[string]string{"noconfig": "RDB not known, AOF no", "neither": "not known"} {
		e.url = strings.Replace(address, "redis://", "redis://"+user+":pw@", 1)
		found = examine(done)
		require.Equal(t, want, found["persistence"])
		require.Empty(t, found["problems"])
		require.Empty(t, found["notes"])
	}
}

// TestPassword and protocol of the URL are used.
func TestPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}})
	key := e.complete(invoice("in_1"))
	server.MustDo("ACL", "SETUSER", "semel", "on", ">p,w/ü@", "~semel:run:*", "&semel:run:*",
		"+evalsha", "+eval", "+getrange", "+strlen", "+pttl", "+time", "+scan")
	e.url = "redis://semel:p%2Cw%2F%C3%BC%40@" + server.Addr()
	require.Equal(t, []string{"in_1"}, e.ids())
	require.Contains(t, e.ok("stats"), "by their lengths") // MEMORY is denied
	e.url = strings.Replace(e.url, "p%2C", "q%2C", 1)
	e.fails(failed, "not reached", "show", key)
	for _, protocol := range []string{"2", "3"} {
		e.url = "redis://" + server.Addr() + "?protocol=" + protocol
		require.Equal(t, []string{"in_1"}, e.ids())
	}
}

// TestCluster: one address will do, all masters are asked, and never for KEYS.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, redistest.ClusterOptions{Server: redistest.Options{AppendOnly: true}})
	e := connect(t, &redis.UniversalOptions{Addrs: cluster.Addrs()})
	for i := range 30 {
		e.complete(invoice(fmt.Sprint(i)))
	}
	last, _ := e.claim(invoice("claimed"))
	nonce := e.object("show", last)["nonce"].(string)
	for _, url := range []string{
		"redis://" + cluster.Addrs()[0], "redis://" + strings.Join(cluster.Addrs(), ","),
	} {
		e.url = url
		require.Len(t, e.ids(), 31)
		require.Equal(t, []string{"claimed"}, e.ids("-state", "claimed"))
		object := e.object("stats")
		require.EqualValues(t, 31, object["total"].(map[string]any)["count"])
		require.EqualValues(t, 31, object["sampled"])
		servers := e.object("doctor")["servers"].([]any)
		require.Len(t, servers, 3)
		for _, server := range servers {
			require.Equal(t, "RDB no, AOF yes, appendfsync always", server.(map[string]any)["persistence"])
		}
		for i := range 3 {
			require.Equal(t, "completed", e.state(digest(t, invoice(fmt.Sprint(i)))))
		}
	}
	e.ok("release", last, nonce, "-yes")
	e.ok("complete", last, "-yes")
	e.ok("forget", last, "-yes", "-cache-ttl", "0s")
	require.Equal(t, "free", e.state(last))

	for _, addrs := range [][]string{cluster.Addrs(), cluster.Addrs()[:1]} {
		e.url = "redis://" + strings.Join(addrs, ",") + "/1"
		e.fails(misused, "no database but 0", "ls")
	}
	for _, node := range cluster.Nodes() {
		stats, err := node.Info("commandstats")
		require.NoError(t, err)
		require.Contains(t, stats, "cmdstat_scan")
		require.NotContains(t, stats, "cmdstat_keys")
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	r := redistest.StartReplicated(t)
	e := connect(t, &redis.UniversalOptions{Addrs: []string{r.Master().Addr()}})
	e.complete(invoice("in_1"))
	e.url = "redis://" + strings.Join(r.SentinelAddrs(), ",")
	require.Equal(t, []string{"in_1"}, e.ids("-sentinel-master", r.MasterName()))
	e.url = "redis://" + r.SentinelAddrs()[0] + "/0"
	require.Equal(t, []string{"in_1"}, e.ids("-sentinel-master", r.MasterName()))
	e.fails(misused, "this is a Sentinel", "ls")
	e.fails(failed, "not reached", "ls", "-sentinel-master", "nobody", "-timeout", "1s")
}
