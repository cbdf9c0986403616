package main

import (
	"context"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// notKnown is what a server does not let us know.
const notKnown = "not known"

// persistence is what a server keeps on disk. Each field is "" if that is not
// known.
type persistence struct {
	save  string // "yes" or "no": whether it takes snapshots by itself (RDB)
	aof   string // "yes" or "no": whether it logs each write (AOF)
	fsync string // appendfsync: "always", "everysec" or "no"
}

// persistences asks every server, as the session's client names them, what it
// keeps on disk.
func (s *session) persistences(ctx context.Context) map[string]persistence {
	found := map[string]persistence{}
	switch c := s.rdb.(type) {
	case *redis.ClusterClient:
		var mu sync.Mutex
		// A master that cannot be asked is not in the map: not known.
		_ = c.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			p := s.persistenceOf(ctx, master)
			mu.Lock()
			defer mu.Unlock()
			found[master.Options().Addr] = p
			return nil
		})
	case *redis.Client:
		found[c.Options().Addr] = s.persistenceOf(ctx, c)
	}
	return found
}

// persistenceOf asks one server. CONFIG alone tells everything, INFO only of the
// log, and either may be denied.
func (s *session) persistenceOf(ctx context.Context, c *redis.Client) persistence {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	var p persistence
	config := func(name string) (string, bool) {
		values, err := c.ConfigGet(ctx, name).Result()
		value, ok := values[name]
		return value, err == nil && ok
	}
	if save, ok := config("save"); ok {
		p.save = "yes"
		if strings.TrimSpace(save) == "" {
			p.save = "no"
		}
	}
	p.aof, _ = config("appendonly")
	p.fsync, _ = config("appendfsync")
	if p.aof == "" {
		text, _ := c.Info(ctx, "persistence").Result()
		switch {
		case strings.Contains(text, "aof_enabled:1"):
			p.aof = "yes"
		case strings.Contains(text, "aof_enabled:0"):
			p.aof = "no"
		}
	}
	return p
}

// String says what is known.
func (p persistence) String() string {
	say := func(text string) string {
		if text == "" {
			return notKnown
		}
		return text
	}
	if p.save == "" && p.aof == "" {
		return notKnown
	}
	text := "RDB " + say(p.save) + ", AOF " + say(p.aof)
	if p.aof == "yes" {
		text += ", appendfsync " + say(p.fsync)
	}
	return text
}

// judge says what is wrong, and what should be known.
func (p persistence) judge() (problem, note string) {
	switch {
	case p.aof == "no" && p.save == "no":
		return "neither RDB nor AOF is on: a restart forgets every record, and events that are delivered again run again", ""
	case p.aof == "no" && p.save == "yes":
		return "", "RDB alone: a crash forgets the records made since the last snapshot, and their events run again"
	case p.aof == "yes" && p.fsync == "everysec":
		return "", "appendfsync everysec: a crash of the machine can forget the records of the last second or two, and their events run again"
	case p.aof == "yes" && p.fsync == "no":
		return "", "appendfsync no: a crash of the machine forgets what the system had not written by itself, and those events run again"
	}
	return "", ""
}
