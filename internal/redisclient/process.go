package redisclient

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
)

// Process sends one command and waits for its answer.
func (r *Redis) Process(ctx context.Context, cmd redis.Cmder) error {
	if r.async == nil {
		return r.rdb.Process(ctx, cmd)
	}
	return await(ctx, r.async.Submit(ctx, cmd))
}

// ProcessAll sends several commands at once and waits for their answers. The
// errors are theirs, in their order.
func (r *Redis) ProcessAll(ctx context.Context, cmds []redis.Cmder) []error {
	errs := make([]error, len(cmds))
	if r.async != nil {
		futures := make([]redis.AutoFuture, len(cmds))
		for i, cmd := range cmds {
			futures[i] = r.async.Submit(ctx, cmd)
		}
		for i, future := range futures {
			errs[i] = await(ctx, future)
		}
		return errs
	}
	pipe := r.rdb.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...) // It only queues.
	_, _ = pipe.Exec(ctx)               // Its error is that of a command.
	for i, cmd := range cmds {
		errs[i] = cmd.Err()
	}
	return errs
}

// await waits for a submitted command. If ctx ends first it returns a
// *lock.InDoubtError, and the command stays under way: the client sends and
// resends it under its own context.
func await(ctx context.Context, future redis.AutoFuture) error {
	err := future.WaitContext(ctx)
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	settled := make(chan struct{})
	// The client ends this wait, at the latest when its own retries are over,
	// and whoever is told of the doubt waits for it.
	go func() {
		defer close(settled)
		_ = future.Wait()
	}()
	return &lock.InDoubtError{Settled: settled, Err: err}
}
