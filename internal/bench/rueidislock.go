package bench

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidian is github.com/redis/rueidis/rueidislock on one Redis.
type rueidian struct {
	locker rueidislock.Locker
}

var _ Contender = (*rueidian)(nil)

// openRueidislock follows the advice for one Redis, version 7.0.5 or later:
// one key instead of three, and NOLOOP.
//
// TryNextAfter is how long an acquire may take before the next of several
// keys is tried. There is no next one here, and with its default of 20 ms an
// acquire that a busy server answers late leaves its caller asleep until
// somebody else releases the key.
func openRueidislock(s Settings) (Contender, error) {
	option := rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{s.Addr}},
		KeyValidity:    TTL,
		TryNextAfter:   TTL,
		KeyMajority:    1,
		NoLoopTracking: true,
	}
	if s.Wire != nil {
		option.ClientOption.DialCtxFn = s.Wire.dialRueidis
	}
	locker, err := rueidislock.NewLocker(option)
	if err != nil {
		return nil, err
	}
	return &rueidian{locker}, nil
}

// Pair implements Contender.
func (r *rueidian) Pair(ctx context.Context, key string) error {
	_, release, err := r.locker.TryWithContext(ctx, key)
	if err != nil {
		return err
	}
	release()
	return nil
}

// Hold implements Contender.
func (r *rueidian) Hold(ctx context.Context, key string, inside func()) error {
	_, release, err := r.locker.WithContext(ctx, key)
	if err != nil {
		return err
	}
	inside()
	release()
	return nil
}

// Close implements Contender.
func (r *rueidian) Close() error {
	r.locker.Close()
	return nil
}
