package memstore

import "github.com/semel-go/semel/lock"

// Listen implements [lock.Waiter]; the name of a key is string(digest[:]). The
// Listener calls notify from a goroutine of its own, which its Close ends and
// waits for. A key that changes several times before notify could be called is
// told once.
func (s *Store) Listen(notify func(key string)) lock.Listener { return s.board.Listen(notify) }
