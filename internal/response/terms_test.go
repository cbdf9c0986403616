package response_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "1", 0: "1", 1: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90",
		math.MaxInt64: "9223372037",
	} {
		require.Equal(t, want, response.RetryAfter(d), d)
	}
	for d, want := range map[time.Duration]time.Duration{
		-1: time.Second, 0: time.Second, 3 * time.Second: 3 * time.Second, time.Hour: 5 * time.Second,
	} {
		require.Equal(t, want, response.SoonAfter(d), d)
	}
}

func TestMarkReplayed(t *testing.T) {
	t.Parallel()
	h := http.Header{"Idempotent-Replayed": {"x", "y"}}
	response.MarkReplayed(h)
	require.Equal(t, http.Header{"Idempotent-Replayed": {"true"}}, h)
}
