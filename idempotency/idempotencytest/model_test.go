package idempotencytest_test

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// model is a second store in memory, as plain as can be, whose only purpose is
// to be wrong: in every place where somebody could make a mistake it asks is
// whether it shall. Without a bug it keeps every law.
type model struct {
	bug string

	mu        sync.Mutex
	cells     map[idempotency.Digest]*cell
	bindings  map[idempotency.Digest]*cell
	listeners map[*modelListener]bool
	refusals  map[idempotency.Digest]uint32
}

// cell is what the model knows of a key.
type cell struct {
	state     idempotency.State
	record    idempotency.Record
	until     time.Time
	notBefore time.Time
	waiters   bool
}

func newModel(bug string) *model {
	return &model{
		bug: bug, cells: map[idempotency.Digest]*cell{}, bindings: map[idempotency.Digest]*cell{},
		listeners: map[*modelListener]bool{}, refusals: map[idempotency.Digest]uint32{},
	}
}

// is reports whether the model shall make the mistake.
func (m *model) is(bug string) bool { return m.bug == bug }

// find returns the cell of key; its state is absent if there is none.
func (m *model) find(key idempotency.Digest) *cell {
	key = m.spelled(key)
	if c := m.cells[key]; c != nil {
		if time.Now().Before(c.until) || c.until.IsZero() {
			return c
		}
		delete(m.cells, key)
		if m.is("takes over a dead claim in two steps") {
			m.yield()
		}
	}
	return &cell{}
}

// spelled is the name under which the model keeps a key.
func (m *model) spelled(key idempotency.Digest) idempotency.Digest {
	switch {
	case m.is("keeps the first half of a key"):
		clear(key[16:])
	case m.is("keeps the scope of a key"):
		clear(key[8:])
	case m.is("takes a key for text that ends at a NUL"):
		if i := bytes.IndexByte(key[:], 0); i >= 0 {
			clear(key[i:])
		}
	case m.is("folds the case of keys"):
		copy(key[:], bytes.ToLower(key[:]))
	}
	return key
}

// yield lets others in, where one step is made two.
func (m *model) yield() {
	m.mu.Unlock()
	time.Sleep(time.Millisecond)
	m.mu.Lock()
}

// same compares nonces.
func (m *model) same(a, b idempotency.Nonce) bool {
	switch {
	case m.is("compares nonces by their beginning"):
		return bytes.Equal(a[:15], b[:15])
	case m.is("compares nonces by their end"):
		return bytes.Equal(a[1:], b[1:])
	case m.is("folds the case of nonces"):
		return bytes.EqualFold(a[:], b[:])
	}
	return a == b
}

// after is the instant d from now.
func (m *model) after(d time.Duration) time.Time {
	if m.is("rounds down to milliseconds") {
		d = d.Truncate(time.Millisecond)
	}
	return time.Now().Add(d)
}

// bad refuses a time out of range.
func (m *model) bad(field string, d, longest time.Duration) error {
	if d >= idempotency.MinLease && d <= longest {
		return nil
	}
	if m.is("takes any "+field) || m.is("takes any time from an operator") && field != "lease" {
		return nil
	}
	if m.is("does not say what is out of range") {
		return idempotency.ErrInvalid
	}
	return &rangeError{field}
}

type rangeError struct{ field string }

func (e *rangeError) Error() string        { return "model: " + e.field + " out of range" }
func (e *rangeError) Is(target error) bool { return target == idempotency.ErrInvalid }

// fence returns the next one after last.
func (m *model) fence(last uint64) uint64 {
	switch {
	case m.is("gives every claim the same fence"):
		return 7
	case m.is("counts fences without a clock"):
		return last + 1
	}
	return max(last+1, uint64(time.Now().UnixMicro()))
}

