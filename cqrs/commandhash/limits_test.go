package commandhash_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

type node struct {
	Next *node
	Kids []node
	Map  map[string]*node
	V    int
}

// badValue returns what Sum says of a command, and sees to it that AppendEncoding
// says the same and returns what it was given.
func badValue[C any](t *testing.T, o commandhash.Options, c C) string {
	t.Helper()
	h := newHasher[C](t, o)
	sum, err := h.Sum("", c)
	require.ErrorIs(t, err, commandhash.ErrValue)
	require.Zero(t, sum)
	dst, err2 := h.AppendEncoding([]byte("x"), "", c)
	require.Equal(t, "x", string(dst))
	require.EqualError(t, err2, err.Error())
	return err.Error()
}

func TestBadValues(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	type failing struct{ M map[string][]*moody }
	var nothing *node
	ring := &node{V: 1}
	ring.Next = &node{Next: ring}
	type list []list
	endless := list{nil}
	endless[0] = endless
	type table map[string]table
	round := table{}
	round["x"] = round
	for name, tc := range map[string]struct{ got, want string }{
		"NaN":              {badValue(t, commandhash.Options{}, of[float64]{nan}), "value cannot be hashed: test.v1: A: is NaN"},
		"NaN alone":        {badValue(t, commandhash.Options{}, float32(nan)), "test.v1: is NaN"},
		"NaN in a map":     {badValue(t, commandhash.Options{}, of[map[string][]float64]{map[string][]float64{"secret": {1, nan}}}), "test.v1: A[value][1]: is NaN"},
		"NaN as a key":     {badValue(t, commandhash.Options{}, of[map[float64]int]{map[float64]int{nan: 1}}), "A[key]: is NaN"},
		"nil":              {badValue(t, commandhash.Options{}, nothing), "the command is a nil pointer"},
		"nil behind":       {badValue(t, commandhash.Options{}, &nothing), "the command is a nil pointer"},
		"failing":          {badValue(t, commandhash.Options{}, failing{map[string][]*moody{"secret": {{"a"}, {"fail"}}}}), "M[value][1]: AppendIdempotency failed: not today"},
		"ring":             {badValue(t, commandhash.Options{}, ring), "Next.Next.Next.Next.Next"},
		"ring of slices":   {badValue(t, commandhash.Options{}, endless), "nested more than 64 deep, or cyclic"},
		"ring of pointers": {badValue(t, commandhash.Options{}, of[knot]{tie()}), "A: nested more than 64 deep, or cyclic"},
		"NaN behind":       {badValue(t, commandhash.Options{}, []**float64{new(&nan)}), "[0]: is NaN"},
		"failing text":     {badValue(t, commandhash.Options{}, []*mute{{}}), "[0]: MarshalText failed: not today"},
		"deep text map":    {badValue(t, commandhash.Options{MaxDepth: 1}, of[map[string]string]{map[string]string{"": ""}}), "A: nested more than 1 deep"},
		"large key":        {badValue(t, commandhash.Options{MaxSize: 50}, map[string]string{strings.Repeat("a", 50): ""}), "[key]: the command"},
		"ring of maps":     {badValue(t, commandhash.Options{}, round), "[value][value]"},
		"large text":       {badValue(t, commandhash.Options{}, of[string]{strings.Repeat("a", 1<<20)}), "A: the command is written in more than 1048576 bytes"},
		"large bytes":      {badValue(t, commandhash.Options{}, make([]byte, 1<<20)), "more than 1048576 bytes"},
		"many elements":    {badValue(t, commandhash.Options{MaxSize: 100}, of[[]int]{make([]int, 100)}), "more than 100 bytes"},
		"many of none":     {badValue(t, commandhash.Options{}, make([]struct{}, math.MaxInt)), "more than 1048576 bytes"},
		"many entries":     {badValue(t, commandhash.Options{MaxSize: 100}, manyEntries()), "more than 100 bytes"},
		"large own":        {badValue(t, commandhash.Options{MaxSize: 100}, moody{strings.Repeat("a", 100)}), "more than 100 bytes"},
		"large text map":   {badValue(t, commandhash.Options{MaxSize: 100}, map[string]string{"a": strings.Repeat("a", 100)}), "[value]: the command"},
	} {
		require.Contains(t, tc.got, tc.want, name)
		require.NotContains(t, tc.got, "secret", name)
		require.Less(t, len(tc.got), 400, name)
	}
}

