package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// ids returns the ids that ls lists, in order.
func (e env) ids(args ...string) []string {
	e.t.Helper()
	ids := []string{}
	for line := range strings.Lines(e.ok(append([]string{"ls", "-json"}, args...)...)) {
		var r struct{ ID string }
		require.NoError(e.t, json.Unmarshal([]byte(line), &r), line)
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestLs(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		require.Empty(t, e.ok("ls"))
		e.complete(invoice("done"))
		e.unknown(invoice("unknown"))
		e.claim(invoice("claimed"))
		free := e.end(invoice("free"), errHandler) // It does not keep its name.
		joined := e.complete(idempotency.Key{Scope: idempotency.Scope("http", "shop"), ID: "post"})

		require.Equal(t, []string{"", "claimed", "done", "post", "unknown"}, e.ids())
		require.Equal(t, []string{"", "claimed", "done", "unknown"}, e.ids("-scope", "invoice"))
		require.Equal(t, []string{"post"}, e.ids("-part", "http", "-part", "shop"))
		require.Equal(t, []string{"post"}, e.ids("-scope-digest", joined[:10]+scopeEnd(t, joined)))
		require.Empty(t, e.ids("-scope", "other"))
		require.Equal(t, []string{"unknown"}, e.ids("-state", "unknown"))
		require.Equal(t, []string{"", "claimed"}, e.ids("-state", "claimed,free"))
		require.Equal(t, []string{"done", "unknown"}, e.ids("-scope=invoice", "-state", "completed", "-state", "unknown"))
		require.Equal(t, free, e.object("ls", "-state", "free")["key"])
		require.Len(t, e.ids("-newer", "1d"), 5)
		require.Empty(t, e.ids("-older", "1h"))

		lines := strings.Split(strings.TrimSpace(e.ok("ls", "-state", "completed", "-scope", "invoice")), "\n")
		require.Len(t, lines, 2)
		require.Regexp(t, `^KEY +STATE +AGE +LEFT +ATTEMPT +SIZE +NAME$`, lines[0])
		require.Regexp(t, `^\S{43}  completed +\S+ +(1d|23h59m) +1 +\d+ B  "invoice" "done"$`, lines[1])
	})
}

// scopeEnd returns the last character of the scope's digest: the last bits of
// the 11th belong to the key.
func scopeEnd(t *testing.T, key string) string {
	t.Helper()
	d, err := idempotency.ParseDigest(key)
	require.NoError(t, err)
	clear(d[8:])
	return d.String()[10:11]
}

// TestLsAge uses records whose owner's clock is off.
func TestLsAge(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		for id, age := range map[string]time.Duration{"new": time.Minute, "day": 25 * time.Hour, "week": 8 * 24 * time.Hour} {
			e.aged(invoice(id), age)
		}
		require.Equal(t, []string{"day", "week"}, e.ids("-older", "1d"))
		require.Equal(t, []string{"week"}, e.ids("-older", "7d"))
		require.Equal(t, []string{"day", "new"}, e.ids("-newer", "48h"))
		require.Equal(t, []string{"day"}, e.ids("-newer", "48h", "-older", "1h"))
	})
}

// aged makes a record that was completed some time ago, by its owner's clock.
func (e env) aged(key idempotency.Key, age time.Duration) {
	e.t.Helper()
	d, err := key.Digest()
	require.NoError(e.t, err)
	at := time.Now().Add(-age).Truncate(time.Millisecond)
	_, err = e.store.Complete(e.t.Context(), idempotency.CompleteRequest{
		Key: d, Retention: 30 * 24 * time.Hour,
		Record: idempotency.Record{
			Nonce: idempotency.Nonce(d[:16]), Fence: 1, Attempt: 1, ClaimedAt: at, CompletedAt: at, Label: idempotency.Label(key),
		},
	})
	require.NoError(e.t, err)
}

// TestLsPages: pages are disjoint and complete, and it is told that there are
// more.
func TestLsPages(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		for i := range 25 {
			e.complete(invoice(fmt.Sprint(i)))
		}
		seen := map[string]bool{}
		for skip := 0; skip < 25; skip += 10 {
			code, stdout, stderr := e.run("ls", "-json", "-limit", "10", "-skip", fmt.Sprint(skip))
			require.Equal(t, done, code)
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			require.Len(t, lines, min(10, 25-skip))
			for _, line := range lines {
				seen[parse(t, line+"\n")["id"].(string)] = true
			}
			if skip < 20 {
				require.Contains(t, stderr, fmt.Sprintf("-skip %d", skip+10))
			} else {
				require.Empty(t, stderr)
			}
		}
		require.Len(t, seen, 25)
		require.Empty(t, e.ok("ls", "-limit", "10", "-skip", "25"))
	})
}
