package observe

import "context"

// Observer is told of events. Observe is called on the path of the operation
// it reports, from many goroutines at once: it must be safe for concurrent use
// and must not block, and it must not call back into what it observes.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Func makes an Observer of a function.
type Func func(ctx context.Context, e Event)

// Observe calls f.
func (f Func) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Multi returns an Observer that tells each of obs in turn, skipping nil ones.
func Multi(obs ...Observer) Observer {
	kept := make(multi, 0, len(obs))
	for _, o := range obs {
		if o != nil {
			kept = append(kept, o)
		}
	}
	return kept
}

type multi []Observer

func (m multi) Observe(ctx context.Context, e Event) {
	for _, o := range m {
		o.Observe(ctx, e)
	}
}
