package bench

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// sync4 is github.com/go-redsync/redsync/v4 on one Redis.
type sync4 struct {
	mutexes *redsync.Redsync
	closer  io.Closer
	retry   time.Duration
}

var _ Contender = (*sync4)(nil)

func openRedsync(s Settings) (Contender, error) {
	client := newClient(s)
	return &sync4{redsync.New(goredis.NewPool(client)), client, s.retryDelay()}, nil
}

// Pair implements Contender.
func (s *sync4) Pair(ctx context.Context, key string) error {
	mutex := s.mutexes.NewMutex(key, redsync.WithExpiry(TTL))
	if err := mutex.TryLockContext(ctx); err != nil {
		return err
	}
	return s.unlock(ctx, mutex)
}

// Hold tries without end: redsync gives up after 32 tries unless told
// otherwise, and the others have only the context.
func (s *sync4) Hold(ctx context.Context, key string, inside func()) error {
	mutex := s.mutexes.NewMutex(key,
		redsync.WithExpiry(TTL),
		redsync.WithTries(math.MaxInt),
		redsync.WithRetryDelayFunc(func(int) time.Duration { return jittered(s.retry) }),
	)
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	inside()
	return s.unlock(context.WithoutCancel(ctx), mutex)
}

func (s *sync4) unlock(ctx context.Context, mutex *redsync.Mutex) error {
	ok, err := mutex.UnlockContext(ctx)
	if err == nil && !ok {
		return errors.New("bench: redsync did not unlock")
	}
	return err
}

// Close implements Contender.
func (s *sync4) Close() error { return s.closer.Close() }
