package bench

import (
	"context"
	"errors"
	"io"

	"github.com/redis/go-redis/v9"
)

// commands is what go-redis has for those who write it by hand.
type commands interface {
	Get(ctx context.Context, key string) *redis.StringCmd
	redis.StringCmdable
	Del(ctx context.Context, keys ...string) *redis.IntCmd
}

// openCommands returns a plain client's commands or, if auto, those of its
// AutoPipeline face.
func openCommands(s Settings, auto bool) (commands, io.Closer, error) {
	client := newClient(s)
	if !auto {
		return client, client, nil
	}
	face, err := client.AutoPipeline()
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return face, client, nil
}

// claimed is what stands in the place of a result while it is made.
const claimed = "claimed"

// errUnderway says that another runs the key.
var errUnderway = errors.New("bench: the key is being run")

// twoCommands is the least that runs something once: the key is set to a mark
// if it is absent, and the result takes the mark's place. The first command
// tells a duplicate the result, too. A run that fails blocks its key until the
// mark expires, and a run that outlives its mark is done twice.
type twoCommands struct {
	client commands
	closer io.Closer
}

var _ Once = (*twoCommands)(nil)

func openTwoCommands(s Settings) (Once, error)     { return newTwoCommands(s, false) }
func openTwoCommandsAuto(s Settings) (Once, error) { return newTwoCommands(s, true) }

func newTwoCommands(s Settings, auto bool) (Once, error) {
	client, closer, err := openCommands(s, auto)
	return &twoCommands{client, closer}, err
}

// Run implements Once.
func (c *twoCommands) Run(ctx context.Context, key string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	earlier, err := c.client.SetArgs(ctx, key, claimed, redis.SetArgs{Mode: "NX", Get: true, TTL: onceLease}).Result()
	switch {
	case err == nil && earlier == claimed:
		return nil, errUnderway
	case err == nil:
		return []byte(earlier), nil
	case !errors.Is(err, redis.Nil):
		return nil, err
	}
	result, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	return result, c.client.Set(ctx, key, result, onceRetention).Err()
}

// Close implements Once.
func (c *twoCommands) Close() error { return c.closer.Close() }
