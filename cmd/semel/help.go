package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
)

// helpText ends with what holds for all verbs.
//
//go:embed help.txt
var helpText string

// help tells what the program can do.
func help(w io.Writer) {
	_, _ = fmt.Fprint(w, "semel looks at the idempotency records that are kept in Redis.\n\n")
	_, _ = fmt.Fprint(w, "usage: semel VERB [flags] [arguments]\n\n")
	for _, e := range verbs() {
		_, _ = fmt.Fprintf(w, "  %-21s %s\n", e.name+space(e.args), e.does)
	}
	_, _ = fmt.Fprintf(w, "  %-21s %s\n\n", "help [VERB]", "show this, or the flags of a verb")
	_, _ = fmt.Fprint(w, helpText)
}

// help is the verb of that name.
func (p program) help(args []string) int {
	if len(args) == 0 {
		help(p.stdout)
		return exitOK
	}
	for _, e := range verbs() {
		if e.name == args[0] {
			verbHelp(p.stdout, e)
			return exitOK
		}
	}
	return p.report("help", usage("there is no verb %q", args[0]))
}

// verbHelp tells how a verb is called.
func verbHelp(w io.Writer, e entry) {
	_, _ = fmt.Fprintf(w, "usage: semel %s [flags]%s\n\n%s\n\nflags:\n", e.name, space(e.args), e.does)
	fs := flagSet(e, &session{})
	fs.SetOutput(w)
	fs.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		line := "  -" + f.Name + space(value)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
			text += " (default " + f.DefValue + ")"
		}
		_, _ = fmt.Fprintf(w, "%s\n        %s\n", line, text)
	})
}

// space puts a blank before text that is not empty.
func space(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}
