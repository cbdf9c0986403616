package webhook

import (
	"errors"
	"sync"
	"time"
)

// ErrOverrun is the cause with which a handler's context ends after
// Options.MaxRun.
var ErrOverrun = errors.New("webhook: the handler's time is over")

// overrunning reports to tell, once per lease, that a handler runs longer than
// it may, until stop is called.
func overrunning(maxRun, lease time.Duration, tell func(held time.Duration)) (stop func()) {
	var (
		mu    sync.Mutex
		over  bool
		timer *time.Timer
		start = time.Now()
	)
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(maxRun, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			tell(time.Since(start))
			timer.Reset(lease)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}
