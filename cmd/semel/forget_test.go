package main_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
	"github.com/semel-go/semel/idempotency"
)

func TestForget(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key := e.complete(invoice("in_1"))
		require.False(t, e.runs(invoice("in_1")))
		e.fails(refused, "give -yes", "forget", key)
		for _, answer := range []string{"", "\n", "n\n", "no\n", "yep\n"} {
			code, stdout, stderr := e.answering(answer, "forget", key)
			require.Equal(t, refused, code)
			require.Contains(t, stderr, key+" is completed. It has taken effect")
			require.Empty(t, stdout)
		}
		require.Equal(t, "completed", e.state(key))
		for _, answer := range []string{"y\n", "Yes\n"} {
			code, stdout, _ := e.answering(answer, "forget", key, "-cache-ttl", "0s")
			require.Equal(t, done, code)
			require.Regexp(t, `^forgotten; effective everywhere at \S+Z\n$`, stdout)
			require.True(t, e.runs(invoice("in_1")))
		}
		e.fails(notFound, "nothing is known", "forget", digest(t, invoice("no")), "-yes")
	})
}

// TestForgetWaits: it ends when it is effective everywhere, unless told not to
// wait.
func TestForgetWaits(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, start := e.complete(invoice("in_1")), time.Now()
		out := e.ok("forget", key, "-yes", "-cache-ttl", "300ms")
		require.Regexp(t, `^forgotten; effective everywhere at \S+\neffective\n$`, out)
		require.GreaterOrEqual(t, time.Since(start), 300*time.Millisecond)

		key, start = e.complete(invoice("in_2")), time.Now()
		object := e.object("forget", key, "-yes", "-cache-ttl", "1m", "-no-wait")
		require.Equal(t, key, object["key"])
		require.Equal(t, true, object["done"])
		require.Equal(t, "completed", object["state"])
		effective, err := time.Parse(time.RFC3339, object["effective"].(string))
		require.NoError(t, err)
		require.WithinRange(t, effective, start.Add(time.Minute), time.Now().Add(time.Minute))
		require.Less(t, time.Since(start), 30*time.Second)
	})
}

// TestForgetInterrupted: who does not wait is told that it is done, and when it
// will hold.
func TestForgetInterrupted(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key := e.complete(invoice("in_1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, stdout, stderr := semel.Call{Wrote: cancel}.Run(ctx, "forget", key, "-yes", "-cache-ttl", "1m", "-redis", e.url)
	require.Equal(t, failed, code)
	require.Contains(t, stdout, "forgotten")
	require.Contains(t, stderr, "not yet effective everywhere")
	require.True(t, e.runs(invoice("in_1")))
}

// typist does something before it types yes.
type typist func()

func (f typist) Read(b []byte) (int, error) {
	f()
	return copy(b, "y\n"), io.EOF
}

// TestForgetChanged: a yes to one state is none to another.
func TestForgetChanged(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key, _ := e.claim(invoice("in_1"))
	code, _, stderr := semel.Call{Terminal: true, Stdin: typist(func() { e.ok("complete", key, "-yes") })}.
		Run(t.Context(), "forget", key, "-redis", e.url)
	require.Equal(t, refused, code)
	require.Contains(t, stderr, "changed meanwhile: it is completed")
	require.Equal(t, "completed", e.state(key))
}

// TestForgetUnderWay: the run that is forgotten cannot complete any more.
func TestForgetUnderWay(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		_, _ = idempotency.Do(t.Context(), e.guard, invoice("in_1"), func(context.Context) (string, error) {
			e.ok("forget", digest(t, invoice("in_1")), "-yes", "-cache-ttl", "0s")
			return "first", nil
		})
		require.Equal(t, "free", e.state(digest(t, invoice("in_1"))))
		require.True(t, e.runs(invoice("in_1")))
	})
}

// TestAskInterrupted: a question that nobody answers ends with the context.
func TestAskInterrupted(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key := e.complete(invoice("in_1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	silent := typist(func() {
		cancel()
		<-over
	})
	code, _, stderr := semel.Call{Terminal: true, Stdin: silent}.Run(ctx, "forget", key, "-redis", e.url)
	require.Equal(t, refused, code)
	require.Contains(t, stderr, "not done")
	require.Equal(t, "completed", e.state(key))
}
