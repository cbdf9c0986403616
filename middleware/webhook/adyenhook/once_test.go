package adyenhook_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
)

// ledger is a handler that notes which events ran, and fails those of its fails.
type ledger struct {
	mu    sync.Mutex
	ran   []string
	fails map[string]bool
}

func (l *ledger) handler() http.Handler {
	return webhook.Handle(func(_ context.Context, e webhook.Event) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ran = append(l.ran, e.ID)
		if l.fails[e.ID] {
			return errors.New("the database is away")
		}
		return nil
	})
}

// TestAnswers: 202 and nothing, or 200 and [accepted], for a first delivery and
// for its duplicate.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} {
		status, text := http.StatusAccepted, ""
		if accepted {
			status, text = http.StatusOK, "[accepted]"
		}
		var l ledger
		deliver := once(t, adyenhook.Options{AcceptedBody: accepted}, l.handler())
		for range 2 {
			w := deliver(signed(authorised))
			require.Equal(t, status, w.Code)
			require.Equal(t, text, w.Body.String())
		}
		require.Len(t, l.ran, 1)
	}
}

// TestForgedSecondRuns: nothing of a delivery with one forged item runs, and the
// genuine item runs when it comes by itself.
func TestForgedSecondRuns(t *testing.T) {
	t.Parallel()
	var l ledger
	deliver := once(t, adyenhook.Options{}, l.handler())
	w := deliver(strings.Replace(signed(authorised, captured), `"pspReference":"PSP8"`, `"pspReference":"PSP9"`, 1))
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Empty(t, l.ran)
	require.Equal(t, http.StatusAccepted, deliver(signed(authorised)).Code)
	require.Equal(t, []string{"PSP7:AUTHORISATION:true"}, l.ran)
}

// TestHeadOfLine: of a batch whose second event fails, the first is not run again
// by the redelivery, which goes on with the second.
func TestHeadOfLine(t *testing.T) {
	t.Parallel()
	l := ledger{fails: map[string]bool{"PSP8:CAPTURE:true": true}}
	deliver := once(t, adyenhook.Options{}, l.handler())
	require.Equal(t, http.StatusInternalServerError, deliver(signed(authorised, captured)).Code)
	l.fails = nil
	require.Equal(t, http.StatusAccepted, deliver(signed(authorised, captured)).Code)
	require.Equal(t, []string{"PSP7:AUTHORISATION:true", "PSP8:CAPTURE:true", "PSP8:CAPTURE:true"}, l.ran)
	require.Equal(t, http.StatusAccepted, deliver(signed(captured, authorised)).Code)
	require.Len(t, l.ran, 3)
}

// TestNewerData: the same event with a later eventDate is a duplicate.
func TestNewerData(t *testing.T) {
	t.Parallel()
	var l ledger
	deliver := once(t, adyenhook.Options{}, l.handler())
	require.Equal(t, http.StatusAccepted, deliver(signed(authorised)).Code)
	w := deliver(signed(strings.Replace(authorised, "2025-01-01T11", "2025-01-01T12", 1)))
	require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"))
	require.Len(t, l.ran, 1)
}
