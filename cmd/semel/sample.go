package main

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
)

// sample is a choice of records in which each that was offered is with the same
// probability.
type sample struct {
	size    int
	chosen  []idempotency.Info
	offered int
}

// offer lets a record be chosen.
func (m *sample) offer(info idempotency.Info) {
	m.offered++
	if len(m.chosen) < m.size {
		m.chosen = append(m.chosen, idempotency.Info{Key: info.Key, Size: info.Size})
		return
	}
	if i := rand.IntN(m.offered); i < m.size {
		m.chosen[i] = idempotency.Info{Key: info.Key, Size: info.Size}
	}
}

// sampleBatch is how many records' memory is asked for in one round trip.
const sampleBatch = 64

// estimate returns about how much memory records take whose lengths make up
// total, by what the server says of those chosen, and how many it told of. If it
// tells of none, total must do.
func (m *sample) estimate(ctx context.Context, s *session, total int64) (memory int64, told int, err error) {
	var used, lengths int64
	for from := 0; from < len(m.chosen); from += sampleBatch {
		batch := m.chosen[from:min(from+sampleBatch, len(m.chosen))]
		cmds := make([]*redis.IntCmd, len(batch))
		pipe := s.rdb.Pipeline()
		for i, info := range batch {
			cmds[i] = pipe.MemoryUsage(ctx, s.prefix+info.Key.String())
		}
		limited, cancel := s.limit(ctx)
		_, _ = pipe.Exec(limited) // each command has its own error
		cancel()
		for i, cmd := range cmds {
			var answer redis.Error
			switch err := cmd.Err(); {
			case err == nil:
				used += cmd.Val()
				lengths += batch[i].Size
				told++
			case !errors.As(err, &answer):
				return 0, 0, err
			} // Otherwise it has expired meanwhile, or the server denies it.
		}
	}
	if lengths == 0 {
		return total, 0, nil
	}
	return int64(float64(total) * float64(used) / float64(lengths)), told, nil
}
