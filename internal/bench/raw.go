package bench

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
)

// rawClient is what the raw contender needs of go-redis.
type rawClient interface {
	redis.Scripter
	SetNX(ctx context.Context, key string, value any, ttl time.Duration) *redis.BoolCmd
}

// raw is the least that can be called a lock: a random token set if absent,
// deleted if it is still there. It has no renewal, no fence, and polls.
type raw struct {
	client rawClient
	closer io.Closer
	retry  time.Duration
	del    *redis.Script
}

var _ Contender = (*raw)(nil)

func openRaw(s Settings) (Contender, error) {
	client := newClient(s)
	return newRaw(s, client, client), nil
}

func openRawAuto(s Settings) (Contender, error) {
	client := newClient(s)
	face, err := client.AutoPipeline()
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return newRaw(s, face, client), nil
}

func newRaw(s Settings, client rawClient, closer io.Closer) *raw {
	return &raw{client, closer, s.retryDelay(), redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)}
}

var errRefused = errors.New("bench: the key is held")

// Pair implements Contender.
func (r *raw) Pair(ctx context.Context, key string) error {
	token := randomToken()
	taken, err := r.client.SetNX(ctx, key, token, TTL).Result()
	switch {
	case err != nil:
		return err
	case !taken:
		return errRefused
	}
	return r.release(ctx, key, token)
}

// Hold implements Contender.
func (r *raw) Hold(ctx context.Context, key string, inside func()) error {
	token := randomToken()
	for {
		taken, err := r.client.SetNX(ctx, key, token, TTL).Result()
		if err != nil {
			return err
		}
		if taken {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(jittered(r.retry)):
		}
	}
	inside()
	return r.release(context.WithoutCancel(ctx), key, token)
}

func (r *raw) release(ctx context.Context, key, token string) error {
	return r.del.Run(ctx, r.client, []string{key}, token).Err()
}

// Close implements Contender.
func (r *raw) Close() error { return r.closer.Close() }

func randomToken() string {
	var b [16]byte
	rand.Read(b[:]) // Never fails.
	return base64.RawURLEncoding.EncodeToString(b[:])
}
