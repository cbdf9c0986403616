package redisclient

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrNoAnswer is what a client hook, or an error of the client's, makes of a
// command that was never sent: no error and no value. A script must answer
// neither 0 nor an empty string, so that this is not taken for its answer.
var ErrNoAnswer = errors.New("no answer")

// IsNoScript reports whether a server did not know a script. Nothing was done.
func IsNoScript(err error) bool {
	return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT")
}

// IsWrongType reports whether a command met a Redis key of another type. Before
// version 7 a server wraps what happens in a script into a text of its own.
func IsWrongType(err error) bool {
	return err != nil && strings.Contains(err.Error(), "WRONGTYPE")
}

// IsDenied reports whether a command is missing or forbidden, be it the call of
// a script or a command within it.
func IsDenied(err error) bool {
	if err == nil {
		return false
	}
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

// explain says what to do about an error that only an administrator can end.
// Other errors it returns as they are.
func explain(err error) error {
	if !IsDenied(err) {
		return err
	}
	return fmt.Errorf("the server denies what the scripts need (grant evalsha, eval, and the commands "+
		"that this package's documentation lists, on all keys and channels that begin with the prefix): %w", err)
}
