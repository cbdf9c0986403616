package idempotency_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// carry sends v through JSON as a run and its duplicate do.
func carry[T any](t *testing.T, v T) {
	t.Helper()
	codec := idempotency.JSON[T]()
	require.NoError(t, idempotency.CheckCodec(new(idempotency.CodecChecks), codec))
	res, err := idempotency.EncodeResult(codec, v)
	require.NoError(t, err)
	require.Equal(t, idempotency.KindValue, res.Kind)
	require.Equal(t, "json", res.Codec)
	got, err := idempotency.DecodeResult(codec, res)
	require.NoError(t, err)
	require.Equal(t, v, got, "%s", res.Data)
}

type receipt struct {
	ID       string
	Amount   int64
	Fraction float64 `json:"fraction"`
	Paid     bool
	At       time.Time
	Rate     *big.Int `json:",omitempty"`
	Lines    []line
	Meta     map[string]string
	Raw      json.RawMessage `json:",omitempty"`
	From     netip.Addr
	Next     *receipt
	line     `json:"-"`
}

type line struct {
	SKU      string
	Quantity uint64 `json:",string"`
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	carry(t, int64(math.MaxInt64))
	carry(t, int64(math.MinInt64))
	carry(t, uint64(math.MaxUint64))
	carry(t, int64(1<<53+1))
	carry(t, map[int64]int64{1<<53 + 1: 1<<53 + 3})
	carry(t, math.MaxFloat64)
	carry(t, math.SmallestNonzeroFloat64)
	carry(t, 0.1)
	carry(t, "")
	carry(t, "<a href=\"x\">\u2028\x00\ufffd & \\ufffd</a>")
	carry(t, []byte{0, 0xff, 0xfe})
	carry(t, [3]byte{1, 2, 3})
	carry(t, []byte(nil))
	carry(t, []byte{})
	carry(t, map[string][]int{"a": nil, "b": {}, "c": {0}})
	carry(t, (*receipt)(nil))
	carry(t, struct{}{})
	carry(t, http.Header{"A": {"1", "2"}})
	carry(t, json.RawMessage(`{"a":1}`))
	carry(t, json.RawMessage(`"\ufffd"`))
	carry(t, json.RawMessage(`"\u003c"`))
	carry(t, json.Number("12345678901234567890.5"))
	carry(t, receipt{})
	carry(t, &receipt{
		ID: "in_123", Amount: 1<<53 + 1, Fraction: 1e-9, Paid: true,
		At:    time.Date(2025, 11, 29, 18, 30, 0, 1, time.UTC),
		Rate:  new(big.Int).Lsh(big.NewInt(1), 200),
		Lines: []line{{"a", math.MaxUint64}, {}},
		Meta:  map[string]string{"k": ""},
		Raw:   json.RawMessage(`[1.50]`),
		From:  netip.MustParseAddr("2001:db8::1"),
		Next:  &receipt{Next: &receipt{}},
	})
}

// pointerMethods encodes itself by methods of the pointer.
type pointerMethods struct{ hidden string }

func (p *pointerMethods) MarshalText() ([]byte, error) { return []byte("<" + p.hidden + ">"), nil }
func (p *pointerMethods) UnmarshalText(b []byte) error {
	p.hidden = strings.Trim(string(b), "<>")
	return nil
}

func TestJSONMethodsOfPointer(t *testing.T) {
	t.Parallel()
	carry(t, pointerMethods{"x"})
	carry(t, &pointerMethods{"x"})
	carry(t, []pointerMethods{{"x"}, {"y"}})
	carry(t, [1]pointerMethods{{"x"}})
	carry(t, struct{ P pointerMethods }{pointerMethods{"x"}})
	carry(t, map[string]*pointerMethods{"a": {"x"}})
	carry(t, map[string][]pointerMethods{"a": {{"x"}}})
}

// TestJSONEncodeRefuses: what would be replayed otherwise than it was returned
// is an error, which costs the duplicates the result and nobody anything else.
func TestJSONEncodeRefuses(t *testing.T) {
	t.Parallel()
	_, err := idempotency.EncodeResult(idempotency.JSON[float64](), math.NaN())
	require.Error(t, err)
	_, err = idempotency.EncodeResult(idempotency.JSON[string](), "a\xffb")
	require.ErrorContains(t, err, "UTF-8")
	_, err = idempotency.EncodeResult(idempotency.JSON[map[string]int](), map[string]int{"\xc3": 1})
	require.ErrorContains(t, err, "UTF-8")
	_, err = idempotency.EncodeResult(idempotency.JSON[json.RawMessage](), json.RawMessage(`{`))
	require.Error(t, err)
	type ring struct{ Next *ring }
	r := &ring{}
	r.Next = r
	_, err = idempotency.EncodeResult(idempotency.JSON[*ring](), r)
	require.Error(t, err)
}

