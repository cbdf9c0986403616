package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

var (
	_ idempotency.Store        = (*Store)(nil)
	_ idempotency.BatchRenewer = (*Store)(nil)
	_ idempotency.Binder       = (*Store)(nil)
	_ idempotency.Inspector    = (*Store)(nil)
	_ lock.Interruptible       = (*Store)(nil)
	_ lock.Waiter              = (*Store)(nil)
)

// Client is what is asked of a go-redis client. These have it:
//
//   - *redis.Client, for one server or, made by NewFailoverClient, for the
//     primary that Sentinel names;
//   - *redis.ClusterClient;
//   - *redis.AutoPipeliner of either, both the blocking face (AutoPipeline) and
//     the deferred one (AsyncAutoPipeline), which puts the requests of many
//     goroutines into one write. On the deferred face a method returns at once
//     when its context ends, see [Store.Interruptible];
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

// defaultPrefix differs from the one of locks.
const defaultPrefix = "semel:run:"

// Options configures [New]. The zero value is ready to use.
type Options struct {
	// Prefix begins the name of every Redis key and channel. Guards with
	// different prefixes do not see each other's records.
	// Default: "semel:run:".
	Prefix string

	// Replicas is how many replicas must have acknowledged a claim, an outcome
	// or a binding before it counts (WAIT). If fewer have a claim, it is undone
	// and Begin fails; if fewer have one of the others, it stays, the method
	// fails and may be called again. It narrows what a failover can lose; it
	// does not end it. Every Begin, also a duplicate's, then takes as long as
	// the replicas need. Not possible with an AutoPipeliner, where it would
	// hold up everybody's requests.
	// Default: 0, the primary's word is enough.
	Replicas int

	// ReplicaTimeout is how long to wait for the replicas, rounded up to
	// milliseconds. It must be shorter than the client's ReadTimeout.
	// Default: 100 ms.
	ReplicaTimeout time.Duration

	// FixedRing allows a *redis.Ring. It states that the Ring's HeartbeatFn
	// never reports a shard down and that SetAddrs is never called: a Ring that
	// moves keys to another shard runs them there a second time.
	// Default: false, a Ring is refused.
	FixedRing bool

	// Observer is told if a server may evict records to make room
	// ([observe.EvictionPossible]). The servers are asked in the background,
	// once, when the first Begin has been answered; one that does not let us
	// know is not reported. Default: nil, the servers are not asked.
	Observer observe.Observer
}

// Store is an idempotency.Store on Redis. Make it with [New]. It is safe for
// concurrent use; the client stays the caller's to close. A method whose
// context has already ended sends nothing and returns an error that wraps the
// context's.
type Store struct {
	redis    *redisclient.Redis
	prefix   string
	scripts  *scripts
	observer observe.Observer // may be nil

	evictions evictions
}

// New returns a Store that asks rdb. It sends nothing. The error matches
// [idempotency.ErrInvalid] and names everything that is wrong: a nil client, a
// Ring without Options.FixedRing, Replicas with an AutoPipeliner, values out of
// range.
func New(rdb Client, o Options) (*Store, error) {
	r, err := redisclient.New(rdb, redisclient.Options{
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout, FixedRing: o.FixedRing,
	})
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w: %w", err, idempotency.ErrInvalid)
	}
	s := &Store{redis: r, prefix: o.Prefix, scripts: newScripts(), observer: o.Observer}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	s.evictions.init(s)
	return s, nil
}

// Close waits for what is done in the background on behalf of
// Options.Observer; there is nothing else to close. The Store can be used
// further. The error is always nil.
func (s *Store) Close() error {
	s.evictions.close()
	return nil
}

// Interruptible implements [lock.Interruptible]. It is true on the deferred
// face of an AutoPipeliner, where a wait can be left while the request goes on.
// Other clients return when they have an answer or give up, which may be long
// after the context has ended.
func (s *Store) Interruptible() bool { return s.redis.Deferred() }
