package keeper_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/keeper"
)

var errAway = errors.New("the server is away")

// inDoubt is a doubt whose undoing takes that long and ends in err.
type inDoubt struct {
	takes   time.Duration
	err     error
	life    time.Duration
	settled chan error
}

func (d *inDoubt) Undo() error {
	time.Sleep(d.takes)
	return d.err
}

func (d *inDoubt) Life() time.Duration { return d.life }
func (d *inDoubt) Settled(err error)   { d.settled <- err }

// One server of many is away, and many requests to it are in doubt. Those to the
// others are settled all the same by the time at which they expire, and so are
// all: Close does not wait for the server.
func TestDoubtsOfOneServerDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			life    = 10 * time.Second
			timeout = time.Second
		)
		k := keeper.New(keeper.Config{})
		start := time.Now()
		for range 1000 {
			k.Undo(&inDoubt{timeout, errAway, life, make(chan error, 1)})
		}
		sound := &inDoubt{0, nil, life, make(chan error, 1)}
		k.Undo(sound)
		<-sound.settled
		require.LessOrEqual(t, time.Since(start), life+2*timeout)
		require.NoError(t, k.Close(t.Context(), errAway))
		require.LessOrEqual(t, time.Since(start), life+4*timeout)
	})
}

// A doubt that can be undone is undone at once.
func TestDoubtIsUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keeper.New(keeper.Config{})
		d := &inDoubt{0, nil, time.Second, make(chan error, 1)}
		k.Undo(d)
		require.NoError(t, <-d.settled)
		require.NoError(t, k.Close(t.Context(), errAway))
	})
}
