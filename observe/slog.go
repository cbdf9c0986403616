package observe

import (
	"context"
	"log/slog"
)

// SlogOptions configures [Slog]. The zero value is ready to use.
type SlogOptions struct {
	// Levels overrides the level of single kinds.
	// Default: error for CompleteRefused, after which an effect may have
	// happened twice; warn for what failed, was refused, or needs a person;
	// info for what was mended; debug for the ordinary course of things.
	Levels map[Kind]slog.Level
	// ShowKeys logs keys as they are. Set it only if keys hold no personal
	// data. Default: false, the key's digest is logged.
	ShowKeys bool
}

// Slog returns an Observer that writes each event to logger as one record with
// the message "semel: " and the kind. A nil logger means [slog.Default], asked
// anew for each event. Times are logged in seconds.
func Slog(logger *slog.Logger, o SlogOptions) Observer {
	levels := defaultLevels()
	for k, l := range o.Levels {
		levels[k] = l
	}
	return &slogObserver{logger: logger, levels: levels, showKeys: o.ShowKeys}
}

// defaultLevels returns the levels of what is not debug.
func defaultLevels() map[Kind]slog.Level {
	levels := map[Kind]slog.Level{CompleteRefused: slog.LevelError}
	for _, k := range []Kind{
		Lost, RenewFailed, Unavailable, ReleaseFailed, CompensationFailed,
		RunFailed, RunUnknown, RunUnguarded, CompleteFailed, ResultDropped, ResultUnavailable, OutcomeUnknown, Mismatch,
		EvictionPossible, DeliveryRefused, Refused, Overrun,
		FailoverDraining, FailoverSwitched, FailoverCutOff, FailoverRefused,
	} {
		levels[k] = slog.LevelWarn
	}
	for _, k := range []Kind{ReleaseUnsure, Compensated, CompletedLate} {
		levels[k] = slog.LevelInfo
	}
	return levels
}

type slogObserver struct {
	logger   *slog.Logger
	levels   map[Kind]slog.Level
	showKeys bool
}

func (s *slogObserver) Observe(ctx context.Context, e Event) {
	logger := s.logger
	if logger == nil {
		logger = slog.Default()
	}
	level, ok := s.levels[e.Kind]
	if !ok {
		level = slog.LevelDebug
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("event", string(e.Kind)))
	if e.Key != "" {
		if s.showKeys {
			attrs = append(attrs, slog.String("key", e.Key))
		} else {
			attrs = append(attrs, slog.String("key_digest", e.Digest()))
		}
	}
	if e.Fence != 0 {
		attrs = append(attrs, slog.Uint64("fence", e.Fence))
	}
	if e.Wait != 0 {
		attrs = append(attrs, slog.Float64("wait_seconds", e.Wait.Seconds()))
	}
	if e.Held != 0 {
		attrs = append(attrs, slog.Float64("held_seconds", e.Held.Seconds()))
	}
	if e.Ahead != 0 {
		attrs = append(attrs, slog.Int("ahead", e.Ahead))
	}
	if e.Mode != "" {
		attrs = append(attrs, slog.String("mode", e.Mode), slog.Uint64("epoch", e.Epoch))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	logger.LogAttrs(ctx, level, "semel: "+string(e.Kind), attrs...)
}
