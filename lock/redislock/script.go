package redislock

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redisclient"
)

var (
	//go:embed acquire.lua
	acquireLua string
	//go:embed extend.lua
	extendLua string
	//go:embed release.lua
	releaseLua string
	//go:embed raise.lua
	raiseLua string
	//go:embed break.lua
	breakLua string
	//go:embed look.lua
	lookLua string
)

type scripts struct {
	acquire, extend, release, raise, breakKey, look *redisclient.Script
}

func newScripts() *scripts {
	return &scripts{
		acquire:  redisclient.NewScript(acquireLua),
		extend:   redisclient.NewScript(extendLua),
		release:  redisclient.NewScript(releaseLua),
		raise:    redisclient.NewScript(raiseLua),
		breakKey: redisclient.NewScript(breakLua),
		look:     redisclient.NewScript(lookLua),
	}
}

// call is a call with the arguments that it points to, in one allocation.
type call struct {
	redisclient.Call
	nonce  string
	ttl    int64 // ms
	number uint64
	keep   int64 // ms
}

// newCall returns a call of s on a lock's key; the caller adds the script's own
// arguments.
func (b *Backend) newCall(s *redisclient.Script, key string) *call {
	c := &call{}
	c.Begin(s, b.prefix+key)
	return c
}

// run makes a call and returns the script's answer.
func (b *Backend) run(ctx context.Context, c *call) (int64, error) {
	return answer(redisclient.Run(ctx, b.redis, &c.Call, redis.NewIntCmd))
}

// answer returns what a script answered to a command that has ended with err.
func answer(cmd *redis.IntCmd, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	reply := cmd.Val()
	if reply == 0 {
		return 0, redisclient.ErrNoAnswer
	}
	return reply, nil
}
