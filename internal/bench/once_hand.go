package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
)

// handWritten is what a careful team writes before it looks for a library: a
// record in JSON, and a lock beside it while the record is made. It has no
// fence, compares no fingerprints, gives back a lock that has meanwhile become
// another's, and runs a key again that another completes between its first and
// its second command.
type handWritten struct {
	client commands
	closer io.Closer
}

var _ Once = (*handWritten)(nil)

// HandRecord is what it keeps of a run.
type HandRecord struct {
	Status      string          `json:"status"`
	Result      json.RawMessage `json:"result"`
	CompletedAt time.Time       `json:"completed_at"`
}

func openHandWritten(s Settings) (Once, error)     { return newHandWritten(s, false) }
func openHandWrittenAuto(s Settings) (Once, error) { return newHandWritten(s, true) }

func newHandWritten(s Settings, auto bool) (Once, error) {
	client, closer, err := openCommands(s, auto)
	return &handWritten{client, closer}, err
}

// Run implements Once.
func (h *handWritten) Run(ctx context.Context, key string, fn func(context.Context) ([]byte, error)) (_ []byte, err error) {
	record, lock := "idempotency:"+key, "idempotency:lock:"+key
	earlier, err := h.client.Get(ctx, record).Bytes()
	switch {
	case err == nil:
		var r HandRecord
		if err := json.Unmarshal(earlier, &r); err != nil {
			return nil, fmt.Errorf("bench: record of %s: %w", key, err)
		}
		return r.Result, nil
	case !errors.Is(err, redis.Nil):
		return nil, err
	}
	taken, err := h.client.SetNX(ctx, lock, "1", onceLease).Result()
	switch {
	case err != nil:
		return nil, err
	case !taken:
		return nil, errUnderway
	}
	defer func() { err = errors.Join(err, h.client.Del(ctx, lock).Err()) }()
	result, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(HandRecord{Status: "completed", Result: result, CompletedAt: time.Now()})
	if err != nil {
		return nil, err
	}
	return result, h.client.Set(ctx, record, text, onceRetention).Err()
}

// Close implements Once.
func (h *handWritten) Close() error { return h.closer.Close() }
