package main

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// flagSet returns the flags that a verb takes: those of all verbs, which s
// gets, and its own.
func flagSet(e entry, s *session) *flag.FlagSet {
	fs := flag.NewFlagSet(e.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are told once, by report
	fs.Usage = func() {}
	s.flags(fs)
	e.verb.flags(fs)
	return fs
}

// split separates flags from other arguments, in whatever order they come. It
// knows a digest by its form, because one in 64 begins with a hyphen.
func split(fs *flag.FlagSet, args []string) (flags, rest []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return flags, append(rest, args[i+1:]...)
		}
		if _, err := idempotency.ParseDigest(arg); err == nil || len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		flags = append(flags, arg)
		name, _, whole := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !whole && takesValue(fs.Lookup(name)) && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	return flags, rest
}

// takesValue reports whether a flag's value is in the argument that follows.
func takesValue(f *flag.Flag) bool {
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// span is a duration as a flag. It may be given in days ("7d"), too.
type span time.Duration

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return period(time.Duration(*s))
}

// Set implements flag.Value.
func (s *span) Set(text string) error {
	var d time.Duration
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("not a number of days")
		}
		d = time.Duration(n) * 24 * time.Hour
	} else {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("not a duration such as 90s, 36h or 7d")
		}
	}
	if d < 0 {
		return fmt.Errorf("negative")
	}
	*s = span(d)
	return nil
}

// list is a flag that may be given several times, or with commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value.
func (l *list) Set(text string) error {
	*l = append(*l, strings.Split(text, ",")...)
	return nil
}
