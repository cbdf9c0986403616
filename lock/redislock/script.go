package redislock

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
)

//go:embed acquire.lua
var acquireLua string

//go:embed extend.lua
var extendLua string

//go:embed release.lua
var releaseLua string

//go:embed raise.lua
var raiseLua string

//go:embed break.lua
var breakLua string

//go:embed look.lua
var lookLua string

// script is a script's text and the name by which a server knows it.
type script struct {
	text string
	sha  any // a string, boxed once
}

type scripts struct {
	acquire, extend, release, raise, breakKey, look script
}

func newScripts() scripts {
	return scripts{
		acquire:  newScript(acquireLua),
		extend:   newScript(extendLua),
		release:  newScript(releaseLua),
		raise:    newScript(raiseLua),
		breakKey: newScript(breakLua),
		look:     newScript(lookLua),
	}
}

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) // SHA-1 is Redis's choice: a name, not a guard
	return script{text: text, sha: hex.EncodeToString(sum[:])}
}

// Positions of a script call's arguments.
const (
	argName   = 0
	argScript = 1
	argKey    = 3
	argFirst  = 4 // the script's own
	argLimit  = 9
)

// call is one call of a script. Its arguments are made in one piece: go-redis
// keeps the slice it is given, and takes pointers as it takes what they point
// to. A call is not reused: a client may hold on to it longer than its caller.
type call struct {
	script *script
	key    string // with prefix
	nonce  string
	ttl    int64 // ms
	number uint64
	keep   int64 // ms
	args   [argLimit]any
	used   int
}

// newCall returns a call of s on a lock's key; the caller appends the script's
// own arguments with add.
func (b *Backend) newCall(s *script, key string) *call {
	c := &call{}
	b.fill(c, s, key)
	return c
}

func (b *Backend) fill(c *call, s *script, key string) {
	c.script = s
	c.key = b.prefix + key
	c.args = [argLimit]any{"evalsha", s.sha, "1", c.key}
	c.used = argFirst
}

func (c *call) add(arg any) {
	c.args[c.used] = arg
	c.used++
}

// command returns the call as a command that names its script.
func (c *call) command(ctx context.Context) *redis.IntCmd {
	return keyed(redis.NewIntCmd(ctx, c.args[:c.used]...))
}

// full returns the call as a command that brings its script along.
func (c *call) full(ctx context.Context) *redis.IntCmd {
	return keyed(redis.NewIntCmd(ctx, c.fullArgs()...))
}

func (c *call) fullArgs() []any {
	args := append([]any(nil), c.args[:c.used]...)
	args[argName], args[argScript] = "eval", c.script.text
	return args
}

// keyed tells a Cluster client or a Ring where in cmd the key is.
func keyed[C redis.Cmder](cmd C) C {
	cmd.SetFirstKeyPos(argKey)
	return cmd
}

// run makes a call and returns the script's answer. The script is sent in full
// if the server does not know it.
func (b *Backend) run(ctx context.Context, c *call) (int64, error) {
	cmd := c.command(ctx)
	err := b.process(ctx, cmd)
	if isNoScript(err) {
		cmd = c.full(ctx)
		err = b.process(ctx, cmd)
	}
	return answer(cmd, err)
}

// errNoAnswer is what a client hook, or an error of the client's, makes of a
// command that was never sent. No script answers 0, so that this is not taken
// for an answer.
var errNoAnswer = errors.New("no answer")

// answer returns what a script answered to a command that has ended with err.
func answer(cmd *redis.IntCmd, err error) (int64, error) {
	if err != nil {
		return 0, explain(err)
	}
	reply := cmd.Val()
	if reply == 0 {
		return 0, errNoAnswer
	}
	return reply, nil
}

// process sends one command and waits for its answer.
func (b *Backend) process(ctx context.Context, cmd redis.Cmder) error {
	if b.async == nil {
		return b.rdb.Process(ctx, cmd)
	}
	return await(ctx, b.async.Submit(ctx, cmd))
}

// processAll sends several commands at once and waits for their answers. The
// errors are theirs, in their order.
func processAll[C redis.Cmder](ctx context.Context, b *Backend, cmds []C) []error {
	errs := make([]error, len(cmds))
	if b.async != nil {
		futures := make([]redis.AutoFuture, len(cmds))
		for i, cmd := range cmds {
			futures[i] = b.async.Submit(ctx, cmd)
		}
		for i, future := range futures {
			errs[i] = await(ctx, future)
		}
		return errs
	}
	pipe := b.rdb.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // It only queues.
	}
	_, _ = pipe.Exec(ctx) // Its error is that of a command.
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
