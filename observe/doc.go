// Package observe is the vocabulary in which Semel tells what it does: one
// [Event] per thing that happened, handed to an [Observer].
//
// It holds no exporter. [Slog] writes events to a [log/slog.Logger]; anything
// else is an Observer of your own, usually a few lines. The package depends on
// the standard library alone.
package observe
