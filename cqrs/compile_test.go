package cqrs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is one that sends a command, with a line to be filled in.
const program = `package main

import (
	"context"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

type Pay struct {
	cqrs.Returns[Paid]
	Amount int64
}

type Paid struct{ Number int64 }

type Refund struct{ Amount int64 }

func pay(context.Context, Pay) (Paid, error)        { return Paid{}, nil }
func wrong(context.Context, Pay) (string, error)    { return "", nil }
func refund(context.Context, Refund) (Paid, error)  { return Paid{}, nil }

func run(ctx context.Context, guard *idempotency.Guard, bus *cqrs.Bus) {
	LINE
}

func main() { run(context.Background(), nil, nil) }
`

// TestWrongTypesDoNotCompile runs the compiler over lines that are wrong, each
// beside the line that is right.
func TestWrongTypesDoNotCompile(t *testing.T) {
	t.Parallel()
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	dir := t.TempDir() // the imports are found from where the test runs, in this module
	build := func(t *testing.T, name, line string) string {
		t.Helper()
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".go")
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(program, "LINE", line, 1)), 0o600))
		out, err := exec.CommandContext(t.Context(), goCommand, "vet", file).CombinedOutput()
		if err == nil {
			return ""
		}
		return string(out)
	}
	for name, c := range map[string]struct{ right, wrong, says string }{
		"handler": {
			`_ = cqrs.Register(bus, "pay.v1", pay, cqrs.Options[Pay]{})`,
			`_ = cqrs.Register(bus, "pay.v1", wrong, cqrs.Options[Pay]{})`, "Returning",
		},
		"result of Send": {
			`var p Paid; p, _ = cqrs.Send(ctx, bus, Pay{}); _ = p`,
			`var p string; p, _ = cqrs.Send(ctx, bus, Pay{}); _ = p`, "cannot use",
		},
		"result of Do": {
			`out, _ := cqrs.Do(ctx, bus, &Pay{}); var p Paid = out.Value; _ = p`,
			`out, _ := cqrs.Do(ctx, bus, &Pay{}); var p int = out.Value; _ = p`, "cannot use",
		},
		"command without a result": {
			`_, _ = cqrs.Send(ctx, bus, Pay{})`,
			`_, _ = cqrs.Send(ctx, bus, Refund{})`, "Refund",
		},
		"options of another command": {
			`_, _ = cqrs.Wrap(guard, "refund.v1", refund, cqrs.Options[Refund]{})`,
			`_, _ = cqrs.Wrap(guard, "refund.v1", refund, cqrs.Options[Pay]{})`, "Pay",
		},
		"key of another command": {
			`_ = cqrs.Options[Refund]{KeyFrom: cqrs.RequestKey[Refund]}`,
			`_ = cqrs.Options[Refund]{KeyFrom: cqrs.RequestKey[Pay]}`, "cannot use",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, build(t, name+" right", c.right))
			require.Contains(t, build(t, name+" wrong", c.wrong), c.says)
		})
	}
}
