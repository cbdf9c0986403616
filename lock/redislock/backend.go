package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

const (
	// maxBlock is what the value's column holds.
	maxBlock = 9_999_999_999
	// maxFence keeps a fence exact in a script, whose numbers are doubles, also
	// twice as large. The clock in µs reaches it in 2112.
	maxFence = 1<<52 - 1
)

// The negative answers of the scripts.
const (
	saysSpent   = -1 // acquire: the nonce is spent
	saysHeld    = -2 // acquire: minus the ms for which another holds the key
	saysExpired = -1 // others: nobody owns the key
	saysTaken   = -2 // others: another does
)

// errFence is a fence that scripts and callers cannot compare exactly.
var errFence = errors.New("the fence is out of range, as is perhaps the server's clock")

// Acquire implements [lock.Backend]. Its errors are those named there, and
// [lock.ErrInvalid] for a request out of range (Block of 10^10 or more, too) and
// [lock.ErrUnavailable] if too few replicas acknowledged the grant, which is
// then undone.
func (b *Backend) Acquire(ctx context.Context, req lock.Request) (lock.Grant, error) {
	if err := checkRequest(ctx, req); err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: acquire: %w", err)
	}
	if req.Block == 0 {
		return lock.Grant{}, fmt.Errorf("redislock: acquire: field Block is 0: %w", lock.ErrInvalid)
	}
	c := b.newCall(b.scripts.acquire, req.Key)
	c.nonce, c.ttl = req.Nonce, redisclient.Milliseconds(req.TTL)
	c.Add(&c.nonce)
	c.Add(&c.ttl)
	c.Add(blockText(req.Block))
	if req.Waiting {
		c.Add("w")
	}
	var reply int64
	var err error
	if b.redis.Replicas() > 0 {
		reply, err = b.acquireReplicated(ctx, c, req)
	} else {
		reply, err = b.run(ctx, c)
	}
	switch {
	case err != nil:
		return lock.Grant{}, fmt.Errorf("redislock: acquire: %w", err)
	case reply == saysSpent:
		return lock.Grant{}, fmt.Errorf("redislock: acquire: %w", lock.ErrSpent)
	case reply <= saysHeld:
		// In its last millisecond Redis says 0, which here means unknown.
		ms := max(saysHeld-reply, 1)
		return lock.Grant{}, &lock.HeldError{Key: req.Key, Remaining: time.Duration(ms) * time.Millisecond}
	}
	grant := lock.Grant{Fence: uint64(reply), Block: req.Block}
	if err := checkFences(grant); err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: acquire: %w", err)
	}
	return grant, nil
}

// Extend implements [lock.Backend]. Its errors are those named there, and
// [lock.ErrInvalid] for a request out of range and [lock.ErrUnavailable] if too
// few replicas acknowledged the reserved fences. The lease is then extended all
// the same, and the fences must not be used.
func (b *Backend) Extend(ctx context.Context, req lock.Request) (lock.Grant, error) {
	if err := checkRequest(ctx, req); err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: extend: %w", err)
	}
	reply, err := b.runCovered(ctx, b.extendCall(req), req.Block > 0)
	grant, err := extended(req, reply, err)
	if err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: extend: %w", err)
	}
	return grant, nil
}

func (b *Backend) extendCall(req lock.Request) *call {
	c := b.newCall(b.scripts.extend, req.Key)
	c.nonce, c.ttl, c.number = req.Nonce, redisclient.Milliseconds(req.TTL), req.Block
	c.Add(&c.nonce)
	c.Add(&c.ttl)
	c.Add(&c.number)
	return c
}

// extended reads the answer to an extend.
func extended(req lock.Request, reply int64, err error) (lock.Grant, error) {
	if err := refusal(reply, err); err != nil {
		return lock.Grant{}, err
	}
	grant := lock.Grant{Waiters: reply%2 == 1}
	if req.Block > 0 {
		grant.Fence, grant.Block = uint64(reply/2), req.Block
	}
	return grant, checkFences(grant)
}

