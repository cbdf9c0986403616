package redislock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

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

// What tells the clients apart.
type (
	clusterClient interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
		ForEachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error
		ReloadState(ctx context.Context)
	}
	ringClient interface {
		GetShardClientForKey(key string) (*redis.Client, error)
		GetShardClients() []*redis.Client
	}
	autoPipeliner interface {
		Submit(ctx context.Context, cmd redis.Cmder) redis.AutoFuture
		IsBlocking() bool
	}
)

const (
	defaultPrefix         = "semel:lock:"
	defaultReplicaTimeout = 100 * time.Millisecond
)

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

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.ReplicaTimeout == 0 {
		o.ReplicaTimeout = defaultReplicaTimeout
	}
	return o
}

// Backend is a lock.Backend on Redis. Make it with [New]. It is safe for
// concurrent use, has no goroutines of its own and needs no closing; the client
// stays the caller's to close.
type Backend struct {
	rdb     Client
	cluster clusterClient // rdb, if it is one
	ring    ringClient    // rdb, if it is one
	piped   autoPipeliner // rdb, if it is one
	async   autoPipeliner // rdb, if it is one and its Process does not wait

	prefix    string
	replicas  int
	replicaMS int64
	scripts   scripts
}

// New returns a Backend that asks rdb. It sends nothing. The error matches
// [lock.ErrInvalid] and names everything that is wrong: a nil client, a Ring
// without Options.FixedRing, Replicas with an AutoPipeliner, values out of
// range.
func New(rdb Client, o Options) (*Backend, error) {
	if isNil(rdb) {
		return nil, fmt.Errorf("redislock: nil client: %w", lock.ErrInvalid)
	}
	o = o.withDefaults()
	b := &Backend{
		rdb:       rdb,
		prefix:    o.Prefix,
		replicas:  o.Replicas,
		replicaMS: milliseconds(o.ReplicaTimeout),
		scripts:   newScripts(),
	}
	b.cluster, _ = rdb.(clusterClient)
	b.ring, _ = rdb.(ringClient)
	b.piped, _ = rdb.(autoPipeliner)
	if b.piped != nil && !b.piped.IsBlocking() {
		b.async = b.piped
	}
	if err := b.validate(o); err != nil {
		return nil, fmt.Errorf("redislock: %w: %w", err, lock.ErrInvalid)
	}
	return b, nil
}

// validate joins all that is wrong with o for this client.
func (b *Backend) validate(o Options) error {
	var errs []error
	if b.ring != nil && !o.FixedRing {
		errs = append(errs, errors.New("a Ring moves keys when a shard is down and so grants them twice; see Options.FixedRing"))
	}
	if o.Replicas < 0 {
		errs = append(errs, fmt.Errorf("option Replicas is negative: %d", o.Replicas))
	}
	if o.Replicas > 0 && b.piped != nil {
		errs = append(errs, errors.New("option Replicas needs a client that is not an AutoPipeliner"))
	}
	if o.ReplicaTimeout < 0 {
		errs = append(errs, fmt.Errorf("option ReplicaTimeout is negative: %v", o.ReplicaTimeout))
	}
	if limit := readTimeout(b.rdb); o.Replicas > 0 && limit > 0 && o.ReplicaTimeout >= limit {
		errs = append(errs, fmt.Errorf("option ReplicaTimeout: %v is not shorter than the client's ReadTimeout %v", o.ReplicaTimeout, limit))
	}
	return errors.Join(errs...)
}

// readTimeout is the client's, and 0 or less if there is none or it is unknown.
func readTimeout(rdb Client) time.Duration {
	switch c := rdb.(type) {
	case interface{ Options() *redis.Options }:
		return c.Options().ReadTimeout
	case interface{ Options() *redis.ClusterOptions }:
		return c.Options().ReadTimeout
	case interface{ Options() *redis.RingOptions }:
		return c.Options().ReadTimeout
	}
	return 0
}

// isNil reports whether rdb is nil or holds a nil pointer.
func isNil(rdb Client) bool {
	if rdb == nil {
		return true
	}
	v := reflect.ValueOf(rdb)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// milliseconds rounds d up: what is kept for longer than asked for harms
// nobody, and 0 would mean something else.
func milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}
