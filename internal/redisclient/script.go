package redisclient

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

// Script is a script's text and the name by which a server knows it. It is not
// changed after NewScript and may be shared.
type Script struct {
	text string
	sha  any // a string, boxed once
}

// NewScript returns the script with that text.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text)) // SHA-1 is Redis's choice: a name, not a guard
	return &Script{text: text, sha: hex.EncodeToString(sum[:])}
}

// Positions of a script call's arguments.
const (
	argName   = 0
	argScript = 1
	argKey    = 3
	argFirst  = 4 // the script's own
)

// MaxArgs is how many arguments of its own a script can have.
const MaxArgs = 6

// Call is one call of a script on one key. Begin it, add the script's arguments,
// then run it. It is not to be used a second time or copied: a client may hold
// on to it longer than its caller does, for a copy that is still under way.
type Call struct {
	script *Script
	key    string
	args   [argFirst + MaxArgs]any
	used   int
}

// Begin makes c a call of s on a Redis key.
func (c *Call) Begin(s *Script, key string) {
	c.script, c.key = s, key
	// In one piece with c: go-redis keeps the slice it is given.
	c.args = [argFirst + MaxArgs]any{"evalsha", s.sha, "1", &c.key}
	c.used = argFirst
}

// Add appends an argument. A pointer to a string or a number means what it
// points to, which then must not change; it saves the allocation that boxing the
// value would cost.
func (c *Call) Add(arg any) {
	c.args[c.used] = arg
	c.used++
}

// sent returns the arguments of a command that names its script or, if full,
// brings it along.
func (c *Call) sent(full bool) []any {
	if !full {
		return c.args[:c.used]
	}
	args := append([]any(nil), c.args[:c.used]...)
	args[argName], args[argScript] = "eval", c.script.text
	return args
}

// Run makes a call and returns the command with the script's answer. newCmd is
// the constructor for the kind of answer, like [redis.NewIntCmd]. The script is
// sent in full if the server does not know it.
func Run[C redis.Cmder](ctx context.Context, r *Redis, c *Call, newCmd func(context.Context, ...any) C) (C, error) {
	cmd := keyed(newCmd(ctx, c.sent(false)...))
	err := r.Process(ctx, cmd)
	if IsNoScript(err) {
		cmd = keyed(newCmd(ctx, c.sent(true)...))
		err = r.Process(ctx, cmd)
	}
	return cmd, explain(err)
}

// RunAll makes several calls in one round trip, or two if a server does not know
// a script. Commands and errors are in the order of the calls. Calls for several
// servers are answered, too; a server that does not answer then holds up the
// others.
func RunAll[C redis.Cmder](
	ctx context.Context, r *Redis, calls []*Call, newCmd func(context.Context, ...any) C,
) (cmds []C, errs []error) {
	cmds, errs = make([]C, len(calls)), make([]error, len(calls))
	all := make([]int, len(calls)) // numbers of calls
	for i := range calls {
		all[i] = i
	}
	send := func(which []int, full bool) (unknown []int) {
		if len(which) == 0 {
			return nil
		}
		batch := make([]redis.Cmder, len(which))
		for n, i := range which {
			cmds[i] = keyed(newCmd(ctx, calls[i].sent(full)...))
			batch[n] = cmds[i]
		}
		for n, err := range r.ProcessAll(ctx, batch) {
			i := which[n]
			errs[i] = explain(err)
			if IsNoScript(err) {
				unknown = append(unknown, i)
			}
		}
		return unknown
	}
	unknown := send(all, false)
	send(unknown, true) // Nothing was done for those.
	return cmds, errs
}

// keyed tells a Cluster client or a Ring where in cmd the key is.
func keyed[C redis.Cmder](cmd C) C {
	cmd.SetFirstKeyPos(argKey)
	return cmd
}
