package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// defaultClockDifference is generous for machines that keep time by NTP.
const defaultClockDifference = 5 * time.Second

// Slot is one run of a scheduled job: its name and the time for which the run
// was planned. Workers that agree on both take one key.
type Slot struct {
	// Job names the job. Required.
	Job string
	// Start is the planned time of this run, End that of the next. Required,
	// End after Start.
	Start, End time.Time
	// ClockDifference is by how much the clocks of two workers may differ.
	// Default: 5 s.
	ClockDifference time.Duration
}

// ErrSlotOver is returned by TryDoSlot if by this machine's clock the slot was
// over before the job could begin: another worker may have run it, and the
// record of that is gone.
var ErrSlotOver = errors.New("lock: slot is over")

// TryDoSlot runs fn once in a slot, on one of the workers that call it. If fn
// succeeds, the slot is kept until its end plus the clock difference, so that
// a worker whose clock is behind does not run it again. If fn fails, panics or
// the process dies, the slot is free again, at once or after the TTL, and
// whoever calls next runs it.
//
// Its results are those of TryDo, and (false, [ErrSlotOver]).
func (l *Locker) TryDoSlot(ctx context.Context, slot Slot, fn func(ctx context.Context) error) (ran bool, err error) {
	switch {
	case slot.Job == "":
		return false, fmt.Errorf("%w: Slot.Job is empty", ErrInvalid)
	case !slot.End.After(slot.Start):
		return false, fmt.Errorf("%w: Slot.End (%v) is not after Slot.Start (%v)", ErrInvalid, slot.End, slot.Start)
	case slot.ClockDifference < 0:
		return false, fmt.Errorf("%w: Slot.ClockDifference is %v, must not be negative", ErrInvalid, slot.ClockDifference)
	}
	if slot.ClockDifference == 0 {
		slot.ClockDifference = defaultClockDifference
	}
	rest := func() time.Duration { return time.Until(slot.End.Add(slot.ClockDifference)) }
	if rest() <= 0 {
		return false, ErrSlotOver
	}
	if r := rest(); r > MaxTTL {
		return false, fmt.Errorf("%w: Slot.End is %v away, at most %v can be kept", ErrInvalid, r, MaxTTL)
	}
	// The time has no slash: one key for each pair of name and time.
	key := slot.Job + "/" + slot.Start.UTC().Format(time.RFC3339Nano)
	return l.tryDo(ctx, key, terms{once: true, tied: true, alone: true}, fn, rest)
}

// JobOptions says how [WrapJob] locks a job.
type JobOptions struct {
	// Every is the job's period. With it each run is a [Slot], found by
	// rounding the time to the nearest multiple of Every: use it only for jobs
	// that run at such multiples. Without it the job's name is the key, and
	// Options.MinHold of the Locker should be longer than the clocks differ.
	// Default: 0, no slots.
	Every time.Duration
	// ClockDifference is by how much the clocks of two workers may differ.
	// Default: 5 s.
	ClockDifference time.Duration
	// Context is what the runs' contexts come from.
	// Default: context.Background.
	Context context.Context
	// Done is told how each run ended: (true, nil), it ran; (false, nil),
	// another worker had it; (false, err), it could not be found out.
	// Default: nobody is told.
	Done func(name string, ran bool, err error)
}

// WrapJob returns a wrapper for jobs of a scheduler whose jobs have a method
// Run, as those of robfig/cron: J is the scheduler's job interface.
//
//	cron.New(cron.WithChain(lock.WrapJob[cron.Job](locker, "report", lock.JobOptions{})))
//
// A run that finds the key held by another worker is skipped. A panic of the
// job passes through after the key is given back. WrapJob panics if locker is
// nil or name is empty.
func WrapJob[J interface{ Run() }](locker *Locker, name string, o JobOptions) func(J) J {
	if locker == nil {
		panic("lock: WrapJob: nil Locker")
	}
	if name == "" {
		panic("lock: WrapJob: empty name")
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	return func(job J) J {
		return any(runFunc(func() {
			ran, err := locker.runJob(name, o, job.Run)
			if o.Done != nil {
				o.Done(name, ran, err)
			}
		})).(J)
	}
}

// runFunc is a function with the method Run.
type runFunc func()

func (f runFunc) Run() { f() }

func (l *Locker) runJob(name string, o JobOptions, run func()) (bool, error) {
	fn := func(context.Context) error {
		run()
		return nil
	}
	if o.Every <= 0 {
		return l.TryDo(o.Context, name, fn)
	}
	start := time.Now().Round(o.Every)
	return l.TryDoSlot(o.Context, Slot{
		Job: name, Start: start, End: start.Add(o.Every), ClockDifference: o.ClockDifference,
	}, fn)
}
