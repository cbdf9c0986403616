package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// defaultRemember is longer than a run that lost its claim is likely to go on.
const defaultRemember = 24 * time.Hour

// rememberFlag says how long a freed key remembers its attempt.
func rememberFlag(fs *flag.FlagSet, d *span) {
	*d = span(defaultRemember)
	fs.Var(d, "remember", "for how long, `T`, the freed key remembers its attempt, so that a run which is still under way cannot complete it")
}

// forget frees a key whatever its state.
type forget struct {
	key      keyFlags
	confirm  confirm
	remember span
	cacheTTL span
	noWait   bool
}

func (v *forget) flags(fs *flag.FlagSet) {
	v.key.flags(fs)
	v.confirm.flags(fs)
	rememberFlag(fs, &v.remember)
	v.cacheTTL = span(5 * time.Second)
	fs.Var(&v.cacheTTL, "cache-ttl", "the longest Cache.TTL, `T`, of the application's Guards; 0 if they have no cache")
	fs.BoolVar(&v.noWait, "no-wait", false, "do not wait until it is effective everywhere")
}

// forgotten is what is printed in JSON.
type forgotten struct {
	Key   string `json:"key"`
	Done  bool   `json:"done"`
	State string `json:"state"` // what it was
	// Effective is when no process replays the old outcome any more.
	Effective time.Time `json:"effective"`
}

func (v *forget) run(ctx context.Context, s *session, args []string) error {
	key, _, err := v.key.take(args, 0)
	if err != nil {
		return err
	}
	op, err := s.operator(ctx, idempotency.Options{
		StubFor: time.Duration(v.remember), Cache: idempotency.LocalCache{TTL: time.Duration(v.cacheTTL)},
	}, redisstore.Options{})
	if err != nil {
		return err
	}
	info, err := s.look(ctx, op, key)
	if err != nil {
		return err
	}
	if err := v.confirm.ask(ctx, s, "%v is %v. %s\nForget it?", key, info.State, forgetMeans(info.State)); err != nil {
		return err
	}
	if err := s.unchanged(ctx, op, key, info); err != nil {
		return err
	}
	effective, err := v.do(ctx, s, op, key)
	if err != nil {
		return err
	}
	if s.json {
		err = s.printJSON(forgotten{key.String(), true, info.State.String(), effective.UTC()})
	} else {
		err = s.printf("forgotten; effective everywhere at %s\n", stamp(effective))
	}
	if err != nil || v.noWait {
		return err
	}
	return v.wait(ctx, s, effective)
}

// do forgets, and returns when that is effective everywhere.
func (v *forget) do(ctx context.Context, s *session, op *idempotency.Operator, key idempotency.Digest) (time.Time, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	found, _, err := op.Forget(ctx, key)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("it may be forgotten or not, see semel show: %w", err)
	case !found:
		return time.Time{}, notFound(key)
	}
	// What counts is the application's caches; the Guard here has none.
	return time.Now().Add(time.Duration(v.cacheTTL)), nil
}

// wait waits until then.
func (v *forget) wait(ctx context.Context, s *session, then time.Time) error {
	d := time.Until(then)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		if s.json {
			return nil
		}
		return s.printf("effective\n")
	case <-ctx.Done():
		return fmt.Errorf("it is forgotten, but not yet effective everywhere: %w", context.Cause(ctx))
	}
}

// forgetMeans says what it means to forget a key in some state.
func forgetMeans(state idempotency.State) string {
	switch state {
	case idempotency.StateClaimed:
		return "Its run may be under way: the next delivery will run beside it, and this one's outcome will not be recorded."
	case idempotency.StateCompleted:
		return "It has taken effect: the next delivery will run, and take effect, again."
	case idempotency.StateUnknown:
		return "It may have taken effect: the next delivery will run."
	}
	return "The next delivery will run."
}
