package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// TTL is what every contender's locks live for unless they are released.
const TTL = 5 * time.Second

// Names of contenders.
const (
	Raw           = "raw"
	RawAuto       = "raw-autopipeline"
	Redislock     = "redislock"
	RedislockAuto = "redislock-autopipeline"
	Redsync       = "redsync"
	Rueidislock   = "rueidislock"
	Semel         = "semel"
	SemelAuto     = "semel-autopipeline"
	SemelAsync    = "semel-asyncpipeline"
)

// Contender takes and gives back locks in one way. Its methods are safe for
// concurrent use.
type Contender interface {
	// Pair takes a key that nobody else wants, and gives it back.
	Pair(ctx context.Context, key string) error
	// Hold waits until it has the key, runs inside while it has it, and gives
	// it back. It waits for as long as the context lets it, and gives the key
	// back even if the context has ended meanwhile.
	Hold(ctx context.Context, key string, inside func()) error
	// Close frees what the contender holds.
	Close() error
}

// Settings is what contenders are opened with.
type Settings struct {
	// Addr is the Redis server's address.
	Addr string
	// Rivals is how many will want one key at the same time. Those who poll
	// for it choose their pace by that. Default: 1.
	Rivals int
	// Wire, if not nil, counts what the contender says to the server.
	Wire *Wire
}

// kinds returns all contenders in the order in which they are shown.
func kinds() []kind {
	return []kind{
		{Raw, openRaw},
		{RawAuto, openRawAuto},
		{Redislock, openRedislock},
		{RedislockAuto, openRedislockAuto},
		{Redsync, openRedsync},
		{Rueidislock, openRueidislock},
		{Semel, openSemel},
		{SemelAuto, openSemelAuto},
		{SemelAsync, openSemelAsync},
	}
}

// kind is a contender that is not open yet.
type kind struct {
	name string
	open func(Settings) (Contender, error)
}

// Names returns the names of all contenders.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Plain returns the names of the contenders on an ordinary client. Where they
// wait for one another there is nothing to pipeline.
func Plain() []string {
	return []string{Raw, Redislock, Redsync, Rueidislock, Semel}
}

// Open returns a contender that has taken a lock once: it is connected, and
// the server knows its scripts.
func Open(ctx context.Context, name string, s Settings) (Contender, error) {
	i := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil, fmt.Errorf("bench: no contender %q", name)
	}
	c, err := kinds()[i].open(s)
	if err != nil {
		return nil, fmt.Errorf("bench: open %s: %w", name, err)
	}
	if err := c.Pair(ctx, "bench:open:"+randomToken()); err != nil {
		return nil, fmt.Errorf("bench: first pair of %s: %w", name, errors.Join(err, c.Close()))
	}
	return c, nil
}
