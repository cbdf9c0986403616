package idempotency_test

import (
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

// Types that JSON carries, or would carry only in part.
type (
	marshals      struct{}
	marshalsText  int
	unmarshals    struct{ A int }
	textKey       struct{ hidden string }
	intTextKey    int
	stringTextKey string
	tree          struct{ Left, Right *tree }
	list          []list
	mutual        struct{ M map[string]*mutual }
	base          struct{ ID string }
	hidden        struct{ secret string }
	hiddenAndMore struct {
		base
		more string
	}
	hiddenInt int
	selfish   struct{ *selfish }
	Selfish   struct{ *Selfish }
	Base      struct{ ID string }
	left      struct{ base }
	right     struct{ base }
	stamped   struct {
		time.Time
		Amount int
	}
	stamp   struct{ time.Time }
	noted   struct{ stamped string }
	ignored struct {
		A      int
		cache  map[string]any `json:"-"`
		Reason error          `json:"-"`
	}
)

func (marshals) MarshalJSON() ([]byte, error)      { return []byte("1"), nil }
func (marshalsText) MarshalText() ([]byte, error)  { return []byte("one"), nil }
func (*unmarshals) UnmarshalJSON([]byte) error     { return nil }
func (k textKey) MarshalText() ([]byte, error)     { return []byte(k.hidden), nil }
func (k *textKey) UnmarshalText(b []byte) error    { k.hidden = string(b); return nil }
func (intTextKey) MarshalText() ([]byte, error)    { return []byte("one"), nil }
func (*stringTextKey) UnmarshalText([]byte) error  { return nil }
func (n noted) MarshalText() ([]byte, error)       { return []byte(n.stamped), nil }
func (n *noted) UnmarshalText(b []byte) error      { n.stamped = string(b); return nil }
func (i ignored) touch() (map[string]any, *hidden) { return i.cache, &hidden{secret: ""} }
func (h hiddenAndMore) touch() string              { return h.more }

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	_, _ = ignored{}.touch()
	_ = hiddenAndMore{}.touch()
	for _, tc := range []struct {
		t    reflect.Type
		want string // "": carried
	}{
		{reflect.TypeFor[int](), ""},
		{reflect.TypeFor[**receipt](), ""},
		{reflect.TypeFor[tree](), ""},
		{reflect.TypeFor[list](), ""},
		{reflect.TypeFor[mutual](), ""},
		{reflect.TypeFor[ignored](), ""},
		{reflect.TypeFor[unmarshals](), ""},
		{reflect.TypeFor[time.Time](), ""},
		{reflect.TypeFor[stamp](), ""},
		{reflect.TypeFor[struct{ noted }](), ""},
		{reflect.TypeFor[struct{ base }](), ""},
		{reflect.TypeFor[struct{ *Base }](), ""},
		{reflect.TypeFor[struct{ Base Base }](), ""},
		{reflect.TypeFor[map[textKey]int](), ""},
		{reflect.TypeFor[map[uint8]int](), ""},
		{reflect.TypeFor[struct{}](), ""},

		{reflect.TypeFor[chan int](), "it cannot be encoded"},
		{reflect.TypeFor[func()](), "it cannot be encoded"},
		{reflect.TypeFor[complex128](), "it cannot be encoded"},
		{reflect.TypeOf(reflect.ValueOf(new(int)).UnsafePointer()), "it cannot be encoded"},
		{reflect.TypeFor[any](), "it is an interface"},
		{reflect.TypeFor[map[string]any](), "[] (interface {}) is an interface"},
		{reflect.TypeFor[struct{ Err error }](), "Err (error) is an interface"},
		{reflect.TypeFor[[]struct {
			A map[string][]struct{ B chan int }
		}](), "[].A[][].B (chan int) cannot be encoded"},
		{reflect.TypeFor[map[float64]int](), "has keys"},
		{reflect.TypeFor[map[bool]int](), "has keys"},
		{reflect.TypeFor[map[*textKey]int](), "has keys"},
		{reflect.TypeFor[map[intTextKey]int](), "has keys"},
		{reflect.TypeFor[map[stringTextKey]int](), "has keys"},
		{reflect.TypeFor[map[base]int](), "has keys"},
		{reflect.TypeFor[marshals](), "does not decode itself"},
		{reflect.TypeFor[*marshals](), "does not decode itself"},
		{reflect.TypeFor[[]marshalsText](), "does not decode itself"},
		{reflect.TypeFor[hidden](), "secret (string) is not exported"},
		{reflect.TypeFor[hiddenAndMore](), "more (string) is not exported"},
		{reflect.TypeFor[struct{ hiddenInt }](), "hiddenInt (idempotency_test.hiddenInt) is not exported"},
		{reflect.TypeFor[struct{ *base }](), "embedded pointer that is not exported"},
		{reflect.TypeFor[struct {
			base `json:"b"`
		}](), "is not exported"},
		{reflect.TypeFor[selfish](), "embedded pointer that is not exported"},
		{reflect.TypeFor[Selfish](), "embedded twice"},
		{reflect.TypeFor[struct {
			left
			right
		}](), "embedded twice"},
		{reflect.TypeFor[struct {
			base
			ID int
		}](), `second field called "ID"`},
		{reflect.TypeFor[struct {
			ID   int
			Name int `json:"ID,omitempty"`
		}](), `second field called "ID"`},
		{reflect.TypeFor[stamped](), "embeds a type that encodes itself"},
		{reflect.TypeFor[*sync.Mutex](), "is not exported"},
		{reflect.TypeFor[url.URL](), "User.username (string) is not exported"},
		// Values of a map have no address, and so no methods of the pointer.
		{reflect.TypeFor[map[string]pointerMethods](), "[].hidden (string) is not exported"},
		{reflect.TypeFor[struct {
			A []pointerMethods
			B map[string]pointerMethods
		}](), "B[].hidden (string) is not exported"},
	} {
		err := idempotency.CheckJSON(tc.t)
		if tc.want == "" {
			require.NoError(t, err, "%v", tc.t)
		} else {
			require.ErrorContains(t, err, tc.want, "%v", tc.t)
		}
	}
}
