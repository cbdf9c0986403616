package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// defaultPrefix is that of redisstore.
const defaultPrefix = "semel:run:"

// session is one call of the program: the flags that all verbs have, and the
// server that they name.
type session struct {
	program
	json bool

	address, sentinel, prefix string
	timeout                   span

	rdb   redis.UniversalClient // nil until connect
	guard *idempotency.Guard    // nil until operator
}

func (s *session) flags(fs *flag.FlagSet) {
	s.timeout = span(5 * time.Second)
	fs.BoolVar(&s.json, "json", false, "print JSON")
	fs.StringVar(&s.address, "redis", "", "the server's `URL`, instead of SEMEL_REDIS")
	fs.StringVar(&s.sentinel, "sentinel-master", "", "ask the Sentinels at the URL for the primary of this `name`")
	fs.StringVar(&s.prefix, "prefix", defaultPrefix, "redisstore.Options.Prefix of the application, `P`")
	fs.Var(&s.timeout, "timeout", "how long, `T`, one request may take")
}

// connect makes the client. A single address of a Cluster's node is recognised,
// because a client for one server would see a part of the records only.
func (s *session) connect(ctx context.Context) error {
	address := s.address
	if address == "" {
		address = s.getenv("SEMEL_REDIS")
	}
	if address == "" {
		return usage("which server? Set SEMEL_REDIS or give -redis")
	}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	if s.timeout <= 0 {
		return usage("-timeout must be positive")
	}
	o, err := parseAddress(address)
	if err != nil {
		return err
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = time.Duration(s.timeout), time.Duration(s.timeout), time.Duration(s.timeout)
	o.MasterName, o.SentinelPassword = s.sentinel, s.getenv("SEMEL_SENTINEL_PASSWORD")
	if s.sentinel != "" && o.TLSConfig != nil {
		o.TLSConfig.ServerName = "" // The primary is another than the one that names it.
	}
	if o.DB != 0 && s.sentinel == "" && len(o.Addrs) > 1 {
		return noDatabase()
	}
	s.rdb = redis.NewUniversalClient(o)
	mode, err := s.mode(ctx)
	switch {
	case err != nil && strings.Contains(err.Error(), "SELECT is not allowed in cluster mode"):
		return noDatabase()
	case err != nil:
		return fmt.Errorf("the server was not reached: %w", err)
	case mode == "sentinel":
		return usage("this is a Sentinel: name the primary with -sentinel-master")
	case mode == "cluster" && s.sentinel == "" && len(o.Addrs) == 1:
		o.IsClusterMode = true
		if err := s.rdb.Close(); err != nil {
			return err
		}
		s.rdb = redis.NewUniversalClient(o)
	}
	return nil
}

func noDatabase() error { return usage("a Cluster has no database but 0") }

// mode asks the server what it is: "standalone", "cluster" or "sentinel"; "" if
// it does not let us know.
func (s *session) mode(ctx context.Context) (string, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	reply, err := s.rdb.Do(ctx, "hello").Result()
	if err != nil {
		// It may deny this and nothing else.
		return "", s.rdb.Ping(ctx).Err()
	}
	switch fields := reply.(type) {
	case map[any]any: // RESP3
		mode, _ := fields["mode"].(string)
		return mode, nil
	case []any:
		for i := 0; i+1 < len(fields); i += 2 {
			if fields[i] == "mode" {
				mode, _ := fields[i+1].(string)
				return mode, nil
			}
		}
	}
	return "", nil
}

// operator connects and returns an Operator whose Guard has options o.
func (s *session) operator(ctx context.Context, o idempotency.Options, so redisstore.Options) (*idempotency.Operator, error) {
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	so.Prefix = s.prefix
	store, err := redisstore.New(s.rdb, so)
	if err != nil {
		return nil, usage("%w", err)
	}
	if s.guard, err = idempotency.New(store, o); err != nil {
		return nil, usage("%w", err)
	}
	return s.guard.Operator()
}

// limit bounds one request.
func (s *session) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(s.timeout))
}

// look returns the record of key as the server has it.
func (s *session) look(ctx context.Context, op *idempotency.Operator, key idempotency.Digest) (idempotency.Info, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	info, err := op.Look(ctx, key)
	if err == nil && info.State == idempotency.StateAbsent {
		err = notFound(key)
	}
	return info, err
}

// unchanged refuses if key is no longer as it was when the operator was asked:
// who was asked about a run has not agreed to what has become of it.
func (s *session) unchanged(ctx context.Context, op *idempotency.Operator, key idempotency.Digest, info idempotency.Info) error {
	now, err := s.look(ctx, op, key)
	if err != nil && exitCode(err) != exitNotFound {
		return err
	}
	if now.State != info.State || now.Record.Nonce != info.Record.Nonce {
		return refused("the key has changed meanwhile: it is %v; see semel show", now.State)
	}
	return nil
}

// close ends what connect and operator have begun.
func (s *session) close() error {
	if s.guard != nil {
		// Nothing runs that it would wait for.
		if err := s.guard.Close(context.Background()); err != nil {
			return err
		}
	}
	if s.rdb != nil {
		return s.rdb.Close()
	}
	return nil
}