func TestDecodeResultRefuses(t *testing.T) {
	t.Parallel()
	for name, res := range map[string]idempotency.Result{
		"tombstone":    {Kind: idempotency.KindTombstone},
		"final error":  {Kind: idempotency.KindError, Codec: "json", Data: []byte("1")},
		"other codec":  {Codec: "json2", Data: []byte("1")},
		"no codec":     {Data: []byte("1")},
		"no data":      {Codec: "json"},
		"other type":   {Codec: "json", Data: []byte(`"1"`)},
		"out of range": {Codec: "json", Data: []byte("9223372036854775808")},
		"trailing":     {Codec: "json", Data: []byte("1 2")},
	} {
		v, err := idempotency.DecodeResult(idempotency.JSON[int64](), res)
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable, name)
		require.Zero(t, v, name)
	}
}

// counting is a codec that counts how often it is asked whether it can.
type counting struct {
	asked *atomic.Int32
	name  string
	err   error
}

func (c counting) Name() string             { return c.name }
func (counting) Encode(int) ([]byte, error) { return nil, nil }
func (counting) Decode([]byte) (int, error) { return 0, nil }
func (c counting) Check() error             { c.asked.Add(1); return c.err }

// bare is a codec that is no Checker.
type bare struct{}

func (bare) Name() string                 { return "bare" }
func (bare) Encode(int) ([]byte, error)   { return nil, nil }
func (bare) Decode(b []byte) (int, error) { return len(b), nil }

func TestCheckCodec(t *testing.T) {
	t.Parallel()
	checks := new(idempotency.CodecChecks)
	require.ErrorIs(t, idempotency.CheckCodec[int](checks, nil), idempotency.ErrInvalid)
	require.NoError(t, idempotency.CheckCodec[int](checks, bare{}))
	for _, name := range []string{"", strings.Repeat("n", 256)} {
		require.ErrorIs(t, idempotency.CheckCodec[int](checks, counting{name: name}), idempotency.ErrInvalid)
	}

	var asked atomic.Int32
	cannot := counting{&asked, "c", errors.New("cannot")}
	for range 3 {
		err := idempotency.CheckCodec[int](checks, cannot)
		require.ErrorIs(t, err, idempotency.ErrInvalid)
		require.ErrorIs(t, err, cannot.err)
		require.ErrorContains(t, err, "Codec c cannot carry int: cannot")
	}
	require.EqualValues(t, 1, asked.Load(), "a walk through the type for every call")

	err := idempotency.CheckCodec(checks, idempotency.JSON[receipt]())
	require.NoError(t, err)
	err = idempotency.CheckCodec(checks, idempotency.JSON[chan int]())
	require.ErrorIs(t, err, idempotency.ErrInvalid)
	require.ErrorContains(t, err, "Codec json cannot carry chan int: it cannot be encoded")
}

// TestCheckCodecAllocates: the check is on the path of every call.
//
//nolint:paralleltest // it counts what the process allocates
func TestCheckCodecAllocates(t *testing.T) {
	checks := new(idempotency.CodecChecks)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = idempotency.CheckCodec(checks, idempotency.JSON[receipt]())
	}))
}

func ExampleJSON() {
	type receipt struct {
		Invoice string
		Amount  int64
	}
	codec := idempotency.JSON[receipt]()
	data, err := codec.Encode(receipt{"in_123", 1<<53 + 1})
	fmt.Println(string(data), err)

	// A replay could not tell that this was an int64: better to know it now.
	lossy := idempotency.JSON[map[string]any]()
	if checker, ok := lossy.(idempotency.Checker); ok {
		fmt.Println(checker.Check())
	}
	// Output:
	// {"Invoice":"in_123","Amount":9007199254740993} <nil>
	// [] (interface {}) is an interface: which type to decode into is not encoded
}

func FuzzJSON(f *testing.F) {
	f.Add("in_123", int64(1<<53+1), 0.1, []byte{0xff})
	f.Add("\xff\ufffd\\ufffd", int64(-1), math.Inf(1), []byte(nil))
	codec := idempotency.JSON[struct {
		S string
		M map[string]int64
		F float64
		B []byte
	}]()
	f.Fuzz(func(t *testing.T, s string, n int64, x float64, b []byte) {
		v, _ := codec.Decode([]byte("{}"))
		v.S, v.M, v.F, v.B = s, map[string]int64{s: n}, x, b
		data, err := codec.Encode(v)
		if err != nil {
			return
		}
		back, err := codec.Decode(data)
		require.NoError(t, err)
		require.Equal(t, v, back)
	})
}
