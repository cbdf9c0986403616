package main

import (
	"bytes"
	"context"
	"io"
)

// Call is a call of the program.
type Call struct {
	Stdin    io.Reader
	Terminal bool
	Env      map[string]string
	Wrote    func() // if not nil, called when something was printed
}

// told is a buffer that tells of each write.
type told struct {
	bytes.Buffer
	wrote func()
}

func (b *told) Write(text []byte) (int, error) {
	n, err := b.Buffer.Write(text)
	if b.wrote != nil {
		b.wrote()
	}
	return n, err
}

// Run runs the program.
func (c Call) Run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	out, err := told{wrote: c.Wrote}, bytes.Buffer{}
	p := program{
		stdin: c.Stdin, stdout: &out, stderr: &err, terminal: c.Terminal,
		getenv: func(name string) string { return c.Env[name] },
	}
	code = p.run(ctx, args)
	return code, out.String(), err.String()
}

// Period is how durations are written, PartsOf how a scope is taken apart, and
// IsTerminal whether somebody can be asked.
var (
	Period     = period
	PartsOf    = partsOf
	IsTerminal = isTerminal
)
