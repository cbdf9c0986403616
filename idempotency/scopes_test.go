package idempotency_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// What is remembered of scopes must never change a digest.
func TestScopes(t *testing.T) {
	t.Parallel()
	scopes := idempotency.NewScopes()
	long := strings.Repeat("long", 100)
	for range 3 {
		for i := range 1000 { // far more than are remembered
			for _, scope := range []string{strings.Repeat("s", i+1), "few", long} {
				for _, id := range []string{"1", "2"} {
					key := idempotency.Key{Scope: scope, ID: id}
					want, err := key.Digest()
					require.NoError(t, err)
					got, err := scopes.Digest(key)
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
			}
		}
	}
	for _, bad := range []idempotency.Key{{}, {Scope: "s"}, {ID: "1"}} {
		_, err := scopes.Digest(bad)
		require.ErrorIs(t, err, idempotency.ErrInvalid)
	}
}
