package main_test

import (
	"encoding/base64"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// mask replaces what differs from run to run.
func mask(text string) string {
	for pattern, with := range map[string]string{
		`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`: "<time>",
		`\(-?[0-9a-z]+ ago\)`:                    "(<age> ago)",
		`nonce         [0-9a-f]{32}`:             "nonce         <nonce>",
		`fence         \d{16}`:                   "fence         <fence>",
		`((?:kept|held) for) +[0-9a-z]+`:         "$1      <span>",
		`about \d+ B`:                            "about <size>",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

func TestShow(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		want, err := os.ReadFile("testdata/show.txt")
		require.NoError(t, err)
		completed, unknown := e.complete(invoice("in_1")), e.unknown(invoice("in_2"))
		got := e.ok("show", completed, "-result") + "\n" + e.ok("show", "-scope", "invoice", "-id", "in_2") + "\n"
		require.Equal(t, unknown, digest(t, invoice("in_2")))
		got += e.ok("show", e.end(invoice("in_3"), idempotency.Final(errHandler)))
		require.Equal(t, string(want), mask(got))
	})
}

func TestShowJSON(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key := e.complete(invoice("in_1"))
		object := e.object("show", key)
		require.Equal(t, key, object["key"])
		require.Equal(t, "completed", object["state"])
		require.Equal(t, "invoice", object["scope"])
		require.Equal(t, "in_1", object["id"])
		require.Regexp(t, "^[0-9a-f]{32}$", object["nonce"])
		require.EqualValues(t, 1, object["attempt"])
		require.NotEmpty(t, object["claimed_at"])
		require.NotEmpty(t, object["completed_at"])
		result := object["result"].(map[string]any)
		require.Equal(t, "value", result["kind"])
		require.NotContains(t, result, "data")

		result = e.object("show", key, "-result")["result"].(map[string]any)
		data, err := base64.StdEncoding.DecodeString(result["data"].(string))
		require.NoError(t, err)
		require.Equal(t, `"paid"`, string(data))

		key = e.end(invoice("in_2"), idempotency.Final(errHandler))
		require.NotContains(t, e.ok("show", key, "-json"), errHandler.Error())
		require.Contains(t, e.ok("show", key, "-json", "-result"), `"error":"card declined"`)

		key, nonce := e.claim(invoice("in_3"))
		object = e.object("show", key)
		require.Equal(t, "claimed", object["state"])
		require.Equal(t, nonce, object["nonce"])
		require.NotContains(t, object, "result")
		require.NotContains(t, object, "completed_at")

		key = e.end(invoice("in_4"), errHandler)
		require.Equal(t, "free", e.object("show", key)["state"])
	})
}

func TestShowNothing(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		e.fails(notFound, "nothing is known of", "show", digest(t, invoice("no")))
		key := e.complete(invoice("in_1"))
		e.fails(notFound, "nothing is known of", "show", key, "-prefix", "other:")
	})
}

// TestShowEncrypted: a result whose key the program does not have is not shown,
// and the rest is.
func TestShowEncrypted(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	e.guard = e.guard.With(idempotency.Options{Encryption: idempotency.Encryption{
		Current: "k1", Keys: map[string][]byte{"k1": []byte("0123456789abcdef0123456789abcdef")},
	}})
	key := e.complete(invoice("in_1"))
	object := e.object("show", key, "-result")
	require.Equal(t, "completed", object["state"])
	require.Equal(t, "unavailable", object["result"].(map[string]any)["kind"])
	require.Contains(t, e.ok("show", key, "-result"), "unavailable: ")
}

// TestShowQuotes: what a stranger may have chosen cannot steer a terminal.
func TestShowQuotes(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key := e.complete(invoice("\x1b[2Jevil\n"))
	for _, text := range []string{e.ok("show", key), e.ok("ls")} {
		require.Contains(t, text, `"invoice" "\x1b[2Jevil\n"`)
		require.NotContains(t, text, "\x1b")
	}
}

// TestDigestWithAHyphen: a digest that looks like a flag is none.
func TestDigestWithAHyphen(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key := idempotency.Key{Scope: "a", ID: "x"}
	for digest(t, key)[0] != '-' {
		key.Scope += "a"
	}
	name := e.complete(key)
	require.Equal(t, name, e.object("show", name)["key"])
	require.Equal(t, name, e.object("show", "-prefix", "semel:run:", "-result", name)["key"])
	require.Contains(t, e.ok("show", "-prefix=semel:run:", "--", name), name)
}
