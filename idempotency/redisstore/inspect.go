package redisstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redisclient"
)

// overhead is about what Redis spends on a key besides its name and value:
// their headers and an entry in each of two tables. Values are rounded up when
// they are allocated, by an eighth on average.
const overhead = 110

// lookCount is how many keys List looks at in one round trip, so that no server
// is kept from others for long.
const lookCount = 100

// Look implements [idempotency.Inspector]. The time at which a run that is not
// completed was claimed is by the server's clock, not the owner's. Error:
// [idempotency.ErrResultUnavailable] for a record of another version.
func (s *Store) Look(ctx context.Context, key idempotency.Digest) (idempotency.Info, error) {
	if err := check(ctx); err != nil {
		return idempotency.Info{}, fmt.Errorf("redisstore: look: %w", err)
	}
	c := s.lookCall(s.name(key), "a")
	cmd, err := redisclient.Run(ctx, s.redis, &c.Call, redis.NewSliceCmd)
	info, err := s.seen(key, cmd, err)
	if err != nil {
		return idempotency.Info{}, fmt.Errorf("redisstore: look: %w", err)
	}
	return info, nil
}

func (s *Store) lookCall(name string, what any) *call {
	c := &call{}
	c.Begin(s.scripts.look, name)
	c.Add(what)
	return c
}

// seen reads the answer to a look.
func (s *Store) seen(key idempotency.Digest, cmd *redis.SliceCmd, err error) (idempotency.Info, error) {
	info := idempotency.Info{Key: key}
	if err != nil {
		return info, translate(err)
	}
	reply := cmd.Val()
	if len(reply) != 4 {
		return info, redisclient.ErrNoAnswer
	}
	left, _ := reply[0].(int64)
	wait, _ := reply[1].(int64)
	size, _ := reply[2].(int64)
	value, _ := reply[3].(string)
	if left == goneMS {
		return info, nil
	}
	p, err := parse(value)
	if err != nil {
		return info, err
	}
	info.State, info.Waiters, info.Record = p.state, p.waiters, p.record
	info.Remaining = remainingTime(left)
	info.NotBefore = time.Duration(wait) * time.Millisecond
	info.Size = int64(len(s.prefix)+base64.RawURLEncoding.EncodedLen(len(key))) + size + size/8 + overhead
	return info, nil
}

// List implements [idempotency.Inspector], with SCAN on every master. It leaves
// out the bodies of completed records, which Look has, and Redis keys that hold
// something else or a record of another version. It blocks no server for long,
// and reads the names of all keys of each, bindings included. It does not work
// through an AutoPipeliner of a Cluster, which does not let its masters be asked
// one by one: give New the ClusterClient.
func (s *Store) List(ctx context.Context, o idempotency.ListOptions) iter.Seq2[idempotency.Info, error] {
	return func(yield func(idempotency.Info, error) bool) {
		for names, err := range s.redis.Scan(ctx, s.prefix+scopeText(o.Scope)) {
			if err != nil {
				yield(idempotency.Info{}, fmt.Errorf("redisstore: list: %w", err))
				return
			}
			for some := range slices.Chunk(s.digests(names, o.Scope), lookCount) {
				if !s.lookAll(ctx, some, o.States, yield) {
					return
				}
			}
		}
	}
}

// scopeText returns how all digests that begin with scope begin as text: with
// the characters that those bits make up in full.
func scopeText(scope []byte) string {
	return base64.RawURLEncoding.EncodeToString(scope)[:len(scope)*8/6]
}

// digests returns the keys whose records have these names, of one scope.
func (s *Store) digests(names []string, scope []byte) []idempotency.Digest {
	keys := make([]idempotency.Digest, 0, len(names))
	for _, name := range names {
		key, err := idempotency.ParseDigest(name[len(s.prefix):])
		if err == nil && bytes.HasPrefix(key[:], scope) {
			keys = append(keys, key)
		}
	}
	return keys
}

// lookAll yields those of keys that are there, that we understand and that are
// in one of states, without bodies, and reports whether to go on.
func (s *Store) lookAll(
	ctx context.Context, keys []idempotency.Digest, states []idempotency.State,
	yield func(idempotency.Info, error) bool,
) bool {
	calls := make([]*redisclient.Call, len(keys))
	for i, key := range keys {
		calls[i] = &s.lookCall(s.name(key), "h").Call
	}
	cmds, errs := redisclient.RunAll(ctx, s.redis, calls, redis.NewSliceCmd)
	for i, key := range keys {
		info, err := s.seen(key, cmds[i], errs[i])
		switch {
		case errors.Is(err, errForeign) || err == nil && info.State == idempotency.StateAbsent:
			continue
		case err != nil:
			yield(idempotency.Info{}, fmt.Errorf("redisstore: list: %w", err))
			return false
		case len(states) > 0 && !slices.Contains(states, info.State):
			continue
		}
		if !yield(info, nil) {
			return false
		}
	}
	return true
}

// Forget implements [idempotency.Inspector]. A free key that may not be claimed
// yet may be from then on, and is remembered no shorter than before. Its errors
// are [idempotency.ErrInvalid] for a stub out of range, and
// [idempotency.ErrResultUnavailable] for a record of another version, which
// stays.
func (s *Store) Forget(ctx context.Context, key idempotency.Digest, stub time.Duration) (bool, error) {
	c := &call{ms: redisclient.Milliseconds(stub)}
	c.Begin(s.scripts.forget, s.name(key))
	c.Add(&c.ms)
	return s.operate(ctx, "forget", c, stub)
}

// ForceComplete implements [idempotency.Inspector]. The fence that is stored is
// r.Record's if that is above the present one, and otherwise the next one. Its
// errors are those of [Store.Complete] but lock's ErrTaken and ErrExpired, and
// [idempotency.ErrResultUnavailable] for a record of another version, which
// stays.
func (s *Store) ForceComplete(ctx context.Context, r idempotency.CompleteRequest) (bool, error) {
	c, err := s.completeCall(ctx, s.scripts.force, &r)
	if err != nil {
		return false, fmt.Errorf("redisstore: force complete: %w", err)
	}
	n, err := s.runCovered(ctx, c)
	return did("force complete", n, err)
}

// ReleaseDead implements [idempotency.Inspector]. Its errors are
// [idempotency.ErrInvalid] for a stub out of range, and
// [idempotency.ErrResultUnavailable] for a record of another version, which
// stays.
func (s *Store) ReleaseDead(
	ctx context.Context, key idempotency.Digest, nonce idempotency.Nonce, stub time.Duration,
) (bool, error) {
	c := &call{text: string(nonce[:]), ms: redisclient.Milliseconds(stub)}
	c.Begin(s.scripts.releaseDead, s.name(key))
	c.Add(&c.text)
	c.Add(&c.ms)
	return s.operate(ctx, "release dead", c, stub)
}

// operate frees a key for an operator, which is remembered for stub, and
// reports whether there was anything to do.
func (s *Store) operate(ctx context.Context, op string, c *call, stub time.Duration) (bool, error) {
	if err := check(ctx, retention("stub", stub)); err != nil {
		return false, fmt.Errorf("redisstore: %s: %w", op, err)
	}
	n, err := s.run(ctx, c)
	return did(op, n, err)
}

// did reads the answer to what an operator asked for.
func did(op string, n int64, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("redisstore: %s: %w", op, err)
	}
	return n != saysOther, nil
}
