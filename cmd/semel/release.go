package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// release frees a key whose owner is dead, or whose outcome is unknown. The
// nonce says which run is meant, so that a later one is not hit.
type release struct {
	key      keyFlags
	confirm  confirm
	nonce    string
	remember span
}

func (v *release) flags(fs *flag.FlagSet) {
	v.key.flags(fs)
	v.confirm.flags(fs)
	rememberFlag(fs, &v.remember)
	fs.StringVar(&v.nonce, "nonce", "", "the `nonce` that show prints, instead of the second argument")
}

// done is what release and complete print in JSON.
type done struct {
	Key   string `json:"key"`
	Done  bool   `json:"done"`
	State string `json:"state"` // what it was
}

func (v *release) run(ctx context.Context, s *session, args []string) error {
	key, nonce, err := v.take(args)
	if err != nil {
		return err
	}
	op, err := s.operator(ctx, idempotency.Options{StubFor: time.Duration(v.remember)}, redisstore.Options{})
	if err != nil {
		return err
	}
	info, err := s.look(ctx, op, key)
	if err != nil {
		return err
	}
	means := "Its run may be under way: the next delivery will run beside it."
	switch {
	case info.State == idempotency.StateCompleted:
		return refused("the key is completed; only forget lets it run again")
	case info.State == idempotency.StateFree:
		return refused("the key is free already")
	case info.Record.Nonce != nonce:
		return refused("the key is %v by another run than that of this nonce; see semel show", info.State)
	case info.State == idempotency.StateUnknown:
		means = "It may have taken effect: the next delivery will run."
	}
	if err := v.confirm.ask(ctx, s, "%v is %v. %s\nRelease it?", key, info.State, means); err != nil {
		return err
	}
	if err := s.unchanged(ctx, op, key, info); err != nil {
		return err
	}
	if err := v.do(ctx, s, op, key, nonce); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(done{key.String(), true, info.State.String()})
	}
	return s.printf("released\n")
}

// take returns the key and the nonce.
func (v *release) take(args []string) (idempotency.Digest, idempotency.Nonce, error) {
	key, rest, err := v.key.take(args, 1)
	if err != nil {
		return key, idempotency.Nonce{}, err
	}
	text := v.nonce
	switch {
	case len(rest) > 0 && text != "":
		return key, idempotency.Nonce{}, usage("too many arguments: %q", rest)
	case len(rest) > 0:
		text = rest[0]
	case text == "":
		return key, idempotency.Nonce{}, usage("which run? Give the nonce that semel show prints")
	}
	nonce, err := parseNonce(text)
	return key, nonce, err
}

func (v *release) do(ctx context.Context, s *session, op *idempotency.Operator, key idempotency.Digest, nonce idempotency.Nonce) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	released, err := op.ReleaseDead(ctx, key, nonce)
	switch {
	case err != nil:
		return fmt.Errorf("it may be released or not, see semel show: %w", err)
	case !released:
		return refused("the key has changed meanwhile; see semel show")
	}
	return nil
}
