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
}

// Run runs the program.
func (c Call) Run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	p := program{
		stdin: c.Stdin, stdout: &out, stderr: &err, terminal: c.Terminal,
		getenv: func(name string) string { return c.Env[name] },
	}
	code = p.run(ctx, args)
	return code, out.String(), err.String()
}

// Period is how durations are written.
var Period = period
