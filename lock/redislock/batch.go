package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
)

// Node implements [lock.BatchExtender]: the address of the Cluster master or
// the Ring shard that the client believes to have key. It is "" for a single
// server, while a Cluster client has not yet loaded its table, and for an
// AutoPipeliner: that does not tell what it stands on, and puts requests into
// batches by itself, each for its node.
func (b *Backend) Node(key string) string {
	var node *redis.Client
	var err error
	switch {
	case b.cluster != nil:
		node, err = b.cluster.MasterForKey(endedContext(), b.prefix+key)
	case b.ring != nil:
		node, err = b.ring.GetShardClientForKey(b.prefix + key)
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

// ExtendBatch implements [lock.BatchExtender]. Requests for several nodes are
// answered, too; a node that does not answer then holds up the others.
func (b *Backend) ExtendBatch(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
	grants, errs := make([]lock.Grant, len(reqs)), make([]error, len(reqs))
	calls := make([]call, len(reqs))
	sent := make([]int, 0, len(reqs)) // which of reqs are in the batch
	for i, req := range reqs {
		if b.replicas > 0 && req.Block > 0 {
			// Its WAIT would cover, and hold up, all of the batch.
			grants[i], errs[i] = b.Extend(ctx, req)
			continue
		}
		if err := checkRequest(ctx, req); err != nil {
			errs[i] = fmt.Errorf("redislock: extend: %w", err)
			continue
		}
		b.fillExtend(&calls[i], req)
		sent = append(sent, i)
	}
	unknown := b.extendBatch(ctx, reqs, calls, sent, (*call).command, grants, errs)
	// Nothing was done for those whose script the server did not know.
	b.extendBatch(ctx, reqs, calls, unknown, (*call).full, grants, errs)
	return grants, errs
}

// extendBatch makes the calls that sent numbers, sets their grants and errors,
// and returns which of them the server has no script for.
func (b *Backend) extendBatch(
	ctx context.Context, reqs []lock.Request, calls []call, sent []int,
	command func(*call, context.Context) *redis.IntCmd, grants []lock.Grant, errs []error,
) (unknown []int) {
	if len(sent) == 0 {
		return nil
	}
	cmds := make([]*redis.IntCmd, len(sent))
	for n, i := range sent {
		cmds[n] = command(&calls[i], ctx)
	}
	for n, err := range processAll(ctx, b, cmds) {
		i := sent[n]
		if isNoScript(err) {
			unknown = append(unknown, i)
		}
		reply, err := answer(cmds[n], err)
		grants[i], errs[i] = extended(reqs[i], reply, err)
		if errs[i] != nil {
			grants[i], errs[i] = lock.Grant{}, fmt.Errorf("redislock: extend: %w", errs[i])
		}
	}
	return unknown
}
