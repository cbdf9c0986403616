package cqrs

import (
	"context"
	"fmt"
	"reflect"

	"github.com/semel-go/semel/idempotency"
)

// codecKey is the key under which a handler's context holds the codec of its
// results, an idempotency.Codec[R].
type codecKey struct{}

// CompleteTx records value as the result of the command in whose handler it is
// called, inside tx, a transaction on the database of the Guard's store: the
// handler's effects in tx and the result commit together, or neither is there.
// The handler returns the same value when tx has been committed. See
// idempotency.Claim.CompleteTx for the rest.
//
// It is for handlers what idempotency.CompleteTx is for functions of a Guard's.
// That one knows neither the codec nor the version of R, and would record what no
// duplicate can read.
//
// Errors: those of idempotency.CompleteTx, and idempotency.ErrInvalid also if ctx
// is not that of a command's handler, or R is not its result type. Then tx must
// be rolled back.
func CompleteTx[R any](ctx context.Context, tx idempotency.Tx, value R) error {
	codec, ok := ctx.Value(codecKey{}).(idempotency.Codec[R])
	if !ok {
		return fmt.Errorf("%w: complete in a transaction: the context comes from no command with the result %v", idempotency.ErrInvalid, reflect.TypeFor[R]())
	}
	return idempotency.CompleteTxAs(ctx, tx, codec, value)
}
