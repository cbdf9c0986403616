package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// errForeign is a Redis key with a record's name that does not hold one, or
// holds one that a later version wrote. Whether it has run is not known, so it
// is not run.
var errForeign = fmt.Errorf("the Redis key holds something that is not a record of this version: %w",
	idempotency.ErrResultUnavailable)

// errFence is a fence that scripts and callers cannot compare exactly.
var errFence = errors.New("the fence is out of range, as is perhaps the server's clock")

// The answers of the scripts that return a number. None returns 0.
const (
	saysDone    = 1
	saysOther   = 2  // nothing was done: bind, forget, force, releasedead
	saysLate    = 3  // stored, but the claim was over: complete
	saysExpired = -1 // nobody owns the key
	saysTaken   = -2 // another does
)

// meaning returns what a script's answer stands for: number, or an error. Any
// that is not named by the interfaces means that the call is in doubt.
func meaning(cmd *redis.IntCmd, err error) (int64, error) {
	if err != nil {
		return 0, translate(err)
	}
	switch n := cmd.Val(); n {
	case saysDone, saysOther, saysLate:
		return n, nil
	case saysExpired:
		return 0, lock.ErrExpired
	case saysTaken:
		return 0, lock.ErrTaken
	case 0:
		return 0, redisclient.ErrNoAnswer
	default:
		return 0, fmt.Errorf("unexpected answer %d", n)
	}
}

// translate finds out what a server's error says of a key.
func translate(err error) error {
	// Before version 7 a server wraps a script's errors into a text of its own.
	if redisclient.IsWrongType(err) || strings.Contains(err.Error(), "SEMEL not a record") {
		return fmt.Errorf("%w (%w)", errForeign, err)
	}
	return err
}

// check refuses a context that has ended and durations that are out of range.
func check(ctx context.Context, durations ...duration) error {
	for _, d := range durations {
		if d.value < idempotency.MinLease || d.value > d.most {
			return fmt.Errorf("field %s: %v is not between %v and %v: %w",
				d.name, d.value, idempotency.MinLease, d.most, idempotency.ErrInvalid)
		}
	}
	return ctx.Err()
}

// duration is one that is to be checked.
type duration struct {
	name        string
	value, most time.Duration
}

func lease(d time.Duration) duration { return duration{"Lease", d, idempotency.MaxLease} }

func retention(name string, d time.Duration) duration {
	return duration{name, d, idempotency.MaxRetention}
}

// checkRecord refuses a record that a value cannot hold.
func checkRecord(r idempotency.Record) error {
	switch {
	case r.Fence > maxFence:
		return fmt.Errorf("field Record.Fence: %d is not below 2^52: %w", r.Fence, idempotency.ErrInvalid)
	case uint64(len(r.Label)) > maxLabel:
		return fmt.Errorf("field Record.Label has %d bytes: %w", len(r.Label), idempotency.ErrInvalid)
	case !storable(r.ClaimedAt) || !storable(r.CompletedAt):
		return fmt.Errorf("field Record.ClaimedAt or Record.CompletedAt is out of range: %w", idempotency.ErrInvalid)
	}
	return nil
}