func (m *model) Begin(ctx context.Context, r idempotency.BeginRequest) (idempotency.Begun, error) {
	if err := m.bad("lease", r.Lease, idempotency.MaxLease); err != nil {
		return idempotency.Begun{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.dead(ctx); err != nil {
		return idempotency.Begun{}, err
	}
	c := m.find(r.Key)
	if m.is("looks first and claims then") || m.is("claims over a completion that came meanwhile") {
		before := *c
		m.yield()
		if now := m.find(r.Key); m.is("looks first and claims then") || now.state != idempotency.StateClaimed {
			c = &before
		} else {
			c = now
		}
	}
	own, left := m.same(c.record.Nonce, r.Nonce), time.Until(c.until)
	switch c.state {
	case idempotency.StateClaimed:
		if own {
			return m.again(c, r), nil
		}
		if !m.is("claims for everybody") {
			return m.held(c, r), nil
		}
	case idempotency.StateCompleted:
		if !m.is("claims again for who completed") || !own {
			return m.completed(c, r), nil
		}
	case idempotency.StateUnknown:
		return idempotency.Begun{State: c.state, Remaining: left, Fingerprint: m.print(c, r)}, nil
	case idempotency.StateFree:
		early := time.Until(c.notBefore)
		if m.is("holds a spent nonce back and does not refuse it") && early > 0 {
			return idempotency.Begun{State: c.state, Remaining: early}, nil
		}
		if own && !m.is("claims for a spent nonce") {
			return idempotency.Begun{}, lock.ErrSpent
		}
		if early > 0 && !m.is("ignores the not-before time") {
			c.waiters = c.waiters || r.Waiting && !m.is("does not note who waits for a not-before time")
			return idempotency.Begun{State: c.state, Remaining: early}, nil
		}
		if m.is("keeps a key until its stub has ended") {
			return idempotency.Begun{State: idempotency.StateHeld, Remaining: left}, nil
		}
	}
	return m.claim(c, r), nil
}

// dead refuses a context that has ended.
func (m *model) dead(ctx context.Context) error {
	if ctx.Err() != nil && m.is("takes a dead context for a lost claim") {
		return lock.ErrExpired
	}
	return ctx.Err()
}

// again answers the owner's begin that arrives a second time.
func (m *model) again(c *cell, r idempotency.BeginRequest) idempotency.Begun {
	switch until := m.after(r.Lease); {
	case m.is("refuses a resent begin"):
		return m.held(c, r)
	case m.is("does not arm the lease of a resent begin"):
	case until.After(c.until), m.is("arms the lease of a resent begin though more remains"):
		c.until = until
	}
	if m.is("counts a resent begin") {
		c.record.Attempt++
	}
	if m.is("gives a resent begin another fence") {
		c.record.Fence = m.fence(c.record.Fence)
	}
	if m.is("forgets the waiters at a resent begin") {
		c.waiters = false
	}
	return idempotency.Begun{State: idempotency.StateClaimed, Fence: c.record.Fence, Attempt: c.record.Attempt}
}

// held refuses a begin.
func (m *model) held(c *cell, r idempotency.BeginRequest) idempotency.Begun {
	c.waiters = c.waiters || r.Waiting
	left := time.Until(c.until)
	switch {
	case m.is("does not tell what remains"):
		left = 0
	case m.is("tells the asker's lease as what remains"):
		left = r.Lease
	case m.is("arms the owner's lease when it notes a waiter") && r.Waiting:
		c.until = m.after(250 * time.Millisecond)
	case m.is("counts refused duplicates"):
		c.record.Attempt++
	}
	return idempotency.Begun{State: idempotency.StateHeld, Remaining: left, Fingerprint: m.print(c, r)}
}

// print is the fingerprint that a refused begin is answered with.
func (m *model) print(c *cell, r idempotency.BeginRequest) idempotency.Fingerprint {
	print := c.record.Fingerprint
	switch {
	case m.is("tells half of a fingerprint"):
		clear(print[16:])
	case m.is("tells the asker's fingerprint"):
		print = r.Fingerprint
	}
	return print
}

// completed answers the begin of a completed key.
func (m *model) completed(c *cell, r idempotency.BeginRequest) idempotency.Begun {
	switch {
	case m.is("withholds a record from another fingerprint") && r.Fingerprint != c.record.Fingerprint:
		return m.held(c, r)
	case m.is("cuts a record's time to the asker's lease"):
		c.until = m.after(r.Lease)
	}
	left := time.Until(c.until)
	if m.is("does not tell when a record ends") {
		left = 0
	}
	return idempotency.Begun{State: c.state, Remaining: left, Record: m.out(c.record)}
}

// out is a record as it is given out.
func (m *model) out(r idempotency.Record) idempotency.Record {
	if !m.is("gives out its own buffer") {
		r.Body, r.Label = bytes.Clone(r.Body), bytes.Clone(r.Label)
	}
	return r
}

// claim gives r.Nonce the key of c, which is absent or free.
func (m *model) claim(c *cell, r idempotency.BeginRequest) idempotency.Begun {
	next := &cell{state: idempotency.StateClaimed, until: m.after(r.Lease)}
	if m.is("ends claims early") {
		next.until = m.after(r.Lease * 4 / 5)
	}
	if m.is("never ends a claim") {
		next.until = m.after(100 * idempotency.MaxLease)
	}
	next.record = idempotency.Record{
		Nonce: r.Nonce, Fence: m.fence(c.record.Fence), Attempt: 1, Fingerprint: r.Fingerprint,
		Label: bytes.Clone(r.Label),
	}
	if c.state == idempotency.StateFree && !m.is("loses count of the attempts") {
		next.record.Attempt += c.record.Attempt
	}
	m.cells[m.spelled(r.Key)] = next
	return idempotency.Begun{State: next.state, Fence: next.record.Fence, Attempt: next.record.Attempt}
}

func (m *model) Renew(ctx context.Context, r idempotency.RenewRequest) error {
	if err := m.bad("lease", r.Lease, idempotency.MaxLease); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.dead(ctx); err != nil {
		return err
	}
	c := m.find(r.Key)
	own, until := m.same(c.record.Nonce, r.Nonce), m.after(r.Lease)
	revived := idempotency.BeginRequest{Key: r.Key, Nonce: r.Nonce, Lease: r.Lease}
	switch c.state {
	case idempotency.StateAbsent:
		if m.is("claims again when it is renewed too late") {
			m.claim(c, revived)
			return nil
		}
		return lock.ErrExpired
	case idempotency.StateFree:
		if m.is("claims again when it is renewed after the release") && own {
			m.claim(c, revived)
			return nil
		}
		return lock.ErrExpired
	case idempotency.StateCompleted:
		if m.is("prolongs a record when it is renewed") && own {
			c.until = until
			return nil
		}
		if m.is("says nothing of a renewal of what is completed") {
			return nil
		}
		return lock.ErrTaken
	case idempotency.StateUnknown:
		return lock.ErrTaken
	}
	if !own && !m.is("renews whoever the owner is") {
		return lock.ErrTaken
	}
	switch {
	case m.is("says that it renewed and does not"):
	case m.is("adds the lease to what remains"):
		c.until = c.until.Add(r.Lease)
	case until.After(c.until), m.is("arms a lease shorter than what remains"):
		c.until = until
	}
	return nil
}

func (m *model) Node(idempotency.Digest) string { return "" }

func (m *model) RenewBatch(ctx context.Context, rs []idempotency.RenewRequest) []error {
	errs := make([]error, len(rs))
	for i, r := range rs {
		if m.is("renews only the first of a batch") && i > 0 {
			continue
		}
		errs[i] = m.Renew(ctx, r)
		if m.is("hides failures in a batch") {
			errs[i] = nil
		}
		if m.is("fails a batch as a whole") && errs[i] != nil {
			for j := range errs {
				errs[j] = errs[i]
			}
			break
		}
	}
	return errs
}
