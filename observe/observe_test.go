package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/observe"
)

// logged returns the record that Slog writes for e, nil if none.
func logged(t *testing.T, level slog.Level, o observe.SlogOptions, e observe.Event) map[string]any {
	t.Helper()
	var text bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&text, &slog.HandlerOptions{Level: level}))
	observe.Slog(logger, o).Observe(t.Context(), e)
	if text.Len() == 0 {
		return nil
	}
	var record map[string]any
	require.NoError(t, json.Unmarshal(text.Bytes(), &record))
	return record
}

func TestSlog(t *testing.T) {
	t.Parallel()
	e := observe.Event{
		Kind: observe.Lost, Key: "invoice:jane@example.org", Fence: 1 << 60, Wait: 1500 * time.Millisecond,
		Held: time.Second, Ahead: 3, Err: errors.New("boom"),
	}
	got := logged(t, slog.LevelWarn, observe.SlogOptions{}, e)
	require.Equal(t, "semel: lost", got["msg"])
	require.Equal(t, "lost", got["event"])
	require.Equal(t, e.Digest(), got["key_digest"])
	require.NotContains(t, got, "key")
	require.InDelta(t, 1.5, got["wait_seconds"], 0)
	require.InDelta(t, 1.0, got["held_seconds"], 0)
	require.InDelta(t, 3.0, got["ahead"], 0)
	require.Equal(t, "boom", got["error"])
	require.Contains(t, got, "fence")

	require.Equal(t, e.Key, logged(t, slog.LevelWarn, observe.SlogOptions{ShowKeys: true}, e)["key"])
	require.Nil(t, logged(t, slog.LevelWarn, observe.SlogOptions{Levels: map[observe.Kind]slog.Level{observe.Lost: slog.LevelInfo}}, e))
	require.Len(t, logged(t, slog.LevelDebug, observe.SlogOptions{}, observe.Event{Kind: observe.Renewed}), 4, "what is zero is left out")
}

// TestSlogTellsWhatWentWrong: with the defaults of slog, a program's log shows
// what failed, was refused or needs a person, and not the ordinary course.
func TestSlogTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	quiet := map[observe.Kind]bool{
		observe.Acquired: true, observe.Contended: true, observe.NotAcquired: true, observe.Renewed: true, observe.Released: true,
		observe.HandedOver: true, observe.Executed: true, observe.Replayed: true, observe.InProgress: true,
		observe.PassedThrough: true,
	}
	for _, kind := range kinds(t) {
		require.Equal(t, quiet[kind], logged(t, slog.LevelInfo, observe.SlogOptions{}, observe.Event{Kind: kind}) == nil, kind)
	}
	got := logged(t, slog.LevelError, observe.SlogOptions{}, observe.Event{Kind: observe.CompleteRefused})
	require.NotNil(t, got, "an effect may have happened twice")
}

// kinds returns every Kind that the package declares.
func kinds(t *testing.T) (all []observe.Kind) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "Kind" && len(spec.Values) == 1 {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				all = append(all, observe.Kind(text))
			}
			return true
		})
	}
	require.Greater(t, len(all), 25)
	return all
}

func TestDigest(t *testing.T) {
	t.Parallel()
	require.Empty(t, observe.Event{}.Digest())
	a, b := observe.Event{Key: "a"}, observe.Event{Key: "b"}
	require.Len(t, a.Digest(), 16)
	require.NotEqual(t, a.Digest(), b.Digest())
	require.Equal(t, "4-C-Rb2G", observe.Event{Key: "4-C-Rb2G", Digested: true}.Digest())
}

func TestMulti(t *testing.T) {
	t.Parallel()
	var told []string
	to := func(name string) observe.Observer {
		return observe.Func(func(_ context.Context, e observe.Event) { told = append(told, name+string(e.Kind)) })
	}
	observe.Multi(to("1"), nil, to("2")).Observe(t.Context(), observe.Event{Kind: "x"})
	require.Equal(t, []string{"1x", "2x"}, told)
}
