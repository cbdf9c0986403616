package webhook

import (
	"cmp"
	"errors"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/observe"
)

// Defaults of Options where neither they nor the verifier's Policy say otherwise.
const (
	DefaultMaxBody   int64 = 1 << 20
	DefaultMaxRun          = 5 * time.Minute
	DefaultRetention       = 30 * 24 * time.Hour
)

// maxAnswer is how much of a handler's answer is kept and sent: providers look
// at its status, people at the beginning of its body.
const maxAnswer = 64 << 10

// NoWait, as Options.Wait, refuses a duplicate at once whatever the provider's
// Policy says.
const NoWait = idempotency.NoWait

// Options says how an endpoint answers. The zero value is safe.
type Options struct {
	// MaxBody is the largest body, in bytes, that is read; a larger one is
	// answered with 413. It also bounds what Decompress makes of a body.
	// Default: the provider's Policy.
	MaxBody int64

	// MaxRun is how long the handler's context lives. The claim lasts as long
	// as the handler runs, whatever its context says; the observer is told of
	// the overrun.
	// Default: 5 min.
	MaxRun time.Duration

	// Wait is how long a duplicate waits for the run that is under way, to get
	// its answer. It is cut to half of the provider's patience, and is that of
	// the delivery, however many events it holds. The Guard's own does not count.
	// Default: the provider's Policy; NoWait for none.
	Wait time.Duration

	// Retention is how long an event is remembered. It must be longer than the
	// provider goes on delivering, resends by hand included: after it, the
	// event runs again.
	// Default: the provider's Policy.
	Retention time.Duration

	// Lease is how long a crash blocks the event; see idempotency.Options.
	// Default: the Guard's.
	Lease time.Duration

	// BindBody holds each body to the id that it first came with. It is for
	// providers that do not sign the id (Event.IDSigned is false): without it,
	// whoever captured one delivery can send its body again under fresh ids,
	// and it will run again. A provider that sends two events of the same bytes
	// cannot be served with it.
	// Default: false.
	BindBody bool

	// Decompress accepts bodies with Content-Encoding gzip and verifies what
	// they hold. No provider sends them; a proxy of one's own may.
	// Default: false, such a delivery is answered with 415: its bytes are not
	// what was signed.
	Decompress bool

	// Observer is told what Once itself sees: deliveries refused and passed
	// through, overruns, events given up. What becomes of a claim the Guard
	// tells its own Observer.
	// Default: nobody.
	Observer observe.Observer
}

// withPolicy fills in what o leaves to the provider's policy and the defaults.
func (o Options) withPolicy(p Policy) Options {
	o.MaxBody = cmp.Or(o.MaxBody, p.MaxBody, DefaultMaxBody)
	o.MaxRun = cmp.Or(o.MaxRun, DefaultMaxRun)
	o.Retention = cmp.Or(o.Retention, p.Retention, DefaultRetention)
	o.Wait = cmp.Or(o.Wait, p.Wait)
	if p.Patience > 0 {
		o.Wait = min(o.Wait, p.Patience/2)
	}
	o.Wait = cmp.Or(o.Wait, NoWait) // or the Guard's would count, which knows no provider
	return o
}

// validate reports every field that is out of its range, of o and of p.
func (o Options) validate(p Policy) error {
	var errs []error
	wrong := func(is bool, what string) {
		if is {
			errs = append(errs, errors.New(what))
		}
	}
	wrong(o.MaxBody < 0, "MaxBody is negative")
	wrong(o.MaxRun < 0, "MaxRun is negative")
	wrong(o.Retention < 0, "Retention is negative")
	wrong(o.Lease < 0, "Lease is negative")
	wrong(o.Wait < 0 && o.Wait != NoWait, "Wait is negative")
	wrong(p.MaxBody < 0, "Policy.MaxBody is negative")
	wrong(p.Retention < 0, "Policy.Retention is negative")
	wrong(p.Wait < 0 && p.Wait != NoWait, "Policy.Wait is negative")
	wrong(p.Patience < 0, "Policy.Patience is negative")
	wrong(p.OK != 0 && !isOK(p.OK), "Policy.OK is no 2xx")
	return errors.Join(errs...)
}
