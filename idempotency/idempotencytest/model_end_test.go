package idempotencytest_test

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func (m *model) Complete(ctx context.Context, r idempotency.CompleteRequest) (late bool, err error) {
	if err := m.bad("retention", r.Retention, idempotency.MaxRetention); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.dead(ctx); err != nil {
		return false, err
	}
	c := m.find(r.Key)
	if m.is("looks first and completes then") {
		before := *c
		m.yield()
		c = &before
	}
	own := m.same(c.record.Nonce, r.Record.Nonce)
	switch c.state {
	case idempotency.StateAbsent:
		if m.is("drops a late outcome") {
			return false, lock.ErrExpired
		}
		late = !m.is("does not say that an outcome is late")
	case idempotency.StateClaimed:
		if !own && !m.is("completes whoever the owner is") {
			return false, lock.ErrTaken
		}
	case idempotency.StateCompleted:
		switch {
		case m.is("overwrites an outcome with a later one") && r.Record.Fence > c.record.Fence:
		case !own:
			return false, lock.ErrTaken
		case m.is("refuses a second completion"):
			return false, lock.ErrTaken
		case m.is("records a second completion"):
		default:
			if m.is("cuts a record's time at a second completion") {
				c.until = m.after(r.Retention)
			}
			return false, nil
		}
	case idempotency.StateUnknown:
		if !m.is("completes what was declared unknown") {
			if own {
				return false, lock.ErrExpired
			}
			return false, lock.ErrTaken
		}
	case idempotency.StateFree:
		if !m.is("completes what was released") || !own {
			return false, lock.ErrExpired
		}
	}
	m.put(c, r)
	return late, nil
}

// put records r in the place of c and tells the waiters.
func (m *model) put(c *cell, r idempotency.CompleteRequest) {
	next := &cell{state: idempotency.StateCompleted, record: m.in(r.Record), until: m.after(r.Retention)}
	switch {
	case m.is("keeps a record for what remains of the lease") && c.state == idempotency.StateClaimed:
		next.until = c.until
	case m.is("keeps a record for at least what remains of the lease") && c.until.After(next.until):
		next.until = c.until
	case m.is("ends records early"):
		next.until = m.after(r.Retention * 4 / 5)
	case m.is("stores records without an expiry"),
		m.is("stores late outcomes without an expiry") && c.state == idempotency.StateAbsent:
		next.until = time.Time{}
	}
	m.cells[m.spelled(r.Key)] = next
	if !m.is("does not tell of completions") {
		m.tell(r.Key, c)
	}
}

// in is a record as it is kept.
func (m *model) in(r idempotency.Record) idempotency.Record {
	if !m.is("keeps the caller's buffer") {
		r.Body, r.Label = bytes.Clone(r.Body), bytes.Clone(r.Label)
	}
	r.ClaimedAt, r.CompletedAt = r.ClaimedAt.Truncate(time.Millisecond), r.CompletedAt.Truncate(time.Millisecond)
	switch {
	case m.is("cuts bodies at 64 KiB"):
		r.Body = r.Body[:min(len(r.Body), 64<<10)]
	case m.is("ends a body at its first NUL"):
		r.Body, _, _ = bytes.Cut(r.Body, []byte{0})
	case m.is("trims bodies"):
		r.Body = bytes.TrimSpace(r.Body)
	case m.is("keeps labels as text"):
		r.Label = bytes.ToValidUTF8(r.Label, []byte("?"))
	case m.is("keeps fences to 14 digits"):
		f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(r.Fence), 'g', 14, 64), 64)
		r.Fence = uint64(f)
	case m.is("keeps attempts in 8 bits"):
		r.Attempt = uint32(uint8(r.Attempt))
	case m.is("keeps times to the second"):
		r.CompletedAt = r.CompletedAt.Truncate(time.Second)
	case m.is("makes up a fingerprint") && r.Fingerprint == idempotency.Fingerprint{}:
		r.Fingerprint[0] = 1
	}
	return r
}

