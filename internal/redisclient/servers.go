package redisclient

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Node names the server that has a Redis key, as far as it is known without
// asking: the address of the Cluster master or the Ring shard that the client
// believes to have it. It is "" for a single server, while a Cluster client has
// not yet loaded its table, and for an AutoPipeliner: that does not tell what it
// stands on, and puts requests into batches by itself, each for its node.
func (r *Redis) Node(key string) string {
	var node *redis.Client
	var err error
	switch {
	case r.cluster != nil:
		node, err = r.cluster.MasterForKey(endedContext(), key)
	case r.ring != nil:
		node, err = r.ring.GetShardClientForKey(key)
	}
	if err != nil || node == nil {
		return ""
	}
	return node.Options().Addr
}

// endedContext keeps a Cluster client that has no table from loading it.
func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// pipeliner is what a client for one server is used for.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// nodeOf returns the client of the server that has key, which is the client
// itself unless it is one for many servers.
func (r *Redis) nodeOf(ctx context.Context, key string) (pipeliner, error) {
	switch {
	case r.cluster != nil:
		return r.cluster.MasterForKey(ctx, key)
	case r.ring != nil:
		return r.ring.GetShardClientForKey(key)
	}
	return r.rdb, nil
}

// nodeAt returns the client of the Cluster node at addr. If the table does not
// have it under that name, it is the master of key by the table, which is new.
func (r *Redis) nodeAt(ctx context.Context, addr, key string) (pipeliner, error) {
	masters, err := r.masters(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range masters {
		if m.Options().Addr == addr {
			return m, nil
		}
	}
	return r.cluster.MasterForKey(ctx, key)
}

// errHidden is an AutoPipeliner that stands on a Cluster.
var errHidden = errors.New("the masters of a Cluster cannot be asked one by one through an AutoPipeliner: use its ClusterClient")

// Server is one server that holds keys.
type Server struct {
	// Addr is where the client reaches it; "" if the client does not tell.
	Addr    string
	process func(context.Context, redis.Cmder) error
}

// Process sends the server a command and waits for its answer.
func (s Server) Process(ctx context.Context, cmd redis.Cmder) error { return s.process(ctx, cmd) }

// Info returns the fields of a section of INFO.
func (s Server) Info(ctx context.Context, section string) (map[string]string, error) {
	cmd := redis.NewStringCmd(ctx, "info", section)
	if err := s.process(ctx, cmd); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(cmd.Val()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// Servers returns the servers that hold keys, in the order of their addresses.
// An AutoPipeliner of a Cluster does not let its masters be asked one by one and
// is refused.
func (r *Redis) Servers(ctx context.Context) ([]Server, error) {
	var clients []*redis.Client
	switch {
	case r.cluster != nil:
		var err error
		if clients, err = r.masters(ctx); err != nil {
			return nil, err
		}
	case r.ring != nil:
		clients = r.ring.GetShardClients()
	case r.piped != nil:
		if err := r.checkSingle(ctx); err != nil {
			return nil, err
		}
		return []Server{{process: r.Process}}, nil
	default:
		addr := ""
		if c, ok := r.rdb.(interface{ Options() *redis.Options }); ok {
			addr = c.Options().Addr
		}
		return []Server{{Addr: addr, process: r.Process}}, nil
	}
	servers := make([]Server, len(clients))
	for i, c := range clients {
		servers[i] = Server{Addr: c.Options().Addr, process: c.Process}
	}
	slices.SortFunc(servers, func(x, y Server) int { return cmp.Compare(x.Addr, y.Addr) })
	return servers, nil
}

// masters returns the clients of a Cluster's masters, from a table that is
// loaded anew if it can be.
func (r *Redis) masters(ctx context.Context) ([]*redis.Client, error) {
	var mu sync.Mutex
	var masters []*redis.Client
	err := r.cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, c)
		return nil
	})
	return masters, err
}

// checkSingle refuses an AutoPipeliner that stands on several masters.
func (r *Redis) checkSingle(ctx context.Context) error {
	slots := redis.NewClusterSlotsCmd(ctx, "cluster", "slots")
	if err := r.Process(ctx, slots); err != nil {
		// Not a Cluster at all, or one that does not let us know.
		if text := strings.ToLower(err.Error()); strings.Contains(text, "cluster support disabled") || strings.Contains(text, "unknown command") {
			return nil
		}
		return err
	}
	masters := map[string]struct{}{}
	for _, slot := range slots.Val() {
		if len(slot.Nodes) > 0 {
			masters[slot.Nodes[0].Addr] = struct{}{}
		}
	}
	if len(masters) > 1 {
		return errHidden
	}
	return nil
}

// scanCount is how many Redis keys a server looks at in one step of Scan.
const scanCount = 512

// Scan yields the names of the Redis keys that begin with prefix, in portions,
// with SCAN on every server that holds keys. It blocks no server for long, and
// reads all key names of each. Names may come twice. It ends after the first
// error.
func (r *Redis) Scan(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		servers, err := r.Servers(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		pattern := escapeGlob(prefix) + "*"
		for _, s := range servers {
			if !s.scan(ctx, pattern, yield) {
				return
			}
		}
	}
}

// scan yields the names of one server's keys, and reports whether to go on.
func (s Server) scan(ctx context.Context, pattern string, yield func([]string, error) bool) bool {
	for cursor := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return false
		}
		scan := redis.NewScanCmd(ctx, nil, "scan", cursor, "match", pattern, "count", scanCount)
		if err := s.process(ctx, scan); err != nil {
			yield(nil, err)
			return false
		}
		names, next := scan.Val()
		if len(names) > 0 && !yield(names, nil) {
			return false
		}
		if cursor = next; cursor == 0 {
			return true
		}
	}
}

// escapeGlob returns a pattern that matches text alone.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