// Release implements [lock.Backend]. Its errors are those named there, and
// [lock.ErrInvalid] for a request out of range. A key that is kept tells its
// waiters, too: they were told another remaining time.
func (b *Backend) Release(ctx context.Context, req lock.ReleaseRequest) error {
	if err := check(ctx, req.Key, req.Nonce, req.TTL); err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	reply, err := b.run(ctx, b.releaseCall(req))
	if err := refusal(reply, err); err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	return nil
}

func (b *Backend) releaseCall(req lock.ReleaseRequest) *call {
	c := b.newCall(b.scripts.release, req.Key)
	c.nonce, c.ttl, c.keep = req.Nonce, redisclient.Milliseconds(req.TTL), redisclient.Milliseconds(max(req.Keep, 0))
	if req.Fence <= maxFence {
		c.number = req.Fence
	}
	c.Add(&c.nonce)
	c.Add(&c.ttl)
	c.Add(&c.number)
	if c.keep > 0 || req.Compensate {
		c.Add(&c.keep)
	}
	if req.Compensate {
		c.Add("c")
	}
	return c
}

// Raise implements [lock.Raiser]. Its errors are those named there, and
// [lock.ErrUnavailable] if too few replicas acknowledged the fence, which is then
// raised all the same. The owner's fence cannot be raised to 2^52 or more, the
// clock's in the year 2112; the attempt is an error and changes nothing.
func (b *Backend) Raise(ctx context.Context, key, nonce string, fence uint64) error {
	if err := check(ctx, key, nonce, lock.MinTTL); err != nil {
		return fmt.Errorf("redislock: raise: %w", err)
	}
	c := b.newCall(b.scripts.raise, key)
	c.nonce, c.number = nonce, min(fence, maxFence+1) // The script refuses what is too large, from the owner.
	c.Add(&c.nonce)
	c.Add(&c.number)
	reply, err := b.runCovered(ctx, c, true)
	if err := refusal(reply, err); err != nil {
		return fmt.Errorf("redislock: raise: %w", err)
	}
	return nil
}

// Interruptible implements [lock.Interruptible]. It is true on the deferred
// face of an AutoPipeliner, where a wait can be left while the request goes on.
// Other clients return when they have an answer or give up, which may be long
// after the context has ended.
func (b *Backend) Interruptible() bool { return b.redis.Deferred() }

// refusal is the error that a script's answer stands for, or err.
func refusal(reply int64, err error) error {
	switch {
	case err != nil:
		return err
	case reply == saysExpired:
		return lock.ErrExpired
	case reply == saysTaken:
		return lock.ErrTaken
	case reply < 0:
		return fmt.Errorf("unexpected answer %d", reply)
	}
	return nil
}

// checkFences refuses a grant whose fences are not exact.
func checkFences(g lock.Grant) error {
	if g.Fence > maxFence || g.Fence+g.Block > maxFence {
		return errFence
	}
	return nil
}

func checkRequest(ctx context.Context, req lock.Request) error {
	if req.Block > maxBlock {
		return fmt.Errorf("field Block: %d is above %d: %w", req.Block, uint64(maxBlock), lock.ErrInvalid)
	}
	return check(ctx, req.Key, req.Nonce, req.TTL)
}

// check refuses what is out of range, and a context that has ended.
func check(ctx context.Context, key, nonce string, ttl time.Duration) error {
	switch {
	case key == "":
		return fmt.Errorf("field Key is empty: %w", lock.ErrInvalid)
	case nonce == "":
		return fmt.Errorf("field Nonce is empty: %w", lock.ErrInvalid)
	case ttl < lock.MinTTL || ttl > lock.MaxTTL:
		return fmt.Errorf("field TTL: %v is not between %v and %v: %w", ttl, lock.MinTTL, lock.MaxTTL, lock.ErrInvalid)
	}
	return ctx.Err()
}

// blockText is n as the value's column holds it, boxed. A block of one and the
// block of a hand-over cost nothing.
func blockText(n uint64) any {
	switch n {
	case 1:
		return "0000000001"
	case 64:
		return "0000000064"
	}
	return fmt.Sprintf("%010d", n)
}
