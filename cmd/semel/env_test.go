package main_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
)

// The exit codes, as the help tells them.
const (
	done     = 0
	failed   = 1
	misused  = 2
	notFound = 3
	refused  = 4
)

var errHandler = errors.New("card declined")

// env is an application whose records are in a server, and the program.
type env struct {
	t     *testing.T
	url   string
	store *redisstore.Store
	guard *idempotency.Guard
}

// onServers runs a test on miniredis and on a real server. Both are empty.
func onServers(t *testing.T, test func(t *testing.T, e env)) {
	t.Helper()
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, onMiniredis(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, &redis.UniversalOptions{Addrs: []string{redistest.Start(t).Addr()}}))
	})
}

func onMiniredis(t *testing.T) env {
	t.Helper()
	return connect(t, &redis.UniversalOptions{Addrs: []string{miniredis.RunT(t).Addr()}})
}

// connect returns an application on a server; the program gets the first
// address.
func connect(t *testing.T, o *redis.UniversalOptions) env {
	t.Helper()
	rdb := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	store, err := redisstore.New(rdb, redisstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(store, idempotency.Options{KeepID: true, Timeout: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close(context.Background())) })
	return env{t: t, url: "redis://" + o.Addrs[0] + "/0", store: store, guard: guard}
}

// run runs the program where nobody can be asked.
func (e env) run(args ...string) (code int, stdout, stderr string) {
	return semel.Call{Stdin: strings.NewReader(""), Env: map[string]string{"SEMEL_REDIS": e.url}}.Run(e.t.Context(), args...)
}

// answering runs the program in a terminal where somebody types text.
func (e env) answering(text string, args ...string) (code int, stdout, stderr string) {
	return semel.Call{
		Stdin: strings.NewReader(text), Terminal: true, Env: map[string]string{"SEMEL_REDIS": e.url},
	}.Run(e.t.Context(), args...)
}

// ok runs the program, which must succeed, and returns what it prints.
func (e env) ok(args ...string) string {
	e.t.Helper()
	code, stdout, stderr := e.run(args...)
	require.Empty(e.t, stderr)
	require.Equal(e.t, done, code)
	return stdout
}

// object is ok for a verb that prints one JSON object.
func (e env) object(args ...string) map[string]any {
	e.t.Helper()
	return parse(e.t, e.ok(append(args, "-json")...))
}

// parse reads one JSON object on one line.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, "\n"), text)
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object), text)
	return object
}

// fails runs the program, which must end with that code and say why.
func (e env) fails(code int, why string, args ...string) {
	e.t.Helper()
	got, stdout, stderr := e.run(args...)
	require.Equal(e.t, code, got, stderr)
	require.Contains(e.t, stderr, why)
	require.Empty(e.t, stdout)
}

// state is what show says of a key, "absent" if nothing.
func (e env) state(key string) string {
	e.t.Helper()
	code, stdout, _ := e.run("show", key, "-json")
	if code == notFound {
		return "absent"
	}
	require.Equal(e.t, done, code)
	return parse(e.t, stdout)["state"].(string)
}

// invoice is a key of the application.
func invoice(id string) idempotency.Key { return idempotency.Key{Scope: "invoice", ID: id} }

// digest returns a key's digest as text.
func digest(t *testing.T, key idempotency.Key) string {
	t.Helper()
	d, err := key.Digest()
	require.NoError(t, err)
	return d.String()
}

// complete makes a completed record with a result and returns its digest.
func (e env) complete(key idempotency.Key) string {
	e.t.Helper()
	_, err := idempotency.Do(e.t.Context(), e.guard, key, func(context.Context) (string, error) { return "paid", nil })
	require.NoError(e.t, err)
	return digest(e.t, key)
}

// end makes a run end with an error and returns the key's digest.
func (e env) end(key idempotency.Key, err error) string {
	e.t.Helper()
	_, got := idempotency.Do(e.t.Context(), e.guard, key, func(context.Context) (string, error) { return "", err })
	require.Error(e.t, got)
	return digest(e.t, key)
}

// unknown makes an outcome unknown and returns the key's digest.
func (e env) unknown(key idempotency.Key) string {
	e.t.Helper()
	return e.end(key, idempotency.Unknown(errHandler))
}

// claim leaves a claim behind, as an owner that died, and returns the key's
// digest and the nonce.
func (e env) claim(key idempotency.Key) (name, nonce string) {
	e.t.Helper()
	d, err := key.Digest()
	require.NoError(e.t, err)
	n := idempotency.Nonce([]byte("0123456789abcdef"))
	begun, err := e.store.Begin(e.t.Context(), idempotency.BeginRequest{
		Key: d, Nonce: n, Lease: time.Hour, Label: idempotency.Label(key),
	})
	require.NoError(e.t, err)
	require.Equal(e.t, idempotency.StateClaimed, begun.State)
	return d.String(), hex.EncodeToString(n[:])
}

// runs reports whether the next delivery of a key would run.
func (e env) runs(key idempotency.Key) bool {
	e.t.Helper()
	ran := false
	_, _ = idempotency.Do(e.t.Context(), e.guard, key, func(context.Context) (string, error) {
		ran = true
		return "again", nil
	})
	return ran
}
