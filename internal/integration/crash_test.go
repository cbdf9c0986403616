package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
)

// crash is a row of the table in docs/guarantees.md: what a process that is
// killed at a point leaves behind.
type crash struct {
	point   string
	state   idempotency.State // of the key, right after
	effects int               // in all, after a duplicate has been through
	runs    bool              // whether the duplicate ran the function
	becomes string            // the document's words
	then    string
}

var crashes = []crash{
	{"before the claim is sent", idempotency.StateAbsent, 1, true,
		"absent", "runs"},
	{"before the claim's answer is used", idempotency.StateClaimed, 1, true,
		"claimed for the lease", "in progress, then runs"},
	{"while the function runs", idempotency.StateClaimed, 1, true,
		"claimed for the lease", "in progress, then runs, with a higher fence"},
	{"after the function, before completing", idempotency.StateClaimed, 2, true,
		"claimed for the lease", "in progress, then **runs again**: the effect was not recorded"},
	{"while completing, the request cut off", idempotency.StateClaimed, 2, true,
		"claimed for the lease", "in progress, then **runs again**: the effect was not recorded"},
	{"while completing, the request through", idempotency.StateCompleted, 1, false,
		"completed", "replays"},
	{"after completing, before the caller knows", idempotency.StateCompleted, 1, false,
		"completed", "replays"},
}

// row is the crash as the document has it.
func (c crash) row() string {
	return fmt.Sprintf("| %s | %s | %s |", c.point, c.becomes, c.then)
}

func TestCrashTableIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "guarantees.md"))
	require.NoError(t, err)
	for _, c := range crashes {
		require.Contains(t, string(doc), c.row())
	}
	require.Equal(t, len(crashes), strings.Count(string(doc), "in progress, then")+strings.Count(string(doc), "| replays |")+
		strings.Count(string(doc), "| runs |"), "rows of the document that no test shows")
}

func TestCrash(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	for _, c := range crashes {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			c.test(t)
		})
	}
}

func (c crash) test(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	effects := filepath.Join(t.TempDir(), "effects")

	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=crash", "CRASH_POINT="+c.point, "CRASH_EFFECTS="+effects, "CRASH_REDIS="+proxy.Addr())
	started := make(chan struct{}) // closed when cmd.Process may be read
	var said bytes.Buffer
	cmd.Stderr = &said
	if through, ok := strings.CutPrefix(c.point, "while completing, the request "); ok {
		proxy.OnRequest(func(args []string) redistest.Action {
			// On a new server the script is not known by its hash: what counts
			// is its text. Before the effect it is the claim's.
			if !strings.EqualFold(args[0], "EVAL") || !effectDone(effects) {
				return redistest.Action{}
			}
			<-started
			_ = cmd.Process.Kill()
			if through == "through" {
				return redistest.Action{Fate: redistest.CutAfter, Delay: 20 * time.Millisecond}
			}
			return redistest.Action{Fate: redistest.CutBefore}
		})
	}
	require.NoError(t, cmd.Start())
	close(started)
	require.Error(t, cmd.Wait())
	require.Empty(t, said.String())
	require.Equal(t, -1, cmd.ProcessState.ExitCode(), "killed by a signal")

	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	store, err := redisstore.New(rdb, redisstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(store, idempotency.Options{Lease: crashLease, Wait: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close(context.WithoutCancel(t.Context()))) })
	operator, err := guard.Operator()
	require.NoError(t, err)
	digest, err := crashKey.Digest()
	require.NoError(t, err)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		info, err := operator.Look(context.Background(), digest)
		require.NoError(t, err)
		require.Equal(t, c.state.String(), info.State.String())
	}, crashLease/2, 10*time.Millisecond)

	ran := false
	fence, err := idempotency.Do(t.Context(), guard, crashKey, crashEffect(effects, func() { ran = true }))
	require.NoError(t, err)
	require.Equal(t, c.runs, ran)
	fences := effectFences(t, effects)
	require.Len(t, fences, c.effects)
	require.Equal(t, fence, fences[len(fences)-1])
	if len(fences) == 2 {
		require.Greater(t, fences[1], fences[0])
	}
}

func effectDone(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() > 0
}

// effectFences returns the fence of each effect, in order.
func effectFences(t *testing.T, file string) (fences []uint64) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var fence uint64
		var attempt int
		_, err := fmt.Sscan(lines.Text(), &fence, &attempt)
		require.NoError(t, err)
		fences = append(fences, fence)
	}
	return fences
}
