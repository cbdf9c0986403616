package redislock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// The columns of a value. The scripts count from 1.
const (
	stateAt  = 2
	flagAt   = 7
	lastAt   = 9
	firstAt  = 26
	nonceAt  = 54
	format   = "1 "
	stateLen = 4
)

// errForeign is a Redis key with the prefix that does not hold a lock.
var errForeign = errors.New("the Redis key holds something that is not a lock of this version")

// isForeign reports whether err says so, be it the value or its type.
func isForeign(err error) bool {
	return errors.Is(err, errForeign) || redisclient.IsWrongType(err)
}

// parse reads a value.
func parse(value string) (lock.Info, error) {
	if len(value) <= nonceAt || !strings.HasPrefix(value, format) {
		return lock.Info{}, errForeign
	}
	state := lock.State(value[stateAt : stateAt+stateLen])
	switch state {
	case lock.StateHeld, lock.StateKept, lock.StateFree:
	default:
		return lock.Info{}, errForeign
	}
	last, err := strconv.ParseUint(value[lastAt:firstAt-1], 10, 64)
	if err != nil {
		return lock.Info{}, fmt.Errorf("%w: %w", errForeign, err)
	}
	return lock.Info{
		State: state, Nonce: value[nonceAt:], Fence: last, Waiters: value[flagAt] == 'w',
	}, nil
}
