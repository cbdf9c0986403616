package main_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/help.txt")
	require.NoError(t, err)
	for _, name := range []string{"help", "-h", "--help"} {
		code, stdout, stderr := semel.Call{}.Run(t.Context(), name)
		require.Equal(t, done, code)
		require.Empty(t, stderr)
		require.Equal(t, string(want), stdout)
	}
	code, stdout, stderr := semel.Call{}.Run(t.Context())
	require.Equal(t, misused, code)
	require.Empty(t, stdout)
	require.Equal(t, string(want), stderr)
}

func TestHelpOfAVerb(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/help_forget.txt")
	require.NoError(t, err)
	for _, args := range [][]string{{"help", "forget"}, {"forget", "-h"}, {"forget", "KEY", "-help"}} {
		code, stdout, stderr := semel.Call{}.Run(t.Context(), args...)
		require.Equal(t, done, code)
		require.Empty(t, stderr)
		require.Equal(t, string(want), stdout)
	}
	for _, verb := range []string{"ls", "show", "release", "complete", "stats", "doctor"} {
		_, stdout, _ := semel.Call{}.Run(t.Context(), "help", verb)
		require.Contains(t, stdout, "usage: semel "+verb)
		require.Contains(t, stdout, "-json")
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	const key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for line, why := range map[string]string{
		"help no":                                "there is no verb",
		"lss":                                    "there is no verb",
		"ls -nope":                               "not defined: -nope",
		"ls x":                                   "too many arguments",
		"ls -state held":                         "there is no state",
		"ls -older soon":                         "not a duration",
		"ls -older -3h":                          "negative",
		"ls -newer xd":                           "number of days",
		"ls -limit -1":                           "must not be negative",
		`show -id 1 -part "a`:                    "not a quoted Go string",
		"ls -scope a -part b":                    "exclude each other",
		"ls -scope a -scope-digest AAAAAAAAAAA":  "exclude each other",
		"ls -scope-digest AAAA":                  "not a scope's digest",
		"show":                                   "which KEY",
		"show short":                             "digest",
		"show -id 1":                             "needs both",
		"show -scope a":                          "needs both",
		"show " + key + " x":                     "too many arguments",
		"show -scope a -id b " + key:             "too many arguments",
		"forget " + key + " -remember 1ms":       "StubFor",
		"forget " + key + " -cache-ttl 2h":       "Cache.TTL",
		"release " + key:                         "which run",
		"release " + key + " 12":                 "not a nonce",
		"complete " + key + " -retention 4000d":  "Retention",
		"complete " + key + " -replicas -1":      "Replicas",
		"stats x":                                "too many arguments",
		"stats -top -1":                          "must not be negative",
		"doctor x":                               "too many arguments",
		"ls -timeout 0s":                         "-timeout",
		"ls -redis http://a/":                    "not understood",
		"ls -redis redis://127.0.0.1:1/zero":     "not understood",
		"ls -redis redis://127.0.0.1:1,b":        "not understood",
		"ls -redis redis://127.0.0.1:1?pool=1":   "not understood",
		"ls -redis redis://:pa/ss@127.0.0.1:1/0": "not understood",
	} {
		e := env{t: t}
		if strings.Contains(line, "-remember") || strings.Contains(line, "-cache-ttl") ||
			strings.Contains(line, "-ret") || strings.Contains(line, "-rep") {
			e = onMiniredis(t)
		} else if !strings.Contains(line, "-redis") {
			e.url = "redis://127.0.0.1:1"
		}
		code, stdout, stderr := e.run(strings.Fields(line)...)
		require.Equal(t, misused, code, "%s: %s", line, stderr)
		require.Contains(t, stderr, why, line)
		require.NotContains(t, stderr, "ss@", line)
		require.Empty(t, stdout, line)
	}
	code, _, stderr := semel.Call{}.Run(t.Context(), "ls")
	require.Equal(t, misused, code)
	require.Contains(t, stderr, "SEMEL_REDIS")
}

// TestUnreachable: a server that is not there, and one that does not answer.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	silent, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	gone, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	for _, addr := range []string{silent.Addr().String(), gone.Addr().String()} {
		e := env{t: t, url: "redis://:secret@" + addr}
		for _, verb := range []string{"ls", "stats", "doctor"} {
			code, stdout, stderr := e.run(verb, "-timeout", "200ms")
			require.Equal(t, failed, code)
			require.Contains(t, stderr, "not reached")
			require.NotContains(t, stderr, "secret")
			require.Empty(t, stdout)
		}
	}
}

func TestPeriod(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                        "0s",
		1234567:                  "1ms",
		59400 * time.Millisecond: "59s",
		60 * time.Second:         "1m",
		61 * time.Second:         "1m1s",
		90 * time.Minute:         "1h30m",
		24 * time.Hour:           "1d",
		171*time.Hour + 1:        "7d3h",
		-90 * time.Second:        "-1m30s",
	} {
		require.Equal(t, want, semel.Period(d))
	}
}
