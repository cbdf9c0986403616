package bench

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// guard is this module's own, with its default options apart from the
// retention, which is the same for all.
type guard struct {
	guard  *idempotency.Guard
	closer io.Closer
}

var _ Once = (*guard)(nil)

func openGuard(s Settings) (Once, error) {
	client := newClient(s)
	return newGuard(client, client, idempotency.Options{})
}

func openGuardAuto(s Settings) (Once, error) {
	return openGuardFace(s, (*redis.Client).AutoPipeline)
}

func openGuardAsync(s Settings) (Once, error) {
	return openGuardFace(s, (*redis.Client).AsyncAutoPipeline)
}

func openGuardFace(s Settings, face func(*redis.Client) (*redis.AutoPipeliner, error)) (Once, error) {
	client := newClient(s)
	piped, err := face(client)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return newGuard(piped, client, idempotency.Options{})
}

// openGuardCache opens one that keeps completed records in its own memory.
func openGuardCache(s Settings) (Once, error) {
	client := newClient(s)
	return newGuard(client, client, idempotency.Options{
		Cache: idempotency.LocalCache{Bytes: 64 << 20, TTL: time.Minute},
	})
}

// openGuardMemory opens one without a server, and without a bound.
func openGuardMemory(Settings) (Once, error) {
	store, err := memstore.New(memstore.Options{MaxEntries: math.MaxInt, MaxBytes: math.MaxInt64})
	if err != nil {
		return nil, err
	}
	return newGuardOn(store, store, idempotency.Options{})
}

func newGuard(client redisstore.Client, closer io.Closer, o idempotency.Options) (Once, error) {
	store, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	return newGuardOn(store, closer, o)
}

func newGuardOn(store idempotency.Store, closer io.Closer, o idempotency.Options) (Once, error) {
	o.Lease, o.Retention = onceLease, onceRetention
	g, err := idempotency.New(store, o)
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	return &guard{g, closer}, nil
}

// Run implements Once.
func (g *guard) Run(ctx context.Context, key string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	out, err := g.guard.Run(ctx, idempotency.Key{Scope: "bench", ID: key}, idempotency.RunOptions{},
		func(ctx context.Context) (idempotency.Result, error) {
			data, err := fn(ctx)
			return idempotency.Result{Codec: "json", Data: data}, err
		})
	return out.Result.Data, err
}

// Close implements Once.
func (g *guard) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), onceLease)
	defer cancel()
	return errors.Join(g.guard.Close(ctx), g.closer.Close())
}
