package bench

import (
	"context"
	"errors"
	"io"

	"github.com/bsm/redislock"
)

// bsm is github.com/bsm/redislock.
type bsm struct {
	client *redislock.Client
	closer io.Closer
	retry  *redislock.Options
}

var _ Contender = (*bsm)(nil)

func openRedislock(s Settings) (Contender, error) {
	client := newClient(s)
	return newBSM(s, client, client), nil
}

func openRedislockAuto(s Settings) (Contender, error) {
	client := newClient(s)
	face, err := client.AutoPipeline()
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return newBSM(s, face, client), nil
}

// newBSM uses the linear backoff: the exponential one starts at 4 ms and only
// grows.
func newBSM(s Settings, client redislock.RedisClient, closer io.Closer) *bsm {
	return &bsm{
		client: redislock.New(client),
		closer: closer,
		retry:  &redislock.Options{RetryStrategy: redislock.LinearBackoff(s.retryDelay())},
	}
}

// Pair implements Contender.
func (b *bsm) Pair(ctx context.Context, key string) error {
	lock, err := b.client.Obtain(ctx, key, TTL, nil)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// Hold implements Contender.
func (b *bsm) Hold(ctx context.Context, key string, inside func()) error {
	lock, err := b.client.Obtain(ctx, key, TTL, b.retry)
	if err != nil {
		return err
	}
	inside()
	return lock.Release(context.WithoutCancel(ctx))
}

// Close implements Contender.
func (b *bsm) Close() error { return b.closer.Close() }
