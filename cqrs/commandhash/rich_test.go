package commandhash_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"time"
)

// rich has a field of every kind that there is.
type rich struct {
	Bool    bool
	Int8    int8 `json:"int8,omitempty"`
	Int     int  `semel:"name=zz"`
	Int64   int64
	Uint8   uint8
	Uint64  uint64
	Float32 float32
	Float   float64
	Text    string
	Bytes   []byte
	Array   [3]byte
	Tokens  []token
	Time    time.Time
	Delay   time.Duration
	Pointer *int
	Twice   **string
	Numbers []int16
	Words   []string
	Set     []string `semel:"set"`
	Leaves  []leaf   `semel:"name=leaf set,set"`
	Pair    [2]leaf
	Map     map[string]string
	Named   map[word]leaf
	Floats  map[float64]bool
	Deep    map[string]map[string][]int
	Keys    map[[2]string]*leaf
	Times   map[time.Time]int
	Leaf    leaf
	Leafs   *leaf
	Self    *rich
	Kids    []rich
	Addr    netip.Addr
	Addrs   []netip.Addr
	Big     *big.Int
	Number  big.Int
	Money   money
	Monies  map[string]*money
	Coins   [2]money
	Listed  listed
	Trace   string `semel:"-"`
	Any     any    `semel:"-"`
	base           //nolint:unused // it is there to be passed over
	Base
	marker[func()] //nolint:unused // so is this
	_              func()
}

type (
	token         uint8
	word          string
	marker[T any] struct{}
	leaf          struct {
		A string `json:"a"`
		B int
		T time.Time
		L []int
	}
	base struct{} //nolint:unused // as above
	Base struct{ ID string }
	// listed has an allow-list.
	listed struct {
		ID    string `semel:"key"`
		Other func()
		Also  int `semel:"key,name=also"`
	}
)

// money is an Appender with a pointer receiver, whose unexported fields are its
// own business: 10 and 10.0 are one.
type money struct{ units, scale int }

func (m *money) AppendIdempotency(dst []byte) ([]byte, error) {
	return binary.AppendVarint(dst, int64(m.value())), nil
}

func (m *money) value() int {
	v := m.units
	for range 3 - m.scale {
		v *= 10
	}
	return v
}

// source makes values of bytes: the same bytes, the same meaning. Where a meaning
// has several forms, other chooses another.
type source struct {
	bytes []byte
	other bool
}

// next returns a number below n.
func (s *source) next(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

// elsewhere is one place: a time there is the same key of a map each time.
var elsewhere = time.FixedZone("elsewhere", 3600)

func pick[T any](s *source, from ...T) T { return from[s.next(len(from))] }

// fill makes a value in v, which has an address.
func (s *source) fill(v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		t := pick(s, time.Time{}, time.Unix(0, 0), time.Unix(0, 1), time.Unix(1e9, 5), time.Unix(-1, 999999999))
		*p = t.UTC()
		if s.other {
			*p = t.In(elsewhere)
		}
		return
	case *big.Int:
		p.SetInt64(pick[int64](s, 0, 1, -1, math.MaxInt64))
		if s.other {
			p.Sub(p.Add(p, big.NewInt(7)), big.NewInt(7)) // a zero with room
		}
		return
	case *netip.Addr:
		*p = pick(s, netip.Addr{}, netip.MustParseAddr("::1"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1"))
		return
	case *money:
		*p = pick(s, money{}, money{1, 0}, money{11, 1})
		if s.other && p.scale < 2 {
			p.units, p.scale = p.units*10, p.scale+1
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(s.next(2) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(pick[int64](s, 0, 1, -1, 63, 64, math.MaxInt64, math.MinInt64, 1<<53+1))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(pick[uint64](s, 0, 1, 127, 128, math.MaxUint64))
	case reflect.Float32, reflect.Float64:
		f := pick(s, 0, 1, -1, 0.1, math.Inf(1), math.SmallestNonzeroFloat64)
		if f == 0 && s.other {
			f = math.Copysign(0, -1)
		}
		v.SetFloat(f)
	case reflect.String:
		v.SetString(pick(s, "", "a", "b", "ab", "\xff", "\xfe", "{", "\x00"))
	case reflect.Pointer:
		if depth > 0 && s.next(2) == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			s.fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		s.list(v, depth)
	case reflect.Array:
		for i := range v.Len() {
			s.fill(v.Index(i), depth)
		}
	case reflect.Map:
		s.mapping(v, depth)
	case reflect.Struct:
		s.fields(v, depth)
	}
}

func (s *source) list(v reflect.Value, depth int) {
	n := 0
	if depth > 0 {
		n = s.next(4)
	}
	if n > 0 || s.other {
		v.Set(reflect.MakeSlice(v.Type(), n, n))
	}
	for i := range n {
		s.fill(v.Index(i), depth-1)
	}
}

func (s *source) mapping(v reflect.Value, depth int) {
	n := 0
	if depth > 0 {
		n = s.next(4)
	}
	if n > 0 || s.other {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for range n {
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		s.fill(key, depth-1)
		s.fill(elem, depth-1)
		v.SetMapIndex(key, elem)
	}
}

func (s *source) fields(v reflect.Value, depth int) {
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Tag.Get("semel") == "-":
			if s.other && f.Type.Kind() == reflect.String {
				v.Field(i).SetString("not part of it")
			}
		case v.Field(i).CanSet():
			s.fill(v.Field(i), depth)
		}
	}
	if l, ok := v.Addr().Interface().(*listed); ok && s.other {
		l.Other = func() {}
	}
	if r, ok := v.Addr().Interface().(*rich); ok && s.other {
		slices.Reverse(r.Set)
		slices.Reverse(r.Leaves)
	}
}

// makeRich returns the value that some bytes mean.
func makeRich(b []byte, other bool) *rich {
	r := &rich{}
	(&source{b, other}).fill(reflect.ValueOf(r).Elem(), 3)
	return r
}
