package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
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
	Replicas       *int     `json:"replicas,omitempty"`
	ClockOffsetMS  *float64 `json:"clock_offset_ms,omitempty"`
	ClockErrorMS   *float64 `json:"clock_error_ms,omitempty"`
	Problems       []string `json:"problems"`
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
	for _, server := range report.Servers {
		found := examined(server)
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

// examined returns what is printed of a server's report.
func examined(r redislock.ServerReport) serverDiagnosis {
	d := serverDiagnosis{
		Addr: r.Addr, Version: r.Version, EvictionPolicy: r.EvictionPolicy, Evicts: string(r.Evicts),
		Scripts: string(r.Scripts), Notifies: string(r.Notifies), Problems: append([]string{}, r.Problems...),
	}
	if r.Evicts == redislock.Yes {
		d.Problems = append(d.Problems, "a record that is evicted is not recognised any more: its next delivery runs again")
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
			"  replicas", replicas,
			"  clock", clock,
		}
		for _, problem := range r.Problems {
			lines = append(lines, "  PROBLEM", problem)
		}
		if err := fields(s.stdout, lines...); err != nil {
			return err
		}
	}
	return fields(s.stdout, "records", d.Records)
}
