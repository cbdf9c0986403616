package bench

import (
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// pollsPerSecond is how many tries the server gets from those who poll for
// one key, all together. It was chosen to suit them. With four times as many
// the server is busy with tries instead of with the release that they wait
// for, and redsync, which sends two commands a try, falls to a tenth. With
// fewer, as by their own defaults and advice (redsync 50 to 250 ms between two
// tries, redislock 16 ms and more), whoever has just released the key is the
// only one there to take it again: that is no slower, but it is no contest.
// A program seldom knows the number of its rivals so well.
const pollsPerSecond = 4_000

// retryDelay returns how long those who poll wait between two tries.
func (s Settings) retryDelay() time.Duration {
	return max(time.Duration(s.Rivals)*time.Second/pollsPerSecond, time.Millisecond)
}

// jittered spreads a delay over half to one and a half of itself, so that
// those who poll do not stay in step.
func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d)
}

// newClient returns a go-redis client as a program would make it: all its
// options, and so its pool size, are the default. Each contender has its own.
func newClient(s Settings) *redis.Client {
	options := &redis.Options{Addr: s.Addr}
	if s.Wire != nil {
		options.Dialer = s.Wire.dial
	}
	return redis.NewClient(options)
}
