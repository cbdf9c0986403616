package redislock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redisclient"
)

// Answer is what Doctor found out about a question.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown" // the server does not let us know
)

// Report is what Doctor found.
type Report struct {
	// Servers are the servers that hold keys, in the order of their addresses.
	Servers []ServerReport
}

// Problems are those of all servers, each with its server's address.
func (r Report) Problems() []string {
	var all []string
	for _, s := range r.Servers {
		for _, p := range s.Problems {
			if s.Addr != "" {
				p = s.Addr + ": " + p
			}
			all = append(all, p)
		}
	}
	return all
}

// ServerReport is what Doctor found on one server.
type ServerReport struct {
	// Addr is where the client reaches it; "" if the client does not tell.
	Addr string
	// Version is the server's; "" if unknown.
	Version string
	// EvictionPolicy is its maxmemory-policy; "" if unknown.
	EvictionPolicy string
	// Evicts tells whether the server may drop a lock to make room.
	Evicts Answer
	// Scripts tells whether scripts may be run. It does not try the commands
	// within them.
	Scripts Answer
	// Notifies tells whether a release can tell those who wait.
	Notifies Answer
	// Replicas is how many replicas are connected; -1 if unknown.
	Replicas int
	// ClockKnown tells whether the next two are known.
	ClockKnown bool
	// ClockOffset is how far the server's clock is ahead of this machine's.
	ClockOffset time.Duration
	// ClockError is how far ClockOffset may be wrong, half a round trip.
	ClockError time.Duration
	// Problems is what should be mended, each in a sentence.
	Problems []string
}

const (
	// clockReadings is how often the clock is read; the quickest counts.
	clockReadings = 3
	// clockTolerance is the offset from which a clock is called wrong. Leases
	// do not depend on it; fences go on from the highest clock that served.
	clockTolerance = time.Second
	// The oldest version with all that the scripts use.
	minMajor, minMinor = 6, 2
)

// Doctor looks at every server that holds keys: what it is, whether it may
// evict a lock, runs scripts, has the replicas that Options.Replicas asks for,
// and what its clock says. It writes nothing, apart from a message on the
// channel of the key "doctor". What a server does not let it know is reported
// as unknown. The error is that of a server that could not be asked at all; an
// AutoPipeliner of a Cluster is refused, as by List.
func (b *Backend) Doctor(ctx context.Context) (Report, error) {
	servers, err := b.redis.Servers(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("redislock: doctor: %w", err)
	}
	var report Report
	for _, s := range servers {
		if err := s.Process(ctx, redis.NewStatusCmd(ctx, "ping")); err != nil {
			return report, fmt.Errorf("redislock: doctor: %s: %w", s.Addr, err)
		}
		report.Servers = append(report.Servers, b.examine(ctx, s))
	}
	return report, nil
}

// examine asks one server.
func (b *Backend) examine(ctx context.Context, s redisclient.Server) ServerReport {
	r := ServerReport{Addr: s.Addr}
	r.Version = info(ctx, s, "server")["redis_version"]
	r.EvictionPolicy = info(ctx, s, "memory")["maxmemory_policy"]
	r.Evicts = evicts(r.EvictionPolicy)
	r.Scripts = can(ctx, s, redis.NewCmd(ctx, "eval", "return 1", "0"))
	if r.Scripts == Yes {
		r.Scripts = can(ctx, s, redis.NewCmd(ctx, "evalsha", strings.Repeat("0", 40), "0"))
	}
	r.Notifies = can(ctx, s, redis.NewCmd(ctx, "publish", b.prefix+"doctor", ""))
	r.Replicas = -1
	if n, err := strconv.Atoi(info(ctx, s, "replication")["connected_slaves"]); err == nil {
		r.Replicas = n
	}
	r.ClockOffset, r.ClockError, r.ClockKnown = clock(ctx, s)
	r.Problems = b.problems(r)
	return r
}

// problems puts into words what is wrong.
func (b *Backend) problems(r ServerReport) []string {
	var ps []string
	add := func(format string, args ...any) { ps = append(ps, fmt.Sprintf(format, args...)) }
	if tooOld(r.Version) {
		add("version %s is older than %d.%d, with which the scripts may not work", r.Version, minMajor, minMinor)
	}
	if r.Evicts == Yes {
		add("maxmemory-policy %s may evict a lock while it is held: use noeviction", r.EvictionPolicy)
	}
	if r.Scripts == No {
		add("scripts are denied: grant eval and evalsha")
	}
	if r.Notifies == No {
		add("publish is denied, so waiters learn of a release only when the remaining time they were told is over: grant it on %s*", b.prefix)
	}
	if r.Replicas >= 0 && r.Replicas < b.redis.Replicas() {
		add("%d replicas are connected, Options.Replicas asks for %d: no lock can be acquired", r.Replicas, b.redis.Replicas())
	}
	if off := r.ClockOffset.Abs() - r.ClockError; r.ClockKnown && off > clockTolerance {
		add("the clock is off by %v: correct it slowly, a clock set back can make fences repeat", r.ClockOffset)
	}
	return ps
}

// info returns the fields of a section of INFO, none if it is denied.
func info(ctx context.Context, s redisclient.Server, section string) map[string]string {
	fields, _ := s.Info(ctx, section)
	return fields
}

// can tells whether a command is allowed.
func can(ctx context.Context, s redisclient.Server, cmd *redis.Cmd) Answer {
	switch err := s.Process(ctx, cmd); {
	case err == nil || redisclient.IsNoScript(err):
		return Yes
	case redisclient.IsDenied(err):
		return No
	}
	return Unknown
}

// clock compares the server's clock with ours.
func clock(ctx context.Context, s redisclient.Server) (offset, uncertainty time.Duration, known bool) {
	for range clockReadings {
		cmd := redis.NewTimeCmd(ctx, "time")
		before := time.Now()
		if s.Process(ctx, cmd) != nil {
			continue
		}
		half := time.Since(before) / 2
		if !known || half < uncertainty {
			offset, uncertainty, known = cmd.Val().Sub(before.Add(half)), half, true
		}
	}
	return offset, uncertainty, known
}

// evicts tells whether a policy can choose a key with an expiry.
func evicts(policy string) Answer {
	switch policy {
	case "":
		return Unknown
	case "noeviction":
		return No
	}
	return Yes
}

// tooOld reports whether a version is known and too old.
func tooOld(version string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major < minMajor || major == minMajor && minor < minMinor
}
