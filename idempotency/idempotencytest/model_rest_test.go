package idempotencytest_test

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func (m *model) Interruptible() bool { return true }

func (m *model) Look(_ context.Context, key idempotency.Digest) (idempotency.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.find(key)
	if m.is("prolongs a claim that is looked at") && c.state == idempotency.StateClaimed {
		c.until = m.after(time.Minute)
	}
	return m.info(key, c), nil
}

// info describes c.
func (m *model) info(key idempotency.Digest, c *cell) idempotency.Info {
	info := idempotency.Info{
		Key: key, State: c.state, Remaining: time.Until(c.until), Waiters: c.waiters, Record: m.out(c.record),
	}
	if c.state == idempotency.StateFree {
		info.NotBefore = max(time.Until(c.notBefore), 0)
	}
	switch {
	case m.is("takes an unknown outcome for a claim") && c.state == idempotency.StateUnknown:
		info.State = idempotency.StateClaimed
	case m.is("looks without telling what remains"):
		info.Remaining = 0
	case m.is("does not look at the attempt"):
		info.Record.Attempt = 0
	case m.is("does not look at the not-before time"):
		info.NotBefore = 0
	}
	return info
}

func (m *model) List(_ context.Context, o idempotency.ListOptions) iter.Seq2[idempotency.Info, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var infos []idempotency.Info
	for key, c := range m.cells {
		if !c.until.IsZero() && !time.Now().Before(c.until) {
			continue
		}
		if !bytes.HasPrefix(key[:], o.Scope) && !m.is("lists every scope") {
			continue
		}
		if len(o.States) > 0 && !slices.Contains(o.States, c.state) && !m.is("lists every state") {
			continue
		}
		if len(o.States) > 1 && c.state != o.States[0] && m.is("lists the first of several states") {
			continue
		}
		if m.is("lists the first page alone") && len(infos) == 1000 {
			break
		}
		if m.is("lists what is claimed alone") && c.state != idempotency.StateClaimed {
			continue
		}
		infos = append(infos, m.info(key, c))
	}
	return func(yield func(idempotency.Info, error) bool) {
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (m *model) Forget(_ context.Context, key idempotency.Digest, stub time.Duration) (bool, error) {
	if err := m.bad("stub", stub, idempotency.MaxRetention); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.find(key)
	switch {
	case c.state == idempotency.StateAbsent && m.is("leaves a stub of what is absent"):
		m.cells[key] = &cell{state: idempotency.StateFree, until: m.after(stub)}
		return false, nil
	case c.state == idempotency.StateAbsent:
		return m.is("says that it forgot what is absent"), nil
	case c.state == idempotency.StateUnknown && m.is("does not forget an unknown outcome"):
		return true, nil
	case m.is("forgets without spending the nonce"):
		c.record.Nonce = idempotency.Nonce{}
	case m.is("forgets the fence with the record"):
		c.record.Fence = 0
	case m.is("forgets the attempts with the record"):
		c.record.Attempt = 0
	case m.is("deletes what it forgets"):
		delete(m.cells, key)
		return true, nil
	}
	if !m.is("leaves the not-before time of what it forgets") {
		c.notBefore = time.Time{}
	}
	end := m.after(stub)
	if m.is("remembers what it forgot as long as before") {
		end = c.until
	}
	m.operate(key, c, end)
	return true, nil
}

// operate frees c for an operator.
func (m *model) operate(key idempotency.Digest, c *cell, end time.Time) {
	c.waiters = c.waiters && !m.is("does not tell what operators do")
	m.free(key, c, end)
}

func (m *model) ForceComplete(_ context.Context, r idempotency.CompleteRequest) (bool, error) {
	if err := m.bad("retention", r.Retention, idempotency.MaxRetention); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.find(r.Key)
	switch {
	case c.state == idempotency.StateCompleted && !m.is("forces an outcome over another"):
		return false, nil
	case c.state == idempotency.StateUnknown && m.is("does not force an unknown outcome"):
		return false, nil
	}
	if !m.is("forces an outcome with the fence it was given") {
		r.Record.Fence = m.fence(c.record.Fence)
	}
	c.waiters = c.waiters && !m.is("does not tell what operators do")
	m.put(c, r)
	return true, nil
}

func (m *model) ReleaseDead(
	_ context.Context, key idempotency.Digest, nonce idempotency.Nonce, stub time.Duration,
) (bool, error) {
	if err := m.bad("stub", stub, idempotency.MaxRetention); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.find(key)
	switch {
	case c.state == idempotency.StateUnknown && m.is("does not free an unknown outcome"):
		return false, nil
	case c.state == idempotency.StateUnknown, c.state == idempotency.StateClaimed && c.record.Nonce == nonce:
	case c.state == idempotency.StateClaimed && m.is("frees whoever the owner is"):
	case c.state == idempotency.StateFree && m.is("frees what may not be claimed yet"):
	default:
		return false, nil
	}
	c.notBefore = time.Time{}
	m.operate(key, c, m.after(stub))
	return true, nil
}

// tell tells whoever listens for key, if somebody waits.
func (m *model) tell(key idempotency.Digest, c *cell) {
	if !c.waiters {
		return
	}
	for l := range m.listeners {
		l.tell(string(key[:]))
	}
}

func (m *model) Listen(notify func(string)) lock.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &modelListener{m: m, notify: notify, keys: map[string]bool{}}
	m.listeners[l] = true
	return l
}

// modelListener calls notify while its own mutex is held, so that nothing is
// told once it was closed.
type modelListener struct {
	m      *model
	notify func(string)
	mu     sync.Mutex
	keys   map[string]bool
	closed bool
}

func (l *modelListener) tell(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys[key] && !l.closed {
		l.notify(key)
	}
}

func (l *modelListener) Watch(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key] = true
	if !l.m.is("does not say when it listens") {
		l.notify(key)
	}
}

func (l *modelListener) Unwatch(key string) {
	if l.m.is("stops listening for all when one does") {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		for other := range l.m.listeners {
			other.forget(key)
		}
	}
	l.forget(key)
}

func (l *modelListener) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.keys, key)
}

func (l *modelListener) Close() error {
	if l.m.is("goes on telling after it was closed") {
		return nil
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return nil
}
