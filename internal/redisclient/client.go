package redisclient

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client is what is asked of a go-redis client: *redis.Client, *ClusterClient,
// *Ring and both faces of *AutoPipeliner have it.
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

// Options configures [New]. Its fields are those of the backends' own Options
// and are named like them in errors.
type Options struct {
	// Replicas is how many replicas RunReplicated waits for. Default: 0, none.
	Replicas int
	// ReplicaTimeout is how long it waits, rounded up to milliseconds.
	// Default: 100 ms.
	ReplicaTimeout time.Duration
	// FixedRing allows a *redis.Ring. Default: false, a Ring is refused.
	FixedRing bool
}

// defaultReplicaTimeout is far above a round trip to a replica nearby and far
// below a client's read timeout.
const defaultReplicaTimeout = 100 * time.Millisecond

// Redis is a client and what it stands on. It is safe for concurrent use and
// has no goroutines of its own; the client stays its owner's to close.
type Redis struct {
	rdb     Client
	cluster clusterClient // rdb, if it is one
	ring    ringClient    // rdb, if it is one
	piped   autoPipeliner // rdb, if it is one
	async   autoPipeliner // rdb, if it is one and its Process does not wait

	replicas  int
	replicaMS int64
}

// New returns a Redis that asks rdb. It sends nothing. The error names
// everything that is wrong: a nil client, a Ring without Options.FixedRing,
// Replicas with an AutoPipeliner, values out of range.
func New(rdb Client, o Options) (*Redis, error) {
	if isNil(rdb) {
		return nil, errors.New("nil client")
	}
	if o.ReplicaTimeout == 0 {
		o.ReplicaTimeout = defaultReplicaTimeout
	}
	r := &Redis{rdb: rdb, replicas: o.Replicas, replicaMS: Milliseconds(o.ReplicaTimeout)}
	r.cluster, _ = rdb.(clusterClient)
	r.ring, _ = rdb.(ringClient)
	r.piped, _ = rdb.(autoPipeliner)
	if r.piped != nil && !r.piped.IsBlocking() {
		r.async = r.piped
	}
	if err := r.validate(o); err != nil {
		return nil, err
	}
	return r, nil
}

// validate joins all that is wrong with o for this client.
func (r *Redis) validate(o Options) error {
	var errs []error
	if r.ring != nil && !o.FixedRing {
		errs = append(errs, errors.New("a Ring moves keys when a shard is down and so grants them twice; see Options.FixedRing"))
	}
	if o.Replicas < 0 {
		errs = append(errs, fmt.Errorf("option Replicas is negative: %d", o.Replicas))
	}
	if o.Replicas > 0 && r.piped != nil {
		errs = append(errs, errors.New("option Replicas needs a client that is not an AutoPipeliner"))
	}
	if o.ReplicaTimeout < 0 {
		errs = append(errs, fmt.Errorf("option ReplicaTimeout is negative: %v", o.ReplicaTimeout))
	}
	if limit := readTimeout(r.rdb); o.Replicas > 0 && limit > 0 && o.ReplicaTimeout >= limit {
		errs = append(errs, fmt.Errorf("option ReplicaTimeout: %v is not shorter than the client's ReadTimeout %v", o.ReplicaTimeout, limit))
	}
	return errors.Join(errs...)
}

// Deferred reports whether the client is the deferred face of an AutoPipeliner,
// where a wait can be left while the command goes on.
func (r *Redis) Deferred() bool { return r.async != nil }

// Replicas is Options.Replicas.
func (r *Redis) Replicas() int { return r.replicas }

// Milliseconds rounds d up: what is kept for longer than asked for harms
// nobody, and 0 would mean something else.
func Milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
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
