package integration_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// register is the resource that a lock guards: one number, behind a TCP port.
// A client reads it and writes it back plus one, each with the fence of its
// lease; the register refuses a fence that is lower than one it has seen. It
// keeps a log of what it accepted.
//
//	R worker fence        -> V value    | F
//	W worker fence value  -> A          | F
//	S worker              -> S, and changes nothing: a place to stop a worker
type register struct {
	fenced bool // whether it checks the fence
	ln     net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	value int64
	fence uint64
	log   []entry
	lost  int // accepted values that were not the previous one plus one
	back  int // accepted fences below the last
	hook  func(op, worker string)
}

// entry is an accepted write.
type entry struct {
	worker string
	fence  uint64
	value  int64
}

func newRegister(t *testing.T, fenced bool) *register {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &register{fenced: fenced, ln: ln, conns: map[net.Conn]struct{}{}}
	r.wg.Go(r.serve)
	t.Cleanup(r.close)
	return r
}

func (r *register) addr() string { return r.ln.Addr().String() }

func (r *register) close() {
	_ = r.ln.Close()
	r.mu.Lock()
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (r *register) serve() {
	for {
		c, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.conns[c] = struct{}{}
		r.mu.Unlock()
		r.wg.Go(func() { r.talk(c) })
	}
}

func (r *register) talk(c net.Conn) {
	defer func() {
		_ = c.Close()
		r.mu.Lock()
		delete(r.conns, c)
		r.mu.Unlock()
	}()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		var op, worker string
		var fence uint64
		var value int64
		_, _ = fmt.Sscan(lines.Text(), &op, &worker, &fence, &value)
		answer, hook := r.apply(op, worker, fence, value)
		if hook != nil {
			hook(op, worker)
		}
		if _, err := fmt.Fprintln(c, answer); err != nil {
			return
		}
	}
}

// apply is atomic.
func (r *register) apply(op, worker string, fence uint64, value int64) (answer string, hook func(op, worker string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op == "S" {
		return "S", r.hook
	}
	if r.fenced && fence < r.fence {
		return "F", nil
	}
	if fence < r.fence {
		r.back++
	}
	r.fence = max(r.fence, fence)
	if op == "R" {
		return fmt.Sprint("V ", r.value), r.hook
	}
	if value != r.value+1 {
		r.lost++
	}
	r.value = value
	r.log = append(r.log, entry{worker, fence, value})
	return "A", r.hook
}

// setHook makes f run after each request that was applied, before its answer
// is sent.
func (r *register) setHook(f func(op, worker string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = f
}

// registerClient is a connection to a register.
type registerClient struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dialRegister(addr string) (*registerClient, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &registerClient{c, bufio.NewReader(c)}, nil
}

// ask sends one request. ok is false if the fence was refused.
func (c *registerClient) ask(op, worker string, fence uint64, value int64) (got int64, ok bool, err error) {
	if _, err := fmt.Fprintln(c.conn, op, worker, fence, value); err != nil {
		return 0, false, err
	}
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return 0, false, err
	}
	var kind string
	_, _ = fmt.Sscan(line, &kind, &got)
	return got, kind != "F", nil
}
