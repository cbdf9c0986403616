package vectors_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
)

// TestFlips: each text differs from the one given in the bit that is named, and
// in no other.
func TestFlips(t *testing.T) {
	t.Parallel()
	text, seen := "\x00ab\xff", map[string]bool{}
	for bit, flipped := range vectors.Flips([]byte(text)) {
		require.Len(t, flipped, len(text))
		for i := range text {
			want := 0
			if bit/8 == i {
				want = 1
			}
			require.Equal(t, want, bits.OnesCount8(text[i]^flipped[i]))
		}
		seen[string(flipped)] = true
	}
	require.Len(t, seen, 8*len(text))
}
