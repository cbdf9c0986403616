package commandhash_test

import (
	"database/sql"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

func paths(findings []commandhash.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Path)
	}
	return all
}

func TestLint(t *testing.T) {
	t.Parallel()
	type item struct {
		SKU       string
		CreatedAt int64 `json:"created"`
		Parent    *item
	}
	type command struct {
		ID          string
		TraceID     string
		Span        string `json:"span_id"`
		X           string `semel:"name=request-id"`
		Nonce       []byte
		Retries     int
		Due         time.Time
		Maybe       *time.Time
		Times       map[string][]time.Time
		Delivery    sql.NullTime
		Items       []item
		ByName      map[string]*item
		Big         *big.Int
		Correlation string    `json:"correlation_id" semel:"-"`
		SentAt      time.Time `semel:"-"`
		Listed      struct {
			Timestamp int64 `semel:"key"`
			SentAt    time.Time
			Inner     struct{ MessageID string } `semel:"key"`
		}
		Own money
	}
	want := []string{
		"ByName[value].CreatedAt", "Delivery.Time", "Due", "Listed.Inner.MessageID", "Maybe", "Nonce",
		"Retries", "Span", "Times", "TraceID", "X",
	}
	require.Equal(t, want, paths(commandhash.Lint[command]()))
	require.Equal(t, want, paths(commandhash.Lint[*command]()))
	require.Empty(t, commandhash.Lint[flat]())
	require.Empty(t, commandhash.Lint[struct{ a, TraceID any }](), "New refuses it")
	require.Empty(t, commandhash.Lint[any]())
	require.Empty(t, commandhash.Lint[func()]())
}

func TestLintCycles(t *testing.T) {
	t.Parallel()
	type list []list
	type table map[string]table
	require.Empty(t, commandhash.Lint[of[list]]())
	require.Empty(t, commandhash.Lint[of[table]]())
	require.Empty(t, commandhash.Lint[loop]())
	require.Empty(t, commandhash.Lint[of[loop]]())
	require.Empty(t, commandhash.Lint[node]())
}

func TestFindingString(t *testing.T) {
	t.Parallel()
	findings := commandhash.Lint[struct{ TraceID string }]()
	require.Len(t, findings, 1)
	require.Equal(t, findings[0].Path+": "+findings[0].Reason, fmt.Sprint(findings[0]))
	require.Contains(t, findings[0].Reason, `exclude it (semel:"-")`)
}
