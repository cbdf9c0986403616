package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/observe"
)

// askTimeout bounds the question whether servers evict.
const askTimeout = 5 * time.Second

// evictions finds out, once and in the background, whether servers may evict.
type evictions struct {
	store *Store
	done  atomic.Bool // nothing is to be asked any more

	mu     sync.Mutex
	closed bool
	cancel context.CancelFunc // of the asking, once that has begun
	wg     sync.WaitGroup
}

func (e *evictions) init(s *Store) {
	e.store = s
	e.done.Store(s.observer == nil)
}

// ask begins to ask the servers, if nobody has. It does not wait.
func (e *evictions) ask() {
	if e.done.Load() || e.done.Swap(true) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	e.cancel = cancel
	e.wg.Go(func() {
		defer cancel()
		e.store.warn(ctx)
	})
}

// close ends the asking and waits for that.
func (e *evictions) close() {
	e.mu.Lock()
	e.closed = true
	if e.cancel != nil {
		e.cancel()
	}
	e.mu.Unlock()
	e.wg.Wait()
}

// warn tells the observer of every server that may evict records. A server that
// does not let us know is passed over.
func (s *Store) warn(ctx context.Context) {
	servers, err := s.redis.Servers(ctx)
	if err != nil {
		return
	}
	for _, server := range servers {
		memory, err := server.Info(ctx, "memory")
		if err != nil {
			continue
		}
		policy, limit := memory["maxmemory_policy"], memory["maxmemory"]
		if policy == "" || policy == "noeviction" || limit == "0" {
			continue
		}
		s.observer.Observe(ctx, observe.Event{
			Time: time.Now(), Kind: observe.EvictionPossible,
			Err: fmt.Errorf("redisstore: the server at %q may evict records, which then run again: "+
				"its maxmemory is %s with maxmemory-policy %s: use noeviction", server.Addr, limit, policy),
		})
	}
}
