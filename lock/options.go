package lock

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/semel-go/semel/observe"
)

// Values of Options that a positive duration cannot express.
const (
	// NoWait, as Options.Wait, asks once.
	NoWait time.Duration = -1
	// WaitForever, as Options.Wait, waits until the context ends.
	WaitForever time.Duration = math.MaxInt64
	// NoMinHold, as Options.MinHold, undoes a MinHold of the Locker that With
	// was called on.
	NoMinHold time.Duration = -1
)

// Options says how a Locker takes and keeps leases. The zero value is safe:
// every field has a default.
type Options struct {
	// TTL is how long the store keeps the key if it hears nothing more of its
	// owner: how long a crash blocks others. While the lease is held it is
	// renewed at a third of it. From MinTTL to MaxTTL.
	// Default: 10 s.
	TTL time.Duration

	// Wait is how long Acquire and Do wait for a key that is held. NoWait asks
	// once, WaitForever waits until the context ends. The context's end ends
	// any wait.
	// Default: 10 s.
	Wait time.Duration

	// Timeout bounds each single request to the store, whether or not the
	// client library keeps deadlines. It should be well below the TTL. Only a
	// call with a context that can never end, as context.Background, waits for
	// the client library's own timeouts, unless that is Interruptible or keeps
	// the deadline of its context (go-redis: ContextTimeoutEnabled).
	// Default: 1 s, or the TTL if that is shorter.
	Timeout time.Duration

	// Margin is by how much the trust window is shorter than the TTL. It pays
	// for the drift between the store's clock and ours over one TTL, and for
	// the store's rounding. Less than the TTL.
	// Default: a hundredth of the TTL + 2 ms.
	Margin time.Duration

	// MinHold keeps the key for at least this long after it was acquired, even
	// if it is released earlier, for jobs so short that another worker's clock
	// might be a run behind. It holds whether the job succeeded or failed. A
	// crash still frees the key after the TTL. NoMinHold undoes it. At most
	// MaxTTL.
	// Default: none.
	MinHold time.Duration

	// NoRenew turns automatic renewal off: the lease ends with its TTL unless
	// Extend is called.
	// Default: false.
	NoRenew bool

	// Observer is told what happens.
	// Default: nobody.
	Observer observe.Observer
}

// The defaults of Options.
const (
	defaultTTL     = 10 * time.Second
	defaultWait    = 10 * time.Second
	defaultTimeout = time.Second
	driftShare     = 100 // a hundredth: far above what quartz clocks drift
	marginFloor    = 2 * time.Millisecond
)

// overlay returns o with the non-zero fields of over in their place.
func (o Options) overlay(over Options) Options {
	if over.TTL != 0 {
		o.TTL = over.TTL
	}
	if over.Wait != 0 {
		o.Wait = over.Wait
	}
	if over.Timeout != 0 {
		o.Timeout = over.Timeout
	}
	if over.Margin != 0 {
		o.Margin = over.Margin
	}
	if over.MinHold != 0 {
		o.MinHold = over.MinHold
	}
	if over.NoRenew {
		o.NoRenew = true
	}
	if over.Observer != nil {
		o.Observer = over.Observer
	}
	return o
}

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.Timeout == 0 {
		o.Timeout = min(defaultTimeout, o.TTL)
	}
	if o.Margin == 0 {
		o.Margin = o.TTL/driftShare + marginFloor
	}
	if o.MinHold == NoMinHold {
		o.MinHold = 0
	}
	return o
}

// validate reports every field that is out of range; o has its defaults.
func (o Options) validate() error {
	var errs []error
	bad := func(field string, value time.Duration, rule string) {
		errs = append(errs, fmt.Errorf("%w: Options.%s is %v, must be %s", ErrInvalid, field, value, rule))
	}
	if o.TTL < MinTTL || o.TTL > MaxTTL {
		bad("TTL", o.TTL, fmt.Sprintf("from %v to %v", MinTTL, MaxTTL))
	} else if o.Margin < 0 || o.Margin >= o.TTL {
		bad("Margin", o.Margin, fmt.Sprintf("at least 0 and below the TTL (%v)", o.TTL))
	}
	if o.Wait < 0 && o.Wait != NoWait {
		bad("Wait", o.Wait, "positive, NoWait or WaitForever")
	}
	if o.Timeout <= 0 {
		bad("Timeout", o.Timeout, "positive")
	}
	if o.MinHold < 0 || o.MinHold > MaxTTL {
		bad("MinHold", o.MinHold, fmt.Sprintf("at most %v, or NoMinHold", MaxTTL))
	}
	return errors.Join(errs...)
}
