package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

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
	v.retention = span(24 * time.Hour)
	fs.Var(&v.retention, "retention", "for how long, `T`, it is kept; the application's own is right")
	fs.IntVar(&v.replicas, "replicas", 0, "how many replicas, `n`, must have it: redisstore.Options.Replicas")
}

func (v *complete) run(ctx context.Context, s *session, args []string) error {
	key, _, err := v.key.take(args, 0)
	if err != nil {
		return err
	}
	op, err := s.operator(ctx, idempotency.Options{
		// The lease plays no part, and must not be longer than the retention.
		Lease: idempotency.MinLease, Retention: time.Duration(v.retention),
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
	err = v.confirm.ask(ctx, s, "%v is %v. %s\nComplete it?", key, info.State, completeMeans(info.State))
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
		return s.printJSON(done{key.String(), true, info.State.String()})
	}
	return s.printf("completed, without a result, for %s\n", period(time.Duration(v.retention)))
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

// completeMeans says what it means to complete a key in some state.
func completeMeans(state idempotency.State) string {
	const never = "No delivery will run; each is told that there is no result to replay."
	switch state {
	case idempotency.StateAbsent:
		return "Nothing is known of it: it has never run here, or that was forgotten. " + never
	case idempotency.StateClaimed:
		return "Its run may be under way, and its own outcome will not be recorded. " + never
	}
	return never
}
