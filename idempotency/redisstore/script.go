package redisstore

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redisclient"
)

var (
	//go:embed begin.lua
	beginLua string
	//go:embed renew.lua
	renewLua string
	//go:embed complete.lua
	completeLua string
	//go:embed release.lua
	releaseLua string
	//go:embed bind.lua
	bindLua string
	//go:embed look.lua
	lookLua string
	//go:embed forget.lua
	forgetLua string
	//go:embed force.lua
	forceLua string
	//go:embed releasedead.lua
	releaseDeadLua string
)

type scripts struct {
	begin, renew, complete, release, bind *redisclient.Script
	look, forget, force, releaseDead      *redisclient.Script
}

func newScripts() *scripts {
	return &scripts{
		begin:       redisclient.NewScript(beginLua),
		renew:       redisclient.NewScript(renewLua),
		complete:    redisclient.NewScript(completeLua),
		release:     redisclient.NewScript(releaseLua),
		bind:        redisclient.NewScript(bindLua),
		look:        redisclient.NewScript(lookLua),
		forget:      redisclient.NewScript(forgetLua),
		force:       redisclient.NewScript(forceLua),
		releaseDead: redisclient.NewScript(releaseDeadLua),
	}
}

// call is a call with the arguments that it points to, in one allocation.
type call struct {
	redisclient.Call
	text, more string
	ms, after  int64
}

// run makes a call that answers with a number.
func (s *Store) run(ctx context.Context, c *call) (int64, error) {
	return meaning(redisclient.Run(ctx, s.redis, &c.Call, redis.NewIntCmd))
}

// runCovered is run, and the replicas must have what it did, if they are asked
// for. What it did stays if they have not.
func (s *Store) runCovered(ctx context.Context, c *call) (int64, error) {
	if s.redis.Replicas() == 0 {
		return s.run(ctx, c)
	}
	cmd, acked, err := redisclient.RunReplicated(ctx, s.redis, &c.Call, redis.NewIntCmd)
	n, err := meaning(cmd, err)
	if err == nil && n != saysOther && acked < s.redis.Replicas() {
		return 0, s.redis.TooFew(acked)
	}
	return n, err
}
