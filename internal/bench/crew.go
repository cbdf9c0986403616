package bench

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// workerEnv tells a program that it is a member of a crew.
const workerEnv = "SEMEL_BENCH_WORKER"

// order is what a crew's leader wants of a member: that it opens a contender,
// holds a contest, or runs a relay.
type order struct {
	Contender string
	Rivals    int
	Contest   Contest
	Relay     relayOrder
}

type relayOrder struct {
	Key   string
	Me    int64
	Times int
}

// report is a member's answer.
type report struct {
	Outcome Outcome
	Took    []time.Duration
	Err     string
}

// post is where a member works.
type post struct{ Addr, Register string }

// IsWorker reports whether this process was started as a member of a crew. It
// must then call [Work] and nothing else.
func IsWorker() bool { return os.Getenv(workerEnv) != "" }

// Work does what the leader says on standard input, until that ends.
func Work(ctx context.Context) error {
	orders, reports := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	var at post
	if err := orders.Decode(&at); err != nil {
		return err
	}
	register, err := OpenRegister(at.Register)
	if err != nil {
		return err
	}
	defer func() { _ = register.Close() }()
	open := make(map[order]Contender)
	defer func() {
		for _, c := range open {
			_ = c.Close() // The process ends, and with it what it holds.
		}
	}()
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var r report
		as := order{Contender: o.Contender, Rivals: o.Rivals}
		if open[as] == nil {
			c, err := Open(ctx, o.Contender, Settings{Addr: at.Addr, Rivals: o.Rivals})
			if err != nil {
				r.Err = err.Error()
			} else {
				open[as] = c
			}
		}
		if c := open[as]; c != nil {
			r = obey(ctx, c, register, o)
		}
		if err := reports.Encode(r); err != nil {
			return err
		}
	}
}

// obey carries out an order. One without a contest or a relay is carried out
// when the contender is open.
func obey(ctx context.Context, c Contender, register *Register, o order) report {
	var r report
	var err error
	switch {
	case o.Contest.Goroutines > 0:
		r.Outcome = Contend(ctx, c, register, o.Contest)
	case o.Relay.Times > 0:
		r.Took, err = Relay(ctx, c, register, o.Relay.Key, o.Relay.Me, o.Relay.Times)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// Crew is several processes that contend with each other. It is used from one
// goroutine at a time.
type Crew struct {
	members  []*member
	register *Register
	path     string
}

type member struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *gob.Encoder
	reports *gob.Decoder
}

// NewCrew starts so many copies of this program, whose main calls [Work], on
// one server and one register. They are killed if ctx ends before Close.
func NewCrew(ctx context.Context, size int, addr string) (*Crew, error) {
	file, err := os.CreateTemp("", "semel-bench-register-")
	if err != nil {
		return nil, fmt.Errorf("bench: make register: %w", err)
	}
	c := &Crew{path: file.Name()}
	if err := file.Close(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.register, err = OpenRegister(c.path); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	for range size {
		m, err := startMember(ctx, post{addr, c.path})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("bench: start worker: %w", err), c.Close())
		}
		c.members = append(c.members, m)
	}
	return c, nil
}

// startMember starts a worker. It ends by itself when its standard input
// does, and so with this process, however that ends.
func startMember(ctx context.Context, at post) (*member, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), workerEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m := &member{cmd, in, gob.NewEncoder(in), gob.NewDecoder(out)}
	if err := m.orders.Encode(at); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *member) close() error { return errors.Join(m.in.Close(), m.cmd.Wait()) }

// Visits returns how many visits the crew's register has counted.
func (c *Crew) Visits() int { return c.register.Visits() }

// Contend holds a contest between all processes of the crew.
func (c *Crew) Contend(contender string, contest Contest) (Outcome, error) {
	contests := make([]order, len(c.members))
	for i := range contests {
		contests[i] = order{Contender: contender, Rivals: contest.Goroutines * len(c.members), Contest: contest}
	}
	reports, err := c.all(contests)
	if err != nil {
		return Outcome{}, err
	}
	total := reports[0].Outcome
	for _, r := range reports[1:] {
		total = total.merge(r.Outcome)
		total.Elapsed = max(total.Elapsed, r.Outcome.Elapsed)
	}
	return total, nil
}

// Relay hands a lock to and fro between the first two processes of the crew,
// so many times to each, and returns how long the hand-overs took, those before
// an error included.
func (c *Crew) Relay(contender, key string, times int) ([]time.Duration, error) {
	c.register.words.holder.Store(0)
	reports, err := c.all([]order{
		{Contender: contender, Rivals: 2, Relay: relayOrder{key, 1, times}},
		{Contender: contender, Rivals: 2, Relay: relayOrder{key, 2, times}},
	})
	var took []time.Duration
	for _, r := range reports {
		took = append(took, r.Took...)
	}
	return took, err
}

// all gives an order to each of the first members at once, when all of them
// have opened their contender, and collects their reports. With an error there
// may be fewer of them.
func (c *Crew) all(orders []order) (reports []report, err error) {
	ready := make([]order, len(orders))
	for i, o := range orders {
		ready[i] = order{Contender: o.Contender, Rivals: o.Rivals}
	}
	for _, step := range [][]order{ready, orders} {
		reports = nil
		for i, o := range step {
			if err := c.members[i].orders.Encode(o); err != nil {
				return nil, fmt.Errorf("bench: order worker: %w", err)
			}
		}
		var errs []error
		for _, m := range c.members[:len(step)] {
			var r report
			if err := m.reports.Decode(&r); err != nil {
				return nil, fmt.Errorf("bench: hear worker: %w", err)
			}
			if r.Err != "" {
				errs = append(errs, errors.New(r.Err))
			}
			reports = append(reports, r)
		}
		if len(errs) > 0 {
			return reports, errors.Join(errs...)
		}
	}
	return reports, nil
}

// Close ends the processes and waits for them.
func (c *Crew) Close() error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.close())
	}
	if c.register != nil {
		errs = append(errs, c.register.Close())
	}
	return errors.Join(append(errs, os.Remove(c.path))...)
}
