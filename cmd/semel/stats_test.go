package main_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

func TestStats(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		object := e.object("stats")
		require.EqualValues(t, 0, object["total"].(map[string]any)["count"])
		require.EqualValues(t, 0, object["memory"])
		require.Empty(t, object["top_scopes"])

		for _, id := range []string{"a", "b", "c"} {
			e.complete(invoice(id))
		}
		e.unknown(invoice("d"))
		e.complete(idempotency.Key{Scope: "other", ID: "a"})
		e.aged(idempotency.Key{Scope: "other", ID: "b"}, 8*24*time.Hour)

		object = e.object("stats")
		states := object["states"].(map[string]any)
		require.EqualValues(t, 6, object["total"].(map[string]any)["count"])
		require.EqualValues(t, 5, states["completed"].(map[string]any)["count"])
		require.EqualValues(t, 1, states["unknown"].(map[string]any)["count"])
		require.EqualValues(t, 0, states["claimed"].(map[string]any)["count"])
		require.InDelta(t, 8*24*3600, states["completed"].(map[string]any)["oldest_s"], 600)
		require.EqualValues(t, 2, object["scopes"])
		require.EqualValues(t, 6, object["sampled"])
		require.Greater(t, object["memory"], 6*50.0)
		require.Less(t, object["memory"], 6*1000.0)
		top := object["top_scopes"].([]any)
		require.Equal(t, "invoice", top[0].(map[string]any)["scope"])
		require.EqualValues(t, 4, top[0].(map[string]any)["count"])
		scope := top[1].(map[string]any)["digest"].(string)
		require.Equal(t, []string{"a", "b"}, e.ids("-scope-digest", scope))

		text := e.ok("stats", "-top", "1", "-sample", "2")
		require.Regexp(t, `(?m)^completed +5 +\d+ B +8d +\d+m?s$`, text)
		require.Regexp(t, `(?m)^claimed +0 +0 B +- +-$`, text)
		require.Regexp(t, `(?m)^all +6 `, text)
		require.Regexp(t, `(?m)^up to 30d +1$`, text)
		require.Regexp(t, `(?m)^memory +about .+ \(from a sample of 2\)$`, text)
		require.Regexp(t, `(?m)^scopes +2\n  \S{11} +4 .+"invoice"\n$`, text)
		require.Contains(t, e.ok("stats", "-sample", "0"), "by their lengths")
	})
}
