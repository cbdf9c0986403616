package redislock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// errHidden is an AutoPipeliner that stands on a Cluster.
var errHidden = errors.New("the masters of a Cluster cannot be asked one by one through an AutoPipeliner: use its ClusterClient")

// server is one server that holds keys.
type server struct {
	addr    string
	process func(context.Context, redis.Cmder) error
}

// servers returns the servers that hold keys, in the order of their addresses.
func (b *Backend) servers(ctx context.Context) ([]server, error) {
	var clients []*redis.Client
	switch {
	case b.cluster != nil:
		var err error
		if clients, err = b.masters(ctx); err != nil {
			return nil, err
		}
	case b.ring != nil:
		clients = b.ring.GetShardClients()
	case b.piped != nil:
		if err := b.checkSingle(ctx); err != nil {
			return nil, err
		}
		return []server{{process: b.process}}, nil
	default:
		addr := ""
		if c, ok := b.rdb.(interface{ Options() *redis.Options }); ok {
			addr = c.Options().Addr
		}
		return []server{{addr: addr, process: b.process}}, nil
	}
	servers := make([]server, len(clients))
	for i, c := range clients {
		servers[i] = server{addr: c.Options().Addr, process: c.Process}
	}
	slices.SortFunc(servers, func(x, y server) int { return cmp.Compare(x.addr, y.addr) })
	return servers, nil
}

// masters returns the clients of a Cluster's masters, from a table that is
// loaded anew if it can be.
func (b *Backend) masters(ctx context.Context) ([]*redis.Client, error) {
	var mu sync.Mutex
	var masters []*redis.Client
	err := b.cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, c)
		return nil
	})
	return masters, err
}

// checkSingle refuses an AutoPipeliner that stands on several masters.
func (b *Backend) checkSingle(ctx context.Context) error {
	slots := redis.NewClusterSlotsCmd(ctx, "cluster", "slots")
	err := b.process(ctx, slots)
	if err != nil {
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
