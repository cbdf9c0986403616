package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// ls lists records as they are found.
type ls struct {
	scope        scopeFlags
	digest       string
	states       list
	older, newer span
	skip, limit  int
}

func (v *ls) flags(fs *flag.FlagSet) {
	v.scope.flags(fs)
	fs.StringVar(&v.digest, "scope-digest", "", "only this scope, by the `digest` that stats prints")
	fs.Var(&v.states, "state", "only these `states`: claimed, completed, unknown, free")
	fs.Var(&v.older, "older", "only records of at least this `age`, since their outcome, or else since their claim")
	fs.Var(&v.newer, "newer", "only records of at most this `age`")
	fs.IntVar(&v.limit, "limit", 0, "list at most `n`, and say if there are more (default: all)")
	fs.IntVar(&v.skip, "skip", 0, "pass over the first `n`; the order holds only while no records come and go")
}

func (v *ls) run(ctx context.Context, s *session, args []string) error {
	o, err := v.options()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return usage("too many arguments: %q", args)
	}
	op, err := s.operator(ctx, idempotency.Options{}, redisstore.Options{})
	if err != nil {
		return err
	}
	now, found, header := time.Now(), 0, false
	for info, err := range op.List(ctx, o) {
		if err != nil {
			return err
		}
		if !v.wants(info, now) {
			continue
		}
		if found++; found <= v.skip {
			continue
		}
		if v.limit > 0 && found > v.skip+v.limit {
			_, _ = fmt.Fprintf(s.stderr, "semel ls: there are more: -skip %d\n", v.skip+v.limit)
			return nil
		}
		if !s.json && !header {
			header = true
			if err := s.printf(lsFormat, "KEY", "STATE", "AGE", "LEFT", "ATTEMPT", "SIZE", "  NAME"); err != nil {
				return err
			}
		}
		if err := v.print(s, info, now); err != nil {
			return err
		}
	}
	return nil
}

// options returns what the store is to look for.
func (v *ls) options() (idempotency.ListOptions, error) {
	var o idempotency.ListOptions
	scope, err := v.scope.name()
	switch {
	case err != nil:
		return o, err
	case scope != "" && v.digest != "":
		return o, usage("a scope and -scope-digest exclude each other")
	case scope != "":
		o.Scope = idempotency.ScopeDigest(scope)
	case v.digest != "":
		if o.Scope, err = parseScopeDigest(v.digest); err != nil {
			return o, err
		}
	}
	for _, text := range v.states {
		state, ok := parseState(text)
		if !ok {
			return o, usage("there is no state %q: claimed, completed, unknown, free", text)
		}
		o.States = append(o.States, state)
	}
	if v.skip < 0 || v.limit < 0 {
		return o, usage("-skip and -limit must not be negative")
	}
	return o, nil
}

// listed are the states that a record can be listed in.
func listed() []idempotency.State {
	return []idempotency.State{
		idempotency.StateClaimed, idempotency.StateCompleted, idempotency.StateUnknown, idempotency.StateFree,
	}
}

func parseState(text string) (idempotency.State, bool) {
	for _, state := range listed() {
		if state.String() == text {
			return state, true
		}
	}
	return 0, false
}

// wants reports whether a record is of the age that was asked for.
func (v *ls) wants(info idempotency.Info, now time.Time) bool {
	if v.older == 0 && v.newer == 0 {
		return true
	}
	age, known := since(info, now)
	return known && age >= time.Duration(v.older) && (v.newer == 0 || age <= time.Duration(v.newer))
}

const lsFormat = "%-43s  %-9s  %7s  %7s  %7v  %9s%s\n"

func (v *ls) print(s *session, info idempotency.Info, now time.Time) error {
	if s.json {
		return s.printJSON(recordOf(info))
	}
	age := "-"
	if d, known := since(info, now); known {
		age = period(d)
	}
	label := name(info.Record)
	if label != "" {
		label = "  " + label
	}
	return s.printf(lsFormat, info.Key, info.State, age, period(info.Remaining), info.Record.Attempt, quantity(info.Size), label)
}
