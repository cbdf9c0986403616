package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/lock/redislock"
)

// doctor checks the servers.
type doctor struct{ replicas int }

func (v *doctor) flags(fs *flag.FlagSet) {
	fs.IntVar(&v.replicas, "replicas", 0, "how many replicas, `n`, each server must have: redisstore.Options.Replicas")
}

// diagnosis is what is found, in JSON.
type diagnosis struct {
	Servers []serverDiagnosis `json:"servers"`
	// Records tells whether records can be looked at: "yes", or why not.
	Records string `json:"records"`
	Healthy bool   `json:"healthy"`
}

// serverDiagnosis is what is found on one server, in JSON.
type serverDiagnosis struct {
	Addr           string   `json:"addr"`
	Version        string   `json:"version,omitempty"`
	EvictionPolicy string   `json:"eviction_policy,omitempty"`
	Evicts         string   `json:"evicts"`
	Scripts        string   `json:"scripts"`
	Notifies       string   `json:"notifies"`
	Persistence    string   `json:"persistence"`
	Replicas       *int     `json:"replicas,omitempty"`
	ClockOffsetMS  *float64 `json:"clock_offset_ms,omitempty"`
	ClockErrorMS   *float64 `json:"clock_error_ms,omitempty"`
	Problems       []string `json:"problems"`
	// Notes is what should be known, and is no fault by itself.
	Notes []string `json:"notes"`
}

func (v *doctor) run(ctx context.Context, s *session, args []string) error {
	if len(args) > 0 {
		return usage("too many arguments: %q", args)
	}
	op, err := s.operator(ctx, idempotency.Options{}, redisstore.Options{Replicas: v.replicas})
	if err != nil {
		return err
	}
	// Locks and records ask the same of a server.
	backend, err := redislock.New(s.rdb, redislock.Options{Prefix: s.prefix, Replicas: v.replicas})
	if err != nil {
		return usage("%w", err)
	}
	report, err := backend.Doctor(ctx)
	if err != nil {
		return err
	}
	d := diagnosis{Healthy: true, Records: "yes"}
	disks := s.persistences(ctx)
	for _, server := range report.Servers {
		found := examined(server, disks[server.Addr])
		d.Servers = append(d.Servers, found)
		d.Healthy = d.Healthy && len(found.Problems) == 0
	}
	if err := v.tryRecords(ctx, s, op); err != nil {
		d.Records, d.Healthy = err.Error(), false
	}
	if s.json {
		err = s.printJSON(d)
	} else {
		err = d.print(s)
	}
	if err == nil && !d.Healthy {
		err = fmt.Errorf("there are problems")
	}
	return err
}

// tryRecords looks at a key that nobody has, so that the commands within the
// scripts are tried with the prefix. It writes nothing.
func (v *doctor) tryRecords(ctx context.Context, s *session, op *idempotency.Operator) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	_, err := op.Look(ctx, idempotency.Digest{})
	return err
}

// ofRecords puts what is said of locks into words for records.
func ofRecords(problem string) string {
	return strings.NewReplacer(
		"may evict a lock while it is held", "may evict a record, whose next delivery then runs again",
		"no lock can be acquired", "nothing can be claimed, and no event runs",
	).Replace(problem)
}

// examined returns what is printed of a server: the report, and what it keeps on
// disk.
func examined(r redislock.ServerReport, disk persistence) serverDiagnosis {
	d := serverDiagnosis{
		Addr: r.Addr, Version: r.Version, EvictionPolicy: r.EvictionPolicy, Evicts: string(r.Evicts),
		Scripts: string(r.Scripts), Notifies: string(r.Notifies), Persistence: disk.String(),
		Problems: []string{}, Notes: []string{},
	}
	for _, problem := range r.Problems {
		d.Problems = append(d.Problems, ofRecords(problem))
	}
	problem, note := disk.judge()
	if problem != "" {
		d.Problems = append(d.Problems, problem)
	}
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
	if r.Replicas >= 0 {
		d.Replicas = &r.Replicas
	}
	if r.ClockKnown {
		ms := func(t time.Duration) *float64 {
			f := float64(t.Microseconds()) / 1000
			return &f
		}
		d.ClockOffsetMS, d.ClockErrorMS = ms(r.ClockOffset), ms(r.ClockError)
	}
	return d
}

// print prints it as text.
func (d diagnosis) print(s *session) error {
	const unknown = "not told"
	for _, r := range d.Servers {
		policy, replicas, clock := r.EvictionPolicy, unknown, unknown
		if policy == "" {
			policy = unknown
		}
		if r.Replicas != nil {
			replicas = strconv.Itoa(*r.Replicas)
		}
		if r.ClockOffsetMS != nil {
			clock = fmt.Sprintf("%+.1f ms, to within %.1f ms", *r.ClockOffsetMS, *r.ClockErrorMS)
		}
		version := r.Version
		if version == "" {
			version = unknown
		}
		lines := []string{
			"server", r.Addr,
			"  version", version,
			"  eviction", policy,
			"  scripts", r.Scripts,
			"  publish", r.Notifies,
			"  persistence", r.Persistence,
			"  replicas", replicas,
			"  clock", clock,
		}
		for _, problem := range r.Problems {
			lines = append(lines, "  PROBLEM", problem)
		}
		for _, note := range r.Notes {
			lines = append(lines, "  note", note)
		}
		if err := fields(s.stdout, lines...); err != nil {
			return err
		}
	}
	return fields(s.stdout, "records", d.Records)
}
