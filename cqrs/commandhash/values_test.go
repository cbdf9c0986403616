package commandhash_test

import (
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

// enc returns the encoding of a command under one name, whatever its type.
func enc[C any](t *testing.T, c C) string {
	t.Helper()
	b, err := newHasher[C](t, commandhash.Options{}).AppendEncoding(nil, "", c)
	require.NoError(t, err)
	want, err := reference("test.v1", "", c)
	require.NoError(t, err)
	require.Equal(t, want, b, "%#v", c)
	_, err = parse(b)
	require.NoError(t, err)
	return string(b)
}

// of is a command with one field.
type of[T any] struct{ A T }

// field returns the encoding of a command with that field.
func field[T any](t *testing.T, v T) string {
	t.Helper()
	return enc(t, of[T]{v})
}

type (
	decimal struct{ text string }
	level   int
	parity  int
	// failing has nothing to say while it is empty.
	failing struct{ p *int }
)

func (d decimal) MarshalText() ([]byte, error)                { return []byte(d.text), nil }
func (p parity) AppendIdempotency(dst []byte) ([]byte, error) { return append(dst, byte(p%2)), nil }

func (level) MarshalText() ([]byte, error) { return []byte("level"), nil }
func (f *failing) MarshalText() ([]byte, error) {
	return []byte{byte(*f.p)}, nil // panics if it is zero
}

func TestSame(t *testing.T) {
	t.Parallel()
	instant := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	zero, one, text := 0, 1, "x"
	now := time.Now()
	for name, tc := range map[string]struct{ a, b string }{
		"pointer":          {enc(t, flatCommand()), enc(t, &flat{Customer: "cus_9s6XKzkNRiz8i3", Order: "ord_2026_0001", Currency: "EUR", Amount: 1299, Quantity: 3, Express: true, Discount: 0.05, Note: "leave at the door"})},
		"two pointers":     {enc(t, of[int]{1}), enc(t, new(&of[int]{1}))},
		"zero field added": {enc(t, of[int]{1}), enc(t, struct{ A, B int }{1, 0})},
		"zero fields":      {enc(t, struct{}{}), enc(t, rich{})},
		"zero behind":      {enc(t, struct{}{}), enc(t, of[struct{ B of[[2]leaf] }]{})},
		"empty below":      {enc(t, struct{}{}), enc(t, of[leaf]{leaf{L: []int{}, T: time.Time{}.In(elsewhere)}})},
		"reordered":        {enc(t, struct{ A, B int }{1, 2}), enc(t, struct{ B, A int }{2, 1})},
		"renamed, json": {enc(t, struct {
			A int `json:"id"`
		}{1}), enc(t, struct {
			B int `json:"id,omitzero"`
		}{1})},
		"tag before json": {enc(t, struct {
			A int `json:"a" semel:"name=id"`
		}{1}), enc(t, struct {
			B int `json:"id"`
		}{1})},
		"json minus": {enc(t, struct {
			A int `json:"-"`
		}{1}), enc(t, of[int]{1})},
		"json without name": {enc(t, struct {
			A int `json:",omitempty"`
		}{1}), enc(t, of[int]{1})},
		"excluded": {enc(t, struct {
			A int
			B string `semel:"-"`
		}{1, "x"}), enc(t, of[int]{1})},
		"allow-list": {enc(t, struct {
			A int `semel:"key"`
			B any
		}{1, "x"}), enc(t, of[int]{1})},
		"allow-list below": {enc(t, of[inner]{inner{"x", 1}}), enc(t, of[inner]{inner{"x", 2}})},
		"embedded":         {enc(t, struct{ Base }{Base{"1"}}), enc(t, struct{ Base Base }{Base{"1"}})},
		"marker": {enc(t, struct {
			marker[any]
			A int
		}{A: 1}), enc(t, of[int]{1})},
		"width":             {field(t, int8(-5)), field(t, int64(-5))},
		"width unsigned":    {field(t, uint8(200)), field(t, uint64(200))},
		"duration":          {field(t, time.Second), field(t, int64(1e9))},
		"float width":       {field(t, float32(0.5)), field(t, 0.5)},
		"enum":              {field(t, level(7)), field(t, 7)},
		"named string":      {field(t, word("x")), field(t, "x")},
		"json.Number":       {field(t, json.Number("1")), field(t, "1")},
		"json.RawMessage":   {field(t, json.RawMessage("1")), field(t, []byte("1"))},
		"byte array":        {field(t, [2]byte{1, 2}), field(t, []byte{1, 2})},
		"named bytes":       {field(t, []token{1, 2}), field(t, []byte{1, 2})},
		"array":             {field(t, [2]int{1, 2}), field(t, []int{1, 2})},
		"optional":          {field(t, 1), field(t, &one)},
		"optional elements": {field(t, []int{1}), field(t, []*int{&one})},
		"signs of zero":     {enc(t, math.Copysign(0, -1)), enc(t, 0.0)},
		"zones":             {field(t, instant), field(t, instant.In(elsewhere))},
		"monotonic clock":   {field(t, now), field(t, now.Round(0))},
		"embedded time":     {field(t, struct{ time.Time }{instant}), field(t, struct{ time.Time }{instant.In(elsewhere)})},
		"nil slice":         {enc(t, []int(nil)), enc(t, []int{})},
		"nil slice element": {enc(t, [][]int{nil}), enc(t, [][]int{{}})},
		"nil map":           {enc(t, map[int]int(nil)), enc(t, map[int]int{})},
		"nil text map":      {enc(t, map[string]string(nil)), enc(t, map[string]string{})},
		"nil bytes":         {enc(t, []byte(nil)), enc(t, []byte{})},
		"named map":         {enc(t, map[word]word{"b": "2", "a": "1"}), enc(t, map[string]string{"a": "1", "b": "2"})},
		"set": {enc(t, struct {
			A []string `semel:"set"`
		}{[]string{"b", "a", "b"}}), enc(t, struct {
			A []string `semel:"set"`
		}{[]string{"b", "b", "a"}})},
		"two zones in keys": {
			field(t, map[time.Time]int{instant: 1, instant.In(elsewhere): 2}),
			field(t, map[time.Time]int{instant: 2, instant.In(elsewhere): 1}),
		},
		"zero in two forms": {field(t, new(big.Int)), field(t, new(big.Int).Sub(big.NewInt(1), big.NewInt(1)))},
		"field in two forms": {
			field(t, big.Int{}), field(t, *new(big.Int).Sub(big.NewInt(1), big.NewInt(1))),
		},
		"own":              {field(t, money{1, 0}), field(t, money{100, 2})},
		"own behind":       {field(t, money{1, 0}), field(t, &money{100, 2})},
		"own of a number":  {field(t, []parity{1, 2}), field(t, []parity{3, 4})},
		"own that is zero": {field(t, parity(2)), enc(t, struct{}{})},
		"failing zero":     {field(t, failing{}), enc(t, struct{}{})},
		"failing zeros":    {field(t, [2][1]failing{}), enc(t, struct{}{})},
		"failing zero 2":   {enc(t, of[mute]{}), enc(t, struct{}{})},
		"pointer to nil":   {field(t, (**int)(nil)), enc(t, struct{}{})},
		"pointer twice":    {field(t, new(&text)), field(t, new(new("x")))},
		"zero by pointer":  {field(t, []*int{&zero}), field(t, []int{0})},
	} {
		require.Equal(t, tc.a, tc.b, name)
	}
}

func TestDifferent(t *testing.T) {
	t.Parallel()
	zero, instant := 0, time.Unix(1e9, 0)
	for name, tc := range map[string]struct{ a, b string }{
		"int64 above 2^53":    {field(t, int64(1<<53)), field(t, int64(1<<53+1))},
		"int64 below -2^53":   {field(t, int64(-1<<53)), field(t, int64(-1<<53-1))},
		"extremes":            {field(t, int64(math.MinInt64)), field(t, int64(math.MaxInt64))},
		"signed or not":       {field(t, 1), field(t, uint(1))},
		"number or text":      {field(t, 1), field(t, "1")},
		"number or bool":      {field(t, 1), field(t, true)},
		"number or float":     {field(t, 1), field(t, 1.0)},
		"float32":             {field(t, float32(0.1)), field(t, 0.1)},
		"infinities":          {field(t, math.Inf(1)), field(t, math.Inf(-1))},
		"bytes or text":       {field(t, []byte("a")), field(t, "a")},
		"not UTF-8":           {field(t, "\xff"), field(t, "\xfe")},
		"not UTF-8 in a key":  {field(t, map[string]int{"\xff": 1}), field(t, map[string]int{"\xfe": 1})},
		"cut otherwise":       {enc(t, []string{"ab", "c"}), enc(t, []string{"a", "bc"})},
		"cut in a map":        {enc(t, map[string]string{"ab": "c"}), enc(t, map[string]string{"a": "bc"})},
		"nested otherwise":    {enc(t, [][]int{{1}, {2, 3}}), enc(t, [][]int{{1, 2}, {3}})},
		"nil or zero":         {field(t, (*int)(nil)), field(t, &zero)},
		"nil or empty struct": {field(t, (*leaf)(nil)), field(t, &leaf{})},
		"nil element":         {enc(t, []*int{nil}), enc(t, []*int{&zero})},
		"nil twice":           {enc(t, []**int{nil}), enc(t, []**int{new((*int)(nil))})},
		"nil own":             {field(t, (*money)(nil)), field(t, &money{})},
		"one more zero":       {enc(t, []int{1}), enc(t, []int{1, 0})},
		"one more entry":      {enc(t, map[string]int{"a": 1}), enc(t, map[string]int{"a": 1, "b": 0})},
		"other field":         {enc(t, struct{ A, B int }{1, 0}), enc(t, struct{ A, B int }{0, 1})},
		"order":               {enc(t, []int{1, 2}), enc(t, []int{2, 1})},
		"set or list": {enc(t, struct {
			A []int `semel:"set"`
		}{[]int{1}}), field(t, []int{1})},
		"set, how often": {enc(t, struct {
			A []string `semel:"set"`
		}{[]string{"a", "e", "e"}}), enc(t, struct {
			A []string `semel:"set"`
		}{[]string{"a", "a", "e"}})},
		"set, none or twice": {enc(t, struct {
			A []string `semel:"set"`
		}{[]string{"a", "d", "d"}}), enc(t, struct {
			A []string `semel:"set"`
		}{[]string{"a", "e", "e"}})},
		"swapped in a map":   {enc(t, map[string]string{"a": "1", "b": "2"}), enc(t, map[string]string{"a": "2", "b": "1"})},
		"nanosecond":         {field(t, instant), field(t, instant.Add(1))},
		"embedded or not":    {enc(t, struct{ Base }{Base{"1"}}), enc(t, struct{ ID string }{"1"})},
		"addresses":          {field(t, netip.MustParseAddr("10.0.0.1")), field(t, netip.MustParseAddr("::ffff:10.0.0.1"))},
		"opaque or its text": {field(t, decimal{"1"}), field(t, "1")},
		"opaque":             {field(t, decimal{"1"}), field(t, decimal{"1.0"})},
		"big":                {field(t, new(big.Int).Lsh(big.NewInt(1), 64)), field(t, new(big.Int).Lsh(big.NewInt(1), 65))},
		"enums of one text":  {field(t, level(1)), field(t, level(2))},
		"key case": {enc(t, struct {
			A int `json:"id"`
		}{1}), enc(t, struct {
			A int `json:"ID"`
		}{1})},
	} {
		require.NotEqual(t, tc.a, tc.b, name)
	}
}

// TestManyEntries: a map's order is its own each time, the encoding's is not.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	m, n := map[string]string{}, map[int]map[string]string{}
	for i := range 100 {
		m[string(rune('a'+i))] = "x"
		n[i*i] = map[string]string{string(rune(i)): "x", "y": "z"}
	}
	for range 5 {
		require.Equal(t, enc(t, m), enc(t, m))
		require.Equal(t, enc(t, n), enc(t, n))
	}
}