func (m *model) Release(ctx context.Context, r idempotency.ReleaseRequest) error {
	if err := m.bad("ttl", r.TTL, idempotency.MaxRetention); err != nil {
		return err
	}
	if r.NotBefore > idempotency.MaxRetention && !m.is("takes any notbefore") {
		return &rangeError{"notbefore"}
	}
	if r.NotBefore > 0 && r.NotBefore < idempotency.MinLease && m.is("refuses short not-before times") {
		return &rangeError{"notbefore"}
	}
	if r.Unknown > idempotency.MaxRetention && !m.is("takes any unknown") {
		return &rangeError{"unknown"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.dead(ctx); err != nil {
		return err
	}
	c := m.find(r.Key)
	own := m.same(c.record.Nonce, r.Nonce)
	switch c.state {
	case idempotency.StateClaimed:
		switch {
		case own && r.Compensate && m.is("compensates only what is absent"):
			return nil
		case own, m.is("releases whoever the owner is"):
			m.release(c, r)
			return nil
		case m.is("says nothing of a release by another"):
			return nil
		case r.Compensate && m.is("spends the nonce whoever the owner is"):
			m.spend(c, r)
			return nil
		}
		return lock.ErrTaken
	case idempotency.StateCompleted:
		if own && m.is("frees what it completed") || r.Compensate && m.is("frees what is completed when it compensates") {
			m.release(c, r)
			return nil
		}
		return lock.ErrTaken
	case idempotency.StateUnknown:
		if !own {
			return lock.ErrTaken
		}
		if m.is("ends an unknown outcome at a second release") {
			m.release(c, r)
		}
		return nil
	case idempotency.StateFree:
		if own {
			return m.releaseAgain(c, r)
		}
		if m.is("takes another's spent nonce for its own") {
			return nil
		}
	case idempotency.StateAbsent:
		if m.is("says nothing of a release of what is gone") {
			return nil
		}
	}
	if !r.Compensate {
		return lock.ErrExpired
	}
	m.spend(c, r)
	return nil
}

// releaseAgain answers a second release.
func (m *model) releaseAgain(c *cell, r idempotency.ReleaseRequest) error {
	switch {
	case m.is("forgets who released"):
		return lock.ErrExpired
	case m.is("holds a key back at a second release") && r.NotBefore > 0:
		c.notBefore = m.after(r.NotBefore)
	}
	return nil
}

// release ends the claim c as r says and tells the waiters.
func (m *model) release(c *cell, r idempotency.ReleaseRequest) {
	if r.Unknown > 0 && !m.is("frees a key whose outcome is unknown") {
		hold := m.after(r.Unknown)
		switch {
		case m.is("holds an unknown outcome for the stub's time"):
			hold = m.after(r.TTL)
		case m.is("holds an unknown outcome for at least the lease") && c.until.After(hold):
			hold = c.until
		}
		c.state, c.until = idempotency.StateUnknown, hold
		if !m.is("does not tell of unknown outcomes") {
			m.tell(r.Key, c)
		}
		c.waiters = false
		return
	}
	c.notBefore = m.after(max(r.NotBefore, 0))
	if m.is("holds a key back for at least the lease") && r.NotBefore > 0 && c.until.After(c.notBefore) {
		c.notBefore = c.until
	}
	end := c.notBefore.Add(r.TTL)
	switch {
	case m.is("forgets a free key when it may be claimed") && r.NotBefore > 0:
		end = c.notBefore
	case m.is("forgets the not-before time with the nonce"):
		end = m.after(r.TTL)
	case m.is("remembers spent nonces for good"):
		end = m.after(idempotency.MaxRetention)
	}
	if r.Compensate && !m.is("counts a claim that was never seen") {
		c.record.Attempt--
	}
	m.free(r.Key, c, end)
}

// free frees c until the instant end and tells the waiters.
func (m *model) free(key idempotency.Digest, c *cell, end time.Time) {
	c.state, c.until, c.record.Body = idempotency.StateFree, end, nil
	if !m.is("does not tell of releases") {
		m.tell(key, c)
	}
	c.waiters = false
}

// spend refuses r.Nonce to a begin that is still on its way.
func (m *model) spend(c *cell, r idempotency.ReleaseRequest) {
	if m.is("leaves nothing when it compensates") ||
		m.is("does not spend the nonce where another's is spent") && c.state == idempotency.StateFree {
		return
	}
	next := &cell{state: idempotency.StateFree, until: m.after(r.TTL), record: idempotency.Record{Nonce: r.Nonce}}
	if c.state != idempotency.StateAbsent {
		next.record.Fence, next.record.Attempt, next.notBefore = c.record.Fence, c.record.Attempt, c.notBefore
		if c.until.After(next.until) {
			next.until = c.until
		}
	}
	switch {
	case m.is("forgets the fence when it compensates"):
		next.record.Fence = 0
	case m.is("forgets the attempts when it compensates"):
		next.record.Attempt = 0
	case m.is("forgets the not-before time when it compensates"):
		next.notBefore = time.Time{}
	case m.is("counts a begin that was undone"):
		next.record.Attempt++
	case m.is("remembers spent nonces for good"):
		next.until = m.after(idempotency.MaxRetention)
	}
	m.cells[m.spelled(r.Key)] = next
}

func (m *model) Bind(ctx context.Context, id, value idempotency.Digest, ttl time.Duration) (bool, error) {
	if err := m.bad("ttl", ttl, idempotency.MaxRetention); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.dead(ctx); err != nil {
		return false, err
	}
	bindings := m.bindings
	if m.is("keeps bindings among the records") {
		bindings = m.cells
	}
	c := bindings[id]
	if c != nil && !time.Now().Before(c.until) {
		c = nil
	}
	if m.is("looks first and binds then") {
		m.yield()
	}
	if c != nil && !m.is("binds an id anew") {
		until := m.after(ttl)
		if m.is("prolongs a binding that is asked for") && until.After(c.until) || m.is("cuts a binding that is asked for") {
			c.until = until
		}
		if m.is("compares half of a binding") {
			return bytes.Equal(c.record.Fingerprint[:16], value[:16]), nil
		}
		return c.record.Fingerprint == idempotency.Fingerprint(value), nil
	}
	bindings[id] = &cell{
		state: idempotency.StateUnknown, until: m.after(ttl),
		record: idempotency.Record{Fingerprint: idempotency.Fingerprint(value)},
	}
	return true, nil
}
