package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// defaultComplete is longer than any sender is known to go on delivering.
const defaultComplete = 30 * 24 * time.Hour

// complete records that a key is done, without a result.
type complete struct {
	key       keyFlags
	confirm   confirm
	retention span
	replicas  int
}

func (v *complete) flags(fs *flag.FlagSet) {
	v.key.flags(fs)
	v.confirm.flags(fs)
	fs.Var(&v.retention, "retention", "for how long, `T`, no delivery runs it; at least as long as the sender "+
		"may deliver it again (default: 30d, or what remains of the key's hold if that is longer)")
	fs.IntVar(&v.replicas, "replicas", 0, "how many replicas, `n`, must have it: redisstore.Options.Replicas")
}

func (v *complete) run(ctx context.Context, s *session, args []string) error {
	key, _, err := v.key.take(args, 0)
	if err != nil {
		return err
	}
	op, err := s.operator(ctx, idempotency.Options{
		// The lease plays no part, and must not be longer than the retention.
		Lease: idempotency.MinLease, Retention: cmp.Or(time.Duration(v.retention), defaultComplete),
	}, redisstore.Options{Replicas: v.replicas})
	if err != nil {
		return err
	}
	info, err := s.look(ctx, op, key)
	if err != nil && exitCode(err) != exitNotFound {
		return err
	}
	if info.State == idempotency.StateCompleted {
		return refused("the key is completed already, and an outcome is final; see semel show")
	}
	keep := v.keep(info)
	if op, err = s.guard.With(idempotency.Options{Retention: keep}).Operator(); err != nil {
		return err
	}
	err = v.confirm.ask(ctx, s, "%v is %v. %s\nComplete it?", key, info.State, completeMeans(info, keep))
	if err != nil {
		return err
	}
	if err := s.unchanged(ctx, op, key, info); err != nil {
		return err
	}
	if err := v.do(ctx, s, op, key); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(completed{done{key.String(), true, info.State.String()}, keep.Milliseconds()})
	}
	return s.printf("completed, without a result: no delivery will run it for %s; after that it runs again\n", period(keep))
}

// completed is what is printed in JSON.
type completed struct {
	done
	RemainingMS int64 `json:"remaining_ms"`
}

// keep returns for how long the key is completed. Unless the operator says
// otherwise that is never shorter than it would have been held without.
func (v *complete) keep(info idempotency.Info) time.Duration {
	if v.retention > 0 {
		return time.Duration(v.retention)
	}
	return min(max(info.Remaining, defaultComplete), idempotency.MaxRetention)
}

func (v *complete) do(ctx context.Context, s *session, op *idempotency.Operator, key idempotency.Digest) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	completed, err := op.ForceComplete(ctx, key, idempotency.Result{Kind: idempotency.KindTombstone})
	switch {
	case err != nil:
		return fmt.Errorf("it may be completed or not, see semel show: %w", err)
	case !completed:
		return refused("the key was completed meanwhile; see semel show")
	}
	return nil
}

// completeMeans says what it means to complete a key for as long as keep says.
func completeMeans(info idempotency.Info, keep time.Duration) string {
	means := fmt.Sprintf("No delivery will run it for %s; after that it runs again. "+
		"Until then each is told that there is no result to replay.", period(keep))
	switch {
	case info.State == idempotency.StateAbsent:
		return "Nothing is known of it: it has never run here, or that was forgotten. " + means
	case info.State == idempotency.StateClaimed:
		return "Its run may be under way, and its own outcome will not be recorded. " + means
	case info.State == idempotency.StateUnknown && keep < info.Remaining:
		return means + fmt.Sprintf(" As it is, it is held for %s, which is longer.", period(info.Remaining))
	}
	return means
}
