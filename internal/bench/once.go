package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// What every Once keeps its claims and its results for.
const (
	onceLease     = 30 * time.Second
	onceRetention = time.Hour
)

// Names of what runs something once per key.
const (
	TwoCommands     = "two-commands"
	TwoCommandsAuto = "two-commands-autopipeline"
	HandWritten     = "hand-written"
	HandWrittenAuto = "hand-written-autopipeline"
	Guard           = "guard"
	GuardAuto       = "guard-autopipeline"
	GuardAsync      = "guard-asyncpipeline"
	GuardMemory     = "guard-memstore"
	GuardCache      = "guard-localcache"
)

// Once runs something once per key in one way. Its methods are safe for
// concurrent use.
type Once interface {
	// Run runs fn, unless it was run for the key before, and returns its
	// result or the earlier one.
	Run(ctx context.Context, key string, fn func(ctx context.Context) ([]byte, error)) ([]byte, error)
	// Close frees what it holds.
	Close() error
}

// onceKinds returns all of them in the order in which they are shown.
func onceKinds() []onceKind {
	return []onceKind{
		{TwoCommands, openTwoCommands},
		{TwoCommandsAuto, openTwoCommandsAuto},
		{HandWritten, openHandWritten},
		{HandWrittenAuto, openHandWrittenAuto},
		{Guard, openGuard},
		{GuardAuto, openGuardAuto},
		{GuardAsync, openGuardAsync},
		{GuardMemory, openGuardMemory},
		{GuardCache, openGuardCache},
	}
}

type onceKind struct {
	name string
	open func(Settings) (Once, error)
}

// OnceNames returns the names of all of them.
func OnceNames() []string {
	var names []string
	for _, k := range onceKinds() {
		names = append(names, k.name)
	}
	return names
}

// OnRedis returns the names of those that ask a Redis each time.
func OnRedis() []string {
	return []string{TwoCommands, TwoCommandsAuto, HandWritten, HandWrittenAuto, Guard, GuardAuto, GuardAsync}
}

// OpenOnce returns a Once that has run something and replayed it: it is
// connected, and the server knows its scripts.
func OpenOnce(ctx context.Context, name string, s Settings) (Once, error) {
	i := slices.IndexFunc(onceKinds(), func(k onceKind) bool { return k.name == name })
	if i < 0 {
		return nil, fmt.Errorf("bench: no way %q to run once", name)
	}
	o, err := onceKinds()[i].open(s)
	if err != nil {
		return nil, fmt.Errorf("bench: open %s: %w", name, err)
	}
	key := "bench:open:" + randomToken()
	if err = First(o)(ctx, key); err == nil {
		err = errors.Join(Complete(ctx, o, Keys{{key}}), Duplicate(o)(ctx, key))
	}
	if err != nil {
		return nil, fmt.Errorf("bench: first run of %s: %w", name, errors.Join(err, o.Close()))
	}
	return o, nil
}

// Answer is the result that is recorded: what a payment's handler might return.
const Answer = `{"id":"pi_3MtwBwLkdIwHu7ix28a3tqPa","status":"succeeded","amount":2000,"currency":"eur"}`

var (
	answer = []byte(Answer)

	errNotRun   = errors.New("bench: a first run was none")
	errRunAgain = errors.New("bench: a duplicate was run")
	errAnswer   = errors.New("bench: the result is another one")
)

// First returns the Op that runs something for the first time: on a key that
// nobody has used before, made of the one that it is given.
func First(o Once) Op {
	var fresh atomic.Int64
	tag := ":" + randomToken() + ":" // another First may be given the same keys
	return func(ctx context.Context, key string) error {
		ran := false
		result, err := o.Run(ctx, key+tag+strconv.FormatInt(fresh.Add(1), 10), func(context.Context) ([]byte, error) {
			ran = true
			return answer, nil
		})
		return check(result, err, ran, errNotRun)
	}
}

// Duplicate returns the Op that gets the result of an earlier run: that of
// Complete.
func Duplicate(o Once) Op {
	return func(ctx context.Context, key string) error {
		replayed := true
		result, err := o.Run(ctx, key, func(context.Context) ([]byte, error) {
			replayed = false
			return answer, nil
		})
		return check(result, err, replayed, errRunAgain)
	}
}

// Complete runs something once for each of keys.
func Complete(ctx context.Context, o Once, keys Keys) error {
	for _, own := range keys {
		for _, key := range own {
			result, err := o.Run(ctx, key, func(context.Context) ([]byte, error) { return answer, nil })
			if err := check(result, err, true, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func check(result []byte, err error, as bool, otherwise error) error {
	switch {
	case err != nil:
		return err
	case !as:
		return otherwise
	case !bytes.Equal(result, answer):
		return errAnswer
	}
	return nil
}
