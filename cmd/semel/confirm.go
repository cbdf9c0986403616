package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
)

// confirm is what a verb that changes something asks before it does.
type confirm struct{ yes bool }

func (c *confirm) flags(fs *flag.FlagSet) {
	fs.BoolVar(&c.yes, "yes", false, "do not ask")
}

// ask tells what is about to happen and returns nil if it may. It does not wait
// for an answer longer than ctx lasts.
func (c *confirm) ask(ctx context.Context, s *session, format string, args ...any) error {
	if c.yes {
		return nil
	}
	if !s.terminal {
		return refused("nobody can be asked here; give -yes")
	}
	// On stderr, where it is seen even if the output goes into a file.
	_, _ = fmt.Fprintf(s.stderr, format+" [y/N] ", args...)
	answer := make(chan string, 1)
	go func() {
		// A terminal cannot be left while it is read from: if ctx ends first,
		// this ends with the program.
		text, _ := bufio.NewReader(s.stdin).ReadString('\n')
		answer <- text
	}()
	select {
	case text := <-answer:
		if !strings.HasSuffix(text, "\n") {
			_, _ = fmt.Fprintln(s.stderr) // The input ended within the line.
		}
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "y" || text == "yes" {
			return nil
		}
		return refused("you did not say yes")
	case <-ctx.Done():
		_, _ = fmt.Fprintln(s.stderr)
		return refused("%w", context.Cause(ctx))
	}
}

// isTerminal reports whether f is a device that is read by characters, and not
// the null device, at which nobody sits.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
