package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

var (
	_ lock.Backend       = (*Backend)(nil)
	_ lock.BatchExtender = (*Backend)(nil)
	_ lock.Inspector     = (*Backend)(nil)
	_ lock.Interruptible = (*Backend)(nil)
	_ lock.Raiser        = (*Backend)(nil)
	_ lock.Waiter        = (*Backend)(nil)
)

// Client is what is asked of a go-redis client. These have it:
//
//   - *redis.Client, for one server or, made by NewFailoverClient, for the
//     primary that Sentinel names;
//   - *redis.ClusterClient;
//   - *redis.AutoPipeliner of either, both the blocking face (AutoPipeline) and
//     the deferred one (AsyncAutoPipeline), which puts the requests of many
//     goroutines into one write. On the deferred face a method returns at once
//     when its context ends, see [Backend.Interruptible];
//   - *redis.Ring, see Options.FixedRing.
//
// A type that embeds one of them counts as that one. A wrapper that hides the
// other methods of a ClusterClient or a Ring is taken for a single server's
// client, for which it must not be used.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

const defaultPrefix = "semel:lock:"

// Options configures [New]. The zero value is ready to use.
type Options struct {
	// Prefix begins the name of every Redis key and channel. Lockers with
	// different prefixes do not see each other's keys.
	// Default: "semel:lock:".
	Prefix string

	// Replicas is how many replicas must have acknowledged a grant before it
	// counts (WAIT). If fewer do, the grant is undone and Acquire fails with an
	// error that matches lock.ErrUnavailable. It narrows what a failover can
	// lose; it does not end it. Every acquire, also a refused one, then takes
	// as long as the replicas need. Not possible with an AutoPipeliner, where
	// it would hold up everybody's requests.
	// Default: 0, the primary's word is enough.
	Replicas int

	// ReplicaTimeout is how long to wait for the replicas, rounded up to
	// milliseconds. It must be shorter than the client's ReadTimeout.
	// Default: 100 ms.
	ReplicaTimeout time.Duration

	// FixedRing allows a *redis.Ring. It states that the Ring's HeartbeatFn
	// never reports a shard down and that SetAddrs is never called: a Ring that
	// moves keys to another shard grants them there a second time.
	// Default: false, a Ring is refused.
	FixedRing bool
}

// Backend is a lock.Backend on Redis. Make it with [New]. It is safe for
// concurrent use, has no goroutines of its own and needs no closing; the client
// stays the caller's to close.
type Backend struct {
	redis   *redisclient.Redis
	prefix  string
	scripts *scripts
}

// New returns a Backend that asks rdb. It sends nothing. The error matches
// [lock.ErrInvalid] and names everything that is wrong: a nil client, a Ring
// without Options.FixedRing, Replicas with an AutoPipeliner, values out of
// range.
func New(rdb Client, o Options) (*Backend, error) {
	r, err := redisclient.New(rdb, redisclient.Options{
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout, FixedRing: o.FixedRing,
	})
	if err != nil {
		return nil, fmt.Errorf("redislock: %w: %w", err, lock.ErrInvalid)
	}
	b := &Backend{redis: r, prefix: o.Prefix, scripts: newScripts()}
	if b.prefix == "" {
		b.prefix = defaultPrefix
	}
	return b, nil
}
