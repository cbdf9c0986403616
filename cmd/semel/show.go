package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// show prints all that is known of one key.
type show struct {
	key  keyFlags
	data bool
}

func (v *show) flags(fs *flag.FlagSet) {
	v.key.flags(fs)
	fs.BoolVar(&v.data, "result", false, "print the recorded result, too: it may be confidential")
}

func (v *show) run(ctx context.Context, s *session, args []string) error {
	key, _, err := v.key.take(args, 0)
	if err != nil {
		return err
	}
	op, err := s.operator(ctx, idempotency.Options{}, redisstore.Options{})
	if err != nil {
		return err
	}
	info, err := s.look(ctx, op, key)
	if err != nil {
		return err
	}
	r := recordOf(info)
	r.Result = resultOf(op, info, v.data)
	if s.json {
		return s.printJSON(r)
	}
	return fields(s.stdout, v.lines(info, r)...)
}

// lines returns the names and values that are printed.
func (v *show) lines(info idempotency.Info, r record) []string {
	lines := []string{
		"key", r.Key,
		"name", name(info.Record),
		"state", r.State,
		leftName(info.State), period(info.Remaining),
	}
	if info.NotBefore > 0 {
		lines = append(lines, "not before", "in "+period(info.NotBefore))
	}
	lines = append(lines,
		"claimed", ago(claimedAt(info)),
		"completed", ago(info.Record.CompletedAt),
		"attempt", strconv.FormatUint(uint64(r.Attempt), 10),
		"fence", strconv.FormatUint(r.Fence, 10),
		"nonce", r.Nonce,
		"fingerprint", r.Fingerprint,
	)
	if info.State == idempotency.StateClaimed && info.Waiters {
		lines = append(lines, "waiters", "yes")
	}
	lines = append(lines, "size", "about "+quantity(info.Size))
	if r.Result == nil {
		return lines
	}
	what := r.Result.Kind
	switch {
	case r.Result.Kind == "unavailable":
		what += ": " + r.Result.Why
	case r.Result.Codec != "":
		what += fmt.Sprintf(", %q, %s", r.Result.Codec, quantity(int64(r.Result.Bytes)))
	case r.Result.Bytes > 0:
		what += ", " + quantity(int64(r.Result.Bytes))
	}
	lines = append(lines, "result", what)
	if r.Result.HTTP != nil {
		return append(lines, r.Result.HTTP.lines()...)
	}
	if v.data && r.Result.Bytes > 0 && r.Result.Kind != "unavailable" {
		// Quoted, as all that a stranger may have written.
		lines = append(lines, "", strconv.Quote(r.Result.Error+string(r.Result.Data)))
	}
	return lines
}

// leftName says what the remaining time of a state is.
func leftName(state idempotency.State) string {
	switch state {
	case idempotency.StateClaimed:
		return "lease ends in"
	case idempotency.StateUnknown:
		return "held for"
	}
	return "kept for"
}

// ago writes an instant and how long that is ago.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", stamp(t), period(time.Since(t)))
}
