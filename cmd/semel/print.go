package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// printJSON prints v on a line of its own.
func (s *session) printJSON(v any) error {
	enc := json.NewEncoder(s.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printf prints text. Whoever does not get it must not take it for done.
func (s *session) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.stdout, format, args...)
	return err
}

// fields prints names and their values, one a line, without those whose value is
// empty.
func fields(w io.Writer, pairs ...string) error {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(&b, "%-13s %s\n", pairs[i], pairs[i+1])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// period writes a duration as coarsely as a reader wants it.
func period(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + period(-d)
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return pair(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return pair(d, time.Hour, "h", time.Minute, "m")
	}
	return pair(d, day, "d", time.Hour, "h")
}

// pair writes d in two units, and leaves out the lesser one if there is none.
func pair(d, large time.Duration, l string, small time.Duration, s string) string {
	text := fmt.Sprintf("%d%s", d/large, l)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, s)
	}
	return text
}

// stamp writes an instant; "" if it is not known.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// quantity writes a number of bytes.
func quantity(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// name writes the readable key, "" if the record does not keep it: scope and id,
// with a slash between them if the scope was joined from the parts before it.
func name(r idempotency.Record) string {
	key, ok := r.Name()
	if !ok {
		return ""
	}
	between := " "
	if partsOf(key.Scope) != nil {
		between = " / "
	}
	return quotedScope(key.Scope) + between + strconv.Quote(key.ID)
}
