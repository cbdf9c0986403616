package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redisclient"
)

// Renew implements [idempotency.Store]. Its errors are those named there, and
// [idempotency.ErrInvalid] for a lease out of range.
func (s *Store) Renew(ctx context.Context, r idempotency.RenewRequest) error {
	if err := check(ctx, lease(r.Lease)); err != nil {
		return fmt.Errorf("redisstore: renew: %w", err)
	}
	if _, err := s.run(ctx, s.renewCall(&r)); err != nil {
		return fmt.Errorf("redisstore: renew: %w", err)
	}
	return nil
}

func (s *Store) renewCall(r *idempotency.RenewRequest) *call {
	c := &call{text: string(r.Nonce[:]), ms: redisclient.Milliseconds(r.Lease)}
	c.Begin(s.scripts.renew, s.name(r.Key))
	c.Add(&c.text)
	c.Add(&c.ms)
	return c
}

// Node implements [idempotency.BatchRenewer]: the address of the Cluster master
// or the Ring shard that the client believes to have key. It is "" for a single
// server, while a Cluster client has not yet loaded its table, and for an
// AutoPipeliner, which puts requests into batches by itself, each for its node.
func (s *Store) Node(key idempotency.Digest) string { return s.redis.Node(s.name(key)) }

// RenewBatch implements [idempotency.BatchRenewer]. Claims on several nodes are
// renewed, too; a node that does not answer then holds up the others.
func (s *Store) RenewBatch(ctx context.Context, rs []idempotency.RenewRequest) []error {
	errs := make([]error, len(rs))
	calls := make([]*redisclient.Call, 0, len(rs))
	sent := make([]int, 0, len(rs)) // which of rs are in the batch
	for i := range rs {
		if err := check(ctx, lease(rs[i].Lease)); err != nil {
			errs[i] = fmt.Errorf("redisstore: renew: %w", err)
			continue
		}
		calls = append(calls, &s.renewCall(&rs[i]).Call)
		sent = append(sent, i)
	}
	cmds, failed := redisclient.RunAll(ctx, s.redis, calls, redis.NewIntCmd)
	for n, i := range sent {
		if _, err := meaning(cmds[n], failed[n]); err != nil {
			errs[i] = fmt.Errorf("redisstore: renew: %w", err)
		}
	}
	return errs
}

// Complete implements [idempotency.Store]. Its errors are those named there;
// [idempotency.ErrInvalid] for a retention out of range or a record that cannot
// be stored (fences of 2^52 and above, times some millennia from now), nothing
// having been sent; and [lock.ErrUnavailable] if too few replicas acknowledged
// the record, which is then stored all the same: it can be completed again.
func (s *Store) Complete(ctx context.Context, r idempotency.CompleteRequest) (late bool, err error) {
	c, err := s.completeCall(ctx, s.scripts.complete, &r)
	if err != nil {
		return false, fmt.Errorf("redisstore: complete: %w", err)
	}
	n, err := s.runCovered(ctx, c)
	if err != nil {
		return false, fmt.Errorf("redisstore: complete: %w", err)
	}
	return n == saysLate, nil
}

// completeCall returns a call that stores r's record.
func (s *Store) completeCall(
	ctx context.Context, script *redisclient.Script, r *idempotency.CompleteRequest,
) (*call, error) {
	if err := check(ctx, retention("Retention", r.Retention)); err != nil {
		return nil, err
	}
	if err := checkRecord(r.Record); err != nil {
		return nil, err
	}
	c := &call{text: encode(&r.Record), ms: redisclient.Milliseconds(r.Retention)}
	c.Begin(script, s.name(r.Key))
	c.Add(&c.text)
	c.Add(&c.ms)
	return c, nil
}

// Release implements [idempotency.Store]. A free key is remembered for r.TTL
// after the time before which it may not be claimed. Its errors are those named
// there; [idempotency.ErrInvalid] for a duration out of range, nothing having
// been sent; and [lock.ErrUnavailable] if too few replicas acknowledged that the
// outcome is unknown, which is then stored all the same.
func (s *Store) Release(ctx context.Context, r idempotency.ReleaseRequest) error {
	if err := checkRelease(ctx, &r); err != nil {
		return fmt.Errorf("redisstore: release: %w", err)
	}
	// A lost release is a claim that ends later. A lost "unknown" is one that
	// runs again although it may have taken effect.
	run := s.run
	if r.Unknown > 0 {
		run = s.runCovered
	}
	if _, err := run(ctx, s.releaseCall(&r)); err != nil {
		return fmt.Errorf("redisstore: release: %w", err)
	}
	return nil
}

func checkRelease(ctx context.Context, r *idempotency.ReleaseRequest) error {
	for _, d := range []duration{retention("NotBefore", r.NotBefore), retention("Unknown", r.Unknown)} {
		if d.value > d.most {
			return fmt.Errorf("field %s: %v is above %v: %w", d.name, d.value, d.most, idempotency.ErrInvalid)
		}
	}
	return check(ctx, retention("TTL", r.TTL))
}

func (s *Store) releaseCall(r *idempotency.ReleaseRequest) *call {
	c := &call{text: string(r.Nonce[:])}
	c.Begin(s.scripts.release, s.name(r.Key))
	how := "-"
	switch {
	case r.Unknown > 0:
		how, c.ms = "u", redisclient.Milliseconds(r.Unknown)
	default:
		c.after = redisclient.Milliseconds(max(r.NotBefore, 0))
		c.ms = redisclient.Milliseconds(r.TTL) + c.after
		if r.Compensate {
			how = "c"
		}
	}
	c.Add(&c.text)
	c.Add(&c.ms)
	c.Add(&c.after)
	c.Add(how)
	return c
}

// Bind implements [idempotency.Binder]. Its errors are
// [idempotency.ErrInvalid] for a ttl out of range, nothing having been sent;
// [lock.ErrUnavailable] if too few replicas acknowledged the binding, which
// then stands all the same; and any other means that it may stand.
func (s *Store) Bind(ctx context.Context, id, value idempotency.Digest, ttl time.Duration) (same bool, err error) {
	if err := check(ctx, retention("ttl", ttl)); err != nil {
		return false, fmt.Errorf("redisstore: bind: %w", err)
	}
	c := &call{text: "1b" + string(value[:]), ms: redisclient.Milliseconds(ttl)}
	c.Begin(s.scripts.bind, s.bindingName(id))
	c.Add(&c.text)
	c.Add(&c.ms)
	n, err := s.runCovered(ctx, c)
	if err != nil {
		return false, fmt.Errorf("redisstore: bind: %w", err)
	}
	return n != saysOther, nil
}
