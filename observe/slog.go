package observe

import (
	"context"
	"log/slog"
)

// SlogOptions configures [Slog]. The zero value is ready to use.
type SlogOptions struct {
	// Levels overrides the level of single kinds.
	// Default: warn for Lost, RenewFailed, Unavailable, ReleaseFailed and
	// CompensationFailed; info for ReleaseUnsure and Compensated; debug for
	// everything else.
	Levels map[Kind]slog.Level
	// ShowKeys logs keys as they are. Set it only if keys hold no personal
	// data. Default: false, the key's digest is logged.
	ShowKeys bool
}

// Slog returns an Observer that writes each event to logger as one record with
// the message "semel: " and the kind. A nil logger means [slog.Default], asked
// anew for each event. Times are logged in seconds.
func Slog(logger *slog.Logger, o SlogOptions) Observer {
	levels := map[Kind]slog.Level{
		Lost: slog.LevelWarn, RenewFailed: slog.LevelWarn, Unavailable: slog.LevelWarn,
		ReleaseFailed: slog.LevelWarn, CompensationFailed: slog.LevelWarn,
		ReleaseUnsure: slog.LevelInfo, Compensated: slog.LevelInfo,
	}
	for k, l := range o.Levels {
		levels[k] = l
	}
	return &slogObserver{logger: logger, levels: levels, showKeys: o.ShowKeys}
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
	attrs := make([]slog.Attr, 0, 7)
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
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	logger.LogAttrs(ctx, level, "semel: "+string(e.Kind), attrs...)
}
