package idempotency

import (
	"context"

	"github.com/semel-go/semel/observe"
)

// Do runs fn once for key and returns its value, of this run or of the earlier
// one that was recorded. It is [Guard.Run] with values of type T, kept as JSON.
//
// A T that cannot be kept as JSON is [ErrInvalid] before fn is called. If fn
// was called, its value is returned, even if it then could not be recorded.
func Do[T any](ctx context.Context, g *Guard, key Key, fn func(ctx context.Context) (T, error)) (T, error) {
	v, _, err := DoAs(ctx, g, key, RunOptions{}, JSON[T](), fn)
	return v, err
}

// DoAs is Do with options for this call, a codec, and the outcome returned as
// well.
func DoAs[T any](ctx context.Context, g *Guard, key Key, ro RunOptions, codec Codec[T], fn func(ctx context.Context) (T, error)) (T, Outcome, error) {
	var value T
	failed := false
	if err := checkCodec(&g.core.checks, codec); err != nil {
		return value, Outcome{}, err
	}
	if fn == nil {
		_, err := g.Run(ctx, key, ro, nil)
		return value, Outcome{}, err
	}
	out, err := g.Run(ctx, key, ro, func(ctx context.Context) (Result, error) {
		v, err := fn(ctx)
		value, failed = v, err != nil
		if err != nil {
			return Result{}, err
		}
		claim, claimed := ClaimFrom(ctx)
		if claimed {
			claim.keepByDefault() // should Encode panic, the effect has happened all the same
		}
		res, bad := encodeResult(codec, v)
		if bad != nil {
			// The effect has happened: the first caller gets its value, the
			// duplicates learn that there is nothing to replay.
			if claimed {
				claim.tell(observe.ResultDropped, bad)
			}
			return Result{Kind: KindTombstone}, nil
		}
		return res, nil
	})
	// What fn failed with does not count if its outcome was committed: see
	// Claim.CompleteTx.
	if err == nil && (failed || out.Status == Replayed) {
		value, err = decodeResult(codec, out.Result)
	}
	return value, out, err
}
