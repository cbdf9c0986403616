package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// stats counts all records.
type stats struct{ top, sample int }

func (v *stats) flags(fs *flag.FlagSet) {
	fs.IntVar(&v.top, "top", 20, "print the `n` scopes with the most records")
	fs.IntVar(&v.sample, "sample", 256, "ask for the memory of `n` records, chosen at random; the rest is estimated")
}

// tally is what is counted of some records, in JSON.
type tally struct {
	Count int64 `json:"count"`
	// Bytes is about what the records take, by their lengths.
	Bytes int64 `json:"bytes"`
	// Oldest and Newest are ages in seconds, of those records whose age is known.
	Oldest *int64 `json:"oldest_s,omitempty"`
	Newest *int64 `json:"newest_s,omitempty"`
}

// add counts a record.
func (t *tally) add(info idempotency.Info, now time.Time) {
	t.Count++
	t.Bytes += info.Size
	age, known := since(info, now)
	if !known {
		return
	}
	s := int64(age / time.Second)
	if t.Oldest == nil || s > *t.Oldest {
		t.Oldest = &s
	}
	if t.Newest == nil || s < *t.Newest {
		t.Newest = &s
	}
}

// bucket is how many records are at most so old, in JSON.
type bucket struct {
	AtMost string `json:"at_most"` // "" for all that are older
	Count  int64  `json:"count"`

	limit time.Duration
}

// scopeTally is a scope's, in JSON.
type scopeTally struct {
	Digest string   `json:"digest"`
	Scope  string   `json:"scope,omitempty"`
	Parts  []string `json:"parts,omitempty"` // of a joined scope
	Count  int64    `json:"count"`
	Bytes  int64    `json:"bytes"`
}

// census is all that stats finds, in JSON.
type census struct {
	Total   tally             `json:"total"`
	States  map[string]*tally `json:"states"`
	Ages    []bucket          `json:"ages"`
	Scopes  int               `json:"scopes"`
	Top     []*scopeTally     `json:"top_scopes"`
	Memory  int64             `json:"memory"`
	Sampled int               `json:"sampled"`

	byScope map[string]*scopeTally
}

func newCensus() *census {
	const day = 24 * time.Hour
	c := &census{States: map[string]*tally{}, byScope: map[string]*scopeTally{}}
	for _, state := range listed() {
		c.States[state.String()] = &tally{}
	}
	for _, limit := range []time.Duration{time.Minute, time.Hour, day, 7 * day, 30 * day} {
		c.Ages = append(c.Ages, bucket{AtMost: period(limit), limit: limit})
	}
	c.Ages = append(c.Ages, bucket{limit: 1<<63 - 1})
	return c
}

// add counts a record.
func (c *census) add(info idempotency.Info, now time.Time) {
	c.Total.add(info, now)
	if t := c.States[info.State.String()]; t != nil {
		t.add(info, now)
	}
	if age, known := since(info, now); known {
		i := slices.IndexFunc(c.Ages, func(b bucket) bool { return age <= b.limit })
		c.Ages[i].Count++
	}
	digest := scopeOf(info.Key)
	scope := c.byScope[digest]
	if scope == nil {
		scope = &scopeTally{Digest: digest}
		c.byScope[digest] = scope
	}
	scope.Count++
	scope.Bytes += info.Size
	if key, ok := info.Record.Name(); ok && scope.Scope == "" {
		scope.Scope, scope.Parts = key.Scope, partsOf(key.Scope)
	}
}

// finish chooses the scopes that are told.
func (c *census) finish(top int) {
	c.Scopes = len(c.byScope)
	c.Top = make([]*scopeTally, 0, c.Scopes)
	for _, scope := range c.byScope {
		c.Top = append(c.Top, scope)
	}
	slices.SortFunc(c.Top, func(a, b *scopeTally) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Digest, b.Digest))
	})
	c.Top = c.Top[:min(top, len(c.Top))]
}

func (v *stats) run(ctx context.Context, s *session, args []string) error {
	if len(args) > 0 {
		return usage("too many arguments: %q", args)
	}
	if v.top < 0 || v.sample < 0 {
		return usage("-top and -sample must not be negative")
	}
	op, err := s.operator(ctx, idempotency.Options{}, redisstore.Options{})
	if err != nil {
		return err
	}
	c, m, now := newCensus(), &sample{size: v.sample}, time.Now()
	for info, err := range op.List(ctx, idempotency.ListOptions{}) {
		if err != nil {
			return err
		}
		c.add(info, now)
		m.offer(info)
	}
	c.finish(v.top)
	if c.Memory, c.Sampled, err = m.estimate(ctx, s, c.Total.Bytes); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(c)
	}
	return c.print(s)
}

// print prints it as text.
func (c *census) print(s *session) error {
	const row = "%-10s %10v %12s %8s %8s\n"
	text := fmt.Sprintf(row, "STATE", "RECORDS", "BYTES", "OLDEST", "NEWEST")
	for _, state := range listed() {
		text += c.States[state.String()].row(row, state.String())
	}
	text += c.Total.row(row, "all") + "\n"
	for _, b := range c.Ages {
		label := "older"
		if b.AtMost != "" {
			label = "up to " + b.AtMost
		}
		text += fmt.Sprintf("%-10s %10d\n", label, b.Count)
	}
	how := "by their lengths; the server did not tell"
	if c.Sampled > 0 {
		how = fmt.Sprintf("from a sample of %d", c.Sampled)
	}
	text += fmt.Sprintf("\nmemory     about %s (%s)\n", quantity(c.Memory), how)
	text += fmt.Sprintf("scopes     %d\n", c.Scopes)
	for _, t := range c.Top {
		label := ""
		if t.Scope != "" {
			label = "  " + quotedScope(t.Scope)
		}
		text += fmt.Sprintf("  %s %8d %12s%s\n", t.Digest, t.Count, quantity(t.Bytes), label)
	}
	return s.printf("%s", text)
}

func (t *tally) row(format, label string) string {
	age := func(s *int64) string {
		if s == nil {
			return "-"
		}
		return period(time.Duration(*s) * time.Second)
	}
	return fmt.Sprintf(format, label, t.Count, quantity(t.Bytes), age(t.Oldest), age(t.Newest))
}
