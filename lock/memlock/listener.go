package memlock

import "github.com/semel-go/semel/lock"

// Listen implements [lock.Waiter]. The Listener calls notify from a goroutine
// of its own, which its Close ends and waits for. A key that becomes free
// several times before notify could be called is told once.
func (b *Backend) Listen(notify func(key string)) lock.Listener { return b.board.Listen(notify) }
