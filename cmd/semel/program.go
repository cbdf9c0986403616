package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// program is the world that a command runs in.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // whether stdin is one, so that somebody can be asked
	getenv         func(string) string
}

// verb is one thing that the program does.
type verb interface {
	// flags defines the verb's own flags.
	flags(fs *flag.FlagSet)
	// run does it. Its error is a usage error, or what failed.
	run(ctx context.Context, s *session, args []string) error
}

// entry is how a verb is called.
type entry struct {
	name, args, does string
	verb             verb
}

// verbs are all that the program can do, in the order of the help.
func verbs() []entry {
	return []entry{
		{"ls", "", "list records", &ls{}},
		{"show", "KEY", "show one record", &show{}},
		{"forget", "KEY", "free a key, whatever its state: the next delivery runs", &forget{}},
		{"release", "KEY [NONCE]", "free a key whose run is dead or whose outcome is unknown", &release{}},
		{"complete", "KEY", "record that a key is done, without a result: for a time no delivery runs", &complete{}},
		{"stats", "", "count records by state, age and scope, and estimate their memory", &stats{}},
		{"doctor", "", "check the servers", &doctor{}},
	}
}

// run does what args say and returns the exit code.
func (p program) run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		help(p.stderr)
		return exitUsage
	}
	name, args := args[0], args[1:]
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		return p.help(args)
	}
	for _, e := range verbs() {
		if e.name == name {
			return p.report(e.name, p.call(ctx, e, args))
		}
	}
	return p.report("", usage("there is no verb %q; see semel help", name))
}

// call parses a verb's arguments and runs it.
func (p program) call(ctx context.Context, e entry, args []string) (err error) {
	s := &session{program: p}
	fs := flagSet(e, s)
	flags, rest := split(fs, args)
	switch err := fs.Parse(flags); {
	case errors.Is(err, flag.ErrHelp):
		verbHelp(p.stdout, e)
		return nil
	case err != nil:
		return usage("%w; see semel help %s", err, e.name)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return e.verb.run(ctx, s, rest)
}

// report tells an error, if there is one, and returns the exit code.
func (p program) report(name string, err error) int {
	if err == nil {
		return exitOK
	}
	if name != "" {
		name = " " + name
	}
	_, _ = fmt.Fprintf(p.stderr, "semel%s: %v\n", name, err)
	return exitCode(err)
}
