package redislock

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// isNoScript reports whether a server did not know a script. Nothing was done.
func isNoScript(err error) bool {
	return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT")
}

// explain says what to do about an error that only an administrator can end.
// Other errors it returns as they are.
func explain(err error) error {
	if !isDenied(err) {
		return err
	}
	return fmt.Errorf("the server denies what the lock's scripts need "+
		"(grant evalsha, eval, get, set, setrange, pttl, pexpire, time and publish, "+
		"on all keys and channels that begin with the prefix): %w", err)
}

// isDenied reports whether a command is missing or forbidden, be it the call of
// a script or a command within it.
func isDenied(err error) bool {
	if redis.IsPermissionError(err) {
		return true
	}
	text := strings.ToLower(err.Error())
	for _, sign := range []string{"unknown command", "unknown redis command", "acl failure", "can't run this command"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
