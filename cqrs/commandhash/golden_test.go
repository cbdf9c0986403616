package commandhash_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

// vector is one of testdata/golden.json. They are frozen: hashes like them are in
// stores. A vector that fails is a fault of the code, never of the vector, and
// nothing here writes them.
type vector struct {
	Name     string `json:"name"`
	Command  string `json:"command"`
	Scope    string `json:"scope"`
	Secret   string `json:"secret"` // hex
	Value    string `json:"value"`  // for people
	Preimage string `json:"preimage"`
	Sum      string `json:"sum"`
}

// hashed is what becomes of a vector's value.
type hashed func(t *testing.T, v vector) (preimage []byte, sum commandhash.Sum)

func value[C any](c C) hashed {
	return func(t *testing.T, v vector) ([]byte, commandhash.Sum) {
		t.Helper()
		var o commandhash.Options
		if v.Secret != "" {
			secret, err := hex.DecodeString(v.Secret)
			require.NoError(t, err)
			o.Secret = secret
		}
		h, err := commandhash.New[C](v.Command, o)
		require.NoError(t, err)
		preimage, err := h.AppendEncoding(nil, v.Scope, c)
		require.NoError(t, err)
		sum, err := h.Sum(v.Scope, c)
		require.NoError(t, err)
		want, err := reference(v.Command, v.Scope, c)
		require.NoError(t, err)
		require.Equal(t, want, preimage)
		return preimage, sum
	}
}

// pauseOrder is the example of docs/command-hash.md.
type pauseOrder struct {
	ID      string    `json:"id"`
	Reason  string    `json:"reason" semel:"name=why"`
	Amount  int64     `json:"amount"`
	TraceID string    `semel:"-"`
	SentAt  time.Time `semel:"-"`
}

// golden returns the values of the vectors.
func golden() map[string]hashed {
	zero := 0
	example := pauseOrder{ID: "o1", Amount: -3, TraceID: "any", SentAt: time.Unix(1, 0)}
	return map[string]hashed{
		"example":                 value(example),
		"example, pointer":        value(new(&example)),
		"example, with a secret":  value(example),
		"example, no scope":       value(example),
		"example, scope of bytes": value(example),
		"empty struct":            value(struct{}{}),
		"text":                    value("caf\u00e9 \U0001F600"),
		"text that is not UTF-8":  value("\xff"),
		"text of 128 bytes":       value(string(make([]byte, 128))),
		"bools":                   value([]bool{false, true}),
		"ints":                    value([]int64{0, 1, -1, 63, -64, 64, 1<<53 + 1, math.MaxInt64, math.MinInt64}),
		"uints":                   value([]uint64{0, 1, 127, 128, math.MaxUint64}),
		"floats":                  value([]float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, math.MaxFloat64, math.Inf(1), math.Inf(-1)}),
		"float32":                 value([]float32{0.1, math.SmallestNonzeroFloat32}),
		"bytes":                   value([][]byte{nil, {0}, {1, 2, 255}}),
		"byte array":              value([4]byte{1, 2, 3, 4}),
		"times":                   value([]time.Time{{}, time.Unix(0, 0), time.Unix(-1, 1), time.Date(2026, 1, 2, 3, 4, 5, 600, elsewhere)}),
		"duration":                value(90 * time.Second),
		"pointers":                value([]*int{nil, &zero, new(1)}),
		"pointers to pointers":    value([]**int{nil, new((*int)(nil)), new(&zero)}),
		"set": value(struct {
			A []string `semel:"set"`
		}{[]string{"b", "", "a", "b", "ab"}}),
		"map":              value(map[string]string{"b": "1", "a": "2", "": "3", "aa": "4"}),
		"map of ints":      value(map[int]*leaf{-1: nil, 0: {}, 64: {A: "x"}, 1: {B: 1}}),
		"map of maps":      value(map[[2]string]map[bool]uint8{{"a", "b"}: {true: 1, false: 2}, {"a"}: nil}),
		"left out":         value(rich{Pair: [2]leaf{{L: []int{}}}, Pointer: nil, Time: time.Time{}.In(elsewhere)}),
		"not left out":     value(rich{Pointer: &zero, Leafs: &leaf{}, Pair: [2]leaf{{B: 1}}, Array: [3]byte{0, 0, 1}, Numbers: []int16{0}}),
		"names":            value(rich{Int8: 1, Int: 2, Base: Base{"x"}, Listed: listed{ID: "y", Also: 3}, Trace: "t"}),
		"opaque":           value([]*big.Int{nil, big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), 70)}),
		"opaque addresses": value([]netip.Addr{{}, netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}),
		"own":              value([]money{{}, {1, 0}, {1000, 3}}),
		"json types": value(struct {
			N json.Number
			R json.RawMessage
		}{"1.0", json.RawMessage(`{"a": 1}`)}),
		"nested": value(nestedCommand()),
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	values := golden()
	for _, v := range vectors {
		require.Contains(t, values, v.Name)
		preimage, sum := values[v.Name](t, v)
		require.Equal(t, v.Preimage, hex.EncodeToString(preimage), v.Name)
		require.Equal(t, v.Sum, sum.String(), v.Name)
		delete(values, v.Name)
	}
	require.Empty(t, values, "without a vector")
}

// TestGoldenJSONv2: not even Go's other JSON changes a hash.
func TestGoldenJSONv2(t *testing.T) {
	t.Parallel()
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), goCommand, "test", "-count=1", "-run=^TestGolden$", "-v", ".")
	cmd.Env = append(os.Environ(), "GOEXPERIMENT=jsonv2", "GOFLAGS=-mod=readonly -buildvcs=false")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestGolden ", "%s", out)
}
