package commandhash_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

// flat is a command as most are.
type flat struct {
	Customer string `json:"customer"`
	Order    string `json:"order"`
	Currency string `json:"currency"`
	Amount   int64  `json:"amount"`
	Quantity int32  `json:"quantity"`
	Express  bool   `json:"express"`
	Discount float64
	Note     string
}

func flatCommand() flat {
	return flat{
		Customer: "cus_9s6XKzkNRiz8i3", Order: "ord_2026_0001", Currency: "EUR",
		Amount: 1299, Quantity: 3, Express: true, Discount: 0.05, Note: "leave at the door",
	}
}

// nested is a command with all that costs more.
type nested struct {
	ID    string
	Lines []line
	Ship  *address
	Meta  map[string]string
}

type line struct {
	SKU      string
	Quantity int
	Cents    int64
}

type address struct{ Street, City, Zip string }

func nestedCommand() nested {
	return nested{
		ID:    "ord_2026_0001",
		Lines: []line{{"sku-1", 1, 500}, {"sku-2", 2, 250}, {"sku-3", 3, 125}},
		Ship:  &address{"1 Main St", "Springfield", "12345"},
		Meta:  map[string]string{"channel": "web", "campaign": "spring", "locale": "en", "store": "7"},
	}
}

func newHasher[C any](tb testing.TB, o commandhash.Options) *commandhash.Hasher[C] {
	tb.Helper()
	h, err := commandhash.New[C]("test.v1", o)
	require.NoError(tb, err)
	return h
}

func BenchmarkSum(b *testing.B) {
	b.Run("flat", func(b *testing.B) { benchmarkSum(b, commandhash.Options{}, flatCommand()) })
	b.Run("nested", func(b *testing.B) { benchmarkSum(b, commandhash.Options{}, nestedCommand()) })
	b.Run("secret", func(b *testing.B) {
		benchmarkSum(b, commandhash.Options{Secret: []byte("0123456789abcdef")}, flatCommand())
	})
}

func benchmarkSum[C any](b *testing.B, o commandhash.Options, c C) {
	b.Helper()
	h := newHasher[C](b, o)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Sum("tenant", c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncoding leaves SHA-256 out.
func BenchmarkEncoding(b *testing.B) {
	h := newHasher[flat](b, commandhash.Options{})
	c := flatCommand()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = h.AppendEncoding(dst[:0], "tenant", c)
	}
	b.ReportMetric(float64(len(dst)), "bytes")
}

// TestAllocations: Sum leaves nothing to the garbage collector.
func TestAllocations(t *testing.T) {
	if raced {
		t.Skip("a sync.Pool forgets on purpose under the race detector")
	}
	// Not parallel: testing.AllocsPerRun counts everybody's.
	for name, sum := range map[string]func(){
		"flat":   sumOnce(t, commandhash.Options{}, flatCommand()),
		"nested": sumOnce(t, commandhash.Options{}, nestedCommand()),
		"secret": sumOnce(t, commandhash.Options{Secret: []byte("0123456789abcdef")}, flatCommand()),
	} {
		require.Zero(t, testing.AllocsPerRun(100, sum), name)
	}
}

func sumOnce[C any](tb testing.TB, o commandhash.Options, c C) func() {
	tb.Helper()
	h := newHasher[C](tb, o)
	return func() {
		if _, err := h.Sum("tenant", c); err != nil {
			panic(err)
		}
	}
}