// knot is a pointer to a pointer to a pointer.
type knot *knot

func tie() knot {
	k := new(knot)
	*k = k
	return k
}

// mute has no text.
type mute struct{ _, n int }

func (m mute) MarshalText() ([]byte, error) {
	if m.n == 0 {
		return nil, errMoody
	}
	return []byte("something"), nil
}

func manyEntries() map[int]int {
	m := map[int]int{}
	for i := range 100 {
		m[i] = i
	}
	return m
}

// TestBadBush: a small value that would be written in 2^64 parts is given up in
// time.
func TestBadBush(t *testing.T) {
	t.Parallel()
	bush := &node{V: 1}
	for range 60 {
		bush = &node{Kids: []node{{Next: bush}, {Next: bush}}}
	}
	require.Contains(t, badValue(t, commandhash.Options{MaxDepth: 1000, MaxSize: 1 << 16}, bush), "more than 65536 bytes")
	wide := &node{V: 1}
	for range 25 {
		wide = &node{Next: wide, Map: map[string]*node{"": wide}}
	}
	require.Contains(t, badValue(t, commandhash.Options{MaxSize: 1 << 16}, wide), "more than 65536 bytes")
}

// TestMaxDepth: what is left out is no level, but for structs.
func TestMaxDepth(t *testing.T) {
	t.Parallel()
	for name, deep := range map[string]func(o commandhash.Options, depth int) error{
		"structs": func(o commandhash.Options, depth int) error {
			n := &node{V: 1}
			for range depth - 1 {
				n = &node{Next: n}
			}
			_, err := newHasher[*node](t, o).Sum("", n)
			return err
		},
		"lists and structs": func(o commandhash.Options, depth int) error {
			n := node{V: 1}
			for range (depth - 1) / 2 {
				n = node{Kids: []node{n}}
			}
			_, err := newHasher[node](t, o).Sum("", n)
			return err
		},
	} {
		require.NoError(t, deep(commandhash.Options{}, 63), name)
		require.NoError(t, deep(commandhash.Options{MaxDepth: 5}, 5), name)
		require.ErrorIs(t, deep(commandhash.Options{MaxDepth: 5}, 7), commandhash.ErrValue, name)
		require.ErrorIs(t, deep(commandhash.Options{}, 67), commandhash.ErrValue, name)
		require.NoError(t, deep(commandhash.Options{MaxDepth: commandhash.MaxMaxDepth}, 999), name)
	}
}

// TestMaxSize: the limit is that of the whole encoding, to the byte, and what
// fits has the same hash under every limit.
func TestMaxSize(t *testing.T) {
	t.Parallel()
	c := nestedCommand()
	whole, err := newHasher[nested](t, commandhash.Options{}).AppendEncoding(nil, "scope", c)
	require.NoError(t, err)
	for size := 1; size < len(whole); size++ {
		_, err := newHasher[nested](t, commandhash.Options{MaxSize: size}).AppendEncoding(nil, "scope", c)
		require.ErrorIs(t, err, commandhash.ErrValue, size)
	}
	got, err := newHasher[nested](t, commandhash.Options{MaxSize: len(whole)}).AppendEncoding(nil, "scope", c)
	require.NoError(t, err)
	require.Equal(t, whole, got)
}

// TestLargeThenSmall: what was too large to be kept is not missed.
func TestLargeThenSmall(t *testing.T) {
	t.Parallel()
	h := newHasher[map[string][]moody](t, commandhash.Options{})
	for _, n := range []int{1, 200_000, 2, 1_000_000, 3} {
		c := map[string][]moody{"a": {{strings.Repeat("x", n)}}, "b": {{"y"}}}
		got, err := h.AppendEncoding(nil, "", c)
		require.NoError(t, err)
		want, err := reference("test.v1", "", c)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestManyThenFew is the same for entries.
func TestManyThenFew(t *testing.T) {
	t.Parallel()
	h := newHasher[map[int]int](t, commandhash.Options{})
	for _, n := range []int{2, 20_000, 3} {
		c := map[int]int{}
		for i := range n {
			c[i] = i
		}
		got, err := h.AppendEncoding(nil, "", c)
		require.NoError(t, err)
		want, err := reference("test.v1", "", c)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
