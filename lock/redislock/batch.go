package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// Node implements [lock.BatchExtender]: the address of the Cluster master or
// the Ring shard that the client believes to have key. It is "" for a single
// server, while a Cluster client has not yet loaded its table, and for an
// AutoPipeliner, which puts requests into batches by itself, each for its node.
func (b *Backend) Node(key string) string { return b.redis.Node(b.prefix + key) }

// ExtendBatch implements [lock.BatchExtender]. Requests for several nodes are
// answered, too; a node that does not answer then holds up the others.
func (b *Backend) ExtendBatch(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
	grants, errs := make([]lock.Grant, len(reqs)), make([]error, len(reqs))
	calls := make([]*redisclient.Call, 0, len(reqs))
	sent := make([]int, 0, len(reqs)) // which of reqs are in the batch
	for i, req := range reqs {
		if b.redis.Replicas() > 0 && req.Block > 0 {
			// Its WAIT would cover, and hold up, all of the batch.
			grants[i], errs[i] = b.Extend(ctx, req)
			continue
		}
		if err := checkRequest(ctx, req); err != nil {
			errs[i] = fmt.Errorf("redislock: extend: %w", err)
			continue
		}
		calls = append(calls, &b.extendCall(req).Call)
		sent = append(sent, i)
	}
	cmds, failed := redisclient.RunAll(ctx, b.redis, calls, redis.NewIntCmd)
	for n, i := range sent {
		reply, err := answer(cmds[n], failed[n])
		grant, err := extended(reqs[i], reply, err)
		if err != nil {
			errs[i] = fmt.Errorf("redislock: extend: %w", err)
			continue
		}
		grants[i] = grant
	}
	return grants, errs
}
