package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// undoTimeout bounds the release of a claim that too few replicas have.
const undoTimeout = time.Second

// What the first byte of the answer to a begin says.
const (
	saysGranted = 'g'
	saysSpent   = 's'
	saysValue   = 'v'
)

// remainingLen is how many digits of an answer tell the remaining time.
const remainingLen = 16

// Begin implements [idempotency.Store]. Begun.Remaining is also set with
// Completed: the time until the record's retention ends.
//
// Its errors are those named there; [idempotency.ErrInvalid] for a lease out of
// range or a zero nonce, nothing having been sent; [lock.ErrUnavailable] if too
// few replicas acknowledged the claim, which is then undone; and
// [idempotency.ErrResultUnavailable] if the Redis key holds something else than
// a record of this version: whether it has run is not known.
func (s *Store) Begin(ctx context.Context, r idempotency.BeginRequest) (idempotency.Begun, error) {
	begun, err := s.begin(ctx, &r)
	if err != nil {
		return idempotency.Begun{}, fmt.Errorf("redisstore: begin: %w", err)
	}
	s.evictions.ask()
	return begun, nil
}

func (s *Store) begin(ctx context.Context, r *idempotency.BeginRequest) (idempotency.Begun, error) {
	if r.Nonce == (idempotency.Nonce{}) {
		return idempotency.Begun{}, fmt.Errorf("field Nonce is zero: %w", idempotency.ErrInvalid)
	}
	if err := check(ctx, lease(r.Lease)); err != nil {
		return idempotency.Begun{}, err
	}
	c := s.beginCall(r)
	if s.redis.Replicas() == 0 {
		return begun(redisclient.Run(ctx, s.redis, &c.Call, redis.NewStringCmd))
	}
	cmd, acked, err := redisclient.RunReplicated(ctx, s.redis, &c.Call, redis.NewStringCmd)
	b, err := begun(cmd, err)
	if err != nil || b.State != idempotency.StateClaimed || acked >= s.redis.Replicas() {
		return b, err
	}
	return idempotency.Begun{}, s.undo(ctx, r, s.redis.TooFew(acked))
}

func (s *Store) beginCall(r *idempotency.BeginRequest) *call {
	c := &call{ms: redisclient.Milliseconds(r.Lease)}
	c.Begin(s.scripts.begin, s.name(r.Key))

	var buf [128]byte
	b := append(buf[:0], format, 'c', '-', shape(&r.Fingerprint, r.Label))
	b = append(b, r.Nonce[:]...)
	if r.Fingerprint != (idempotency.Fingerprint{}) {
		b = append(b, r.Fingerprint[:]...)
	}
	b = append(b, r.Label...)
	text := string(b)
	c.text, c.more = text[:fenceAt], text[fenceAt:]

	c.Add(&c.text)
	c.Add(&c.ms)
	if r.Waiting {
		c.Add("w")
	} else {
		c.Add("-")
	}
	c.Add(&c.more)
	return c
}

// undo gives back a claim that too few replicas have, for the reason err. The
// claim was not seen by anybody, so that it can be undone here. The caller's
// context may end meanwhile, and what it leaves is then in doubt.
func (s *Store) undo(ctx context.Context, r *idempotency.BeginRequest, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_, undoErr := s.run(ctx, s.releaseCall(&idempotency.ReleaseRequest{
		Key: r.Key, Nonce: r.Nonce, TTL: r.Lease, Compensate: true,
	}))
	if undoErr != nil {
		return fmt.Errorf("%w; and could not be undone: %w", err, undoErr)
	}
	return err
}

// begun reads the answer to a begin.
func begun(cmd *redis.StringCmd, err error) (idempotency.Begun, error) {
	if err != nil {
		return idempotency.Begun{}, translate(err)
	}
	reply := cmd.Val()
	if reply == "" {
		return idempotency.Begun{}, redisclient.ErrNoAnswer
	}
	kind, rest := reply[0], reply[1:]
	switch {
	case kind == saysSpent:
		return idempotency.Begun{}, lock.ErrSpent
	case kind == saysGranted && len(rest) == headLen-fenceAt:
		return granted(rest)
	case kind == saysValue && len(rest) >= remainingLen:
		return refused(rest[:remainingLen], rest[remainingLen:])
	}
	return idempotency.Begun{}, fmt.Errorf("unexpected answer %.80q", reply)
}

// granted reads the fence and the attempt of a claim.
func granted(text string) (idempotency.Begun, error) {
	const fenceLen = attemptAt - fenceAt
	fence, err := strconv.ParseUint(text[:fenceLen], 10, 64)
	if err != nil || fence > maxFence {
		return idempotency.Begun{}, errFence
	}
	attempt, err := strconv.ParseUint(text[fenceLen:], 10, 32)
	if err != nil {
		return idempotency.Begun{}, fmt.Errorf("unexpected attempt: %w", err)
	}
	return idempotency.Begun{State: idempotency.StateClaimed, Fence: fence, Attempt: uint32(attempt)}, nil
}

// refused reads what stands in the way, and for how long it will.
func refused(remaining, value string) (idempotency.Begun, error) {
	p, err := parse(value)
	if err != nil {
		return idempotency.Begun{}, err
	}
	left, err := strconv.ParseInt(remaining, 10, 64)
	if err != nil {
		return idempotency.Begun{}, fmt.Errorf("unexpected remaining time: %w", err)
	}
	b := idempotency.Begun{State: p.state, Remaining: remainingTime(left)}
	switch p.state {
	case idempotency.StateCompleted:
		b.Record = p.record
	case idempotency.StateClaimed:
		b.State, b.Fingerprint = idempotency.StateHeld, p.record.Fingerprint
	case idempotency.StateUnknown:
		b.Fingerprint = p.record.Fingerprint
	}
	return b, nil
}
