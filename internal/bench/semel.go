package bench

import (
	"context"
	"errors"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// semel is this module's own lock, with its default options.
type semel struct {
	locker *lock.Locker
	// patient waits for as long as the context lets it, as all others do.
	patient *lock.Locker
	closer  io.Closer
}

var _ Contender = (*semel)(nil)

func openSemel(s Settings) (Contender, error) {
	client := newClient(s)
	return newSemel(client, client)
}

func openSemelAuto(s Settings) (Contender, error) {
	return openSemelFace(s, (*redis.Client).AutoPipeline)
}

func openSemelAsync(s Settings) (Contender, error) {
	return openSemelFace(s, (*redis.Client).AsyncAutoPipeline)
}

func openSemelFace(s Settings, face func(*redis.Client) (*redis.AutoPipeliner, error)) (Contender, error) {
	client := newClient(s)
	piped, err := face(client)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return newSemel(piped, client)
}

func newSemel(client redislock.Client, closer io.Closer) (Contender, error) {
	backend, err := redislock.New(client, redislock.Options{})
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	locker, err := lock.New(backend, lock.Options{TTL: TTL})
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	return &semel{locker, locker.With(lock.Options{Wait: lock.WaitForever}), closer}, nil
}

// Pair implements Contender.
func (s *semel) Pair(ctx context.Context, key string) error {
	lease, err := s.locker.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

// Hold implements Contender.
func (s *semel) Hold(ctx context.Context, key string, inside func()) error {
	lease, err := s.patient.Acquire(ctx, key)
	if err != nil {
		return err
	}
	inside()
	return lease.Release(ctx)
}

// Close implements Contender.
func (s *semel) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), TTL)
	defer cancel()
	return errors.Join(s.locker.Close(ctx), s.closer.Close())
}
