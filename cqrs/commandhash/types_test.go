package commandhash_test

import (
	"encoding"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

// refused returns what New says of a type.
func refused[C any](t *testing.T) string {
	t.Helper()
	h, err := commandhash.New[C]("test.v1", commandhash.Options{})
	require.ErrorIs(t, err, commandhash.ErrType)
	require.NotErrorIs(t, err, commandhash.ErrInvalid)
	require.Nil(t, h)
	return err.Error()
}

type (
	loop     *loop
	stamp    time.Time
	funcText func()
	message  struct{ Text string }
	// hybrid has a field beside the one whose MarshalText it has.
	hybrid struct {
		day
		amount int //nolint:unused // its text would not tell it
	}
	day    struct{ _ int }
	wallet struct {
		money
		Note string
	}
	pointed struct {
		*money
		Note string
	}
	anything struct {
		commandhash.Appender
		Note string
	}
	inner struct {
		ID  string `semel:"key"`
		Seq int
	}
)

func (funcText) MarshalText() ([]byte, error) { return []byte("f"), nil }
func (day) MarshalText() ([]byte, error)      { return []byte("monday"), nil }
func (*message) ProtoReflect()                {}

var _ encoding.TextMarshaler = hybrid{}

func TestRefusedTypes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want string }{
		"interface":       {refused[any](t), "interface {}: an interface may hold"},
		"interface field": {refused[struct{ A any }](t), "test.v1: A: interface {}"},
		"error":           {refused[struct{ Err error }](t), "Err: error: an interface"},
		"appender":        {refused[struct{ A commandhash.Appender }](t), "A: commandhash.Appender: an interface"},
		"pointer to any":  {refused[struct{ A *any }](t), "A: interface {}"},
		"func":            {refused[struct{ A func() }](t), "A: func(): a func has no fixed form"},
		"func with text":  {refused[struct{ A funcText }](t), "a func has no fixed form"},
		"chan":            {refused[struct{ A []chan int }](t), "A[]: chan int: a chan"},
		"complex":         {refused[struct{ A map[string]complex64 }](t), "A[value]: complex64"},
		"complex128":      {refused[complex128](t), "complex128: a complex128"},
		"uintptr":         {refused[struct{ A uintptr }](t), "A: uintptr"},
		"unsafe pointer":  {refused[struct{ A unsafe.Pointer }](t), "A: unsafe.Pointer"},
		"unexported":      {refused[struct{ a int }](t), "test.v1: a: it is unexported"},
		"below": {refused[struct {
			A []struct{ B *struct{ c int } }
		}](t), "A[].B.c: it is unexported"},
		"embedded":        {refused[struct{ inner }](t), "inner: it is unexported"},
		"mutex":           {refused[struct{ Mu sync.Mutex }](t), "Mu.mu: it is unexported"},
		"url":             {refused[struct{ URL url.URL }](t), "URL.User.username: it is unexported"},
		"derived time":    {refused[struct{ At stamp }](t), "At.wall: it is unexported"},
		"own type":        {refused[loop](t), "a pointer that points to its own type"},
		"pointer key":     {refused[map[*int]int](t), "[key]: *int: a pointer in the key"},
		"pointers in key": {refused[map[[1]*int]int](t), "[key][]: *int: a pointer in the key"},
		"pointer in key":  {refused[struct{ M map[struct{ P *int }]int }](t), "M[key].P: *int: a pointer in the key"},
		"pointer in key 2": {refused[struct {
			L struct{ P *int }
			M map[struct{ P *int }]int
		}](t), "M[key].P: *int: a pointer in the key"},
		"interface key": {refused[map[any]int](t), "[key]: interface {}"},
		"protobuf":      {refused[struct{ M *message }](t), "M: commandhash_test.message: a protocol buffer message has no canonical form"},
		"protobuf self": {refused[message](t), "protocol buffer"},
		"promoted text": {refused[hybrid](t), "its MarshalText may be the one of its embedded field day"},
		"promoted own":  {refused[wallet](t), "its AppendIdempotency may be the one of its embedded field money"},
		"promoted ptr":  {refused[*pointed](t), "its AppendIdempotency may be the one of its embedded field money"},
		"promoted any":  {refused[anything](t), "its AppendIdempotency may be the one of its embedded field Appender"},
		"same name": {refused[struct {
			A int `json:"id"`
			B int `semel:"name=id"`
		}](t), `B: it is called "id", as is A`},
		"same go name": {refused[struct {
			A int `json:"B"`
			B int
		}](t), `it is called "B", as is`},
		"large array":   {refused[struct{ A [1 << 20]int }](t), "A: [1048576]int: it is larger than Options.MaxSize"},
		"large bytes":   {refused[struct{ A [1<<20 + 1]byte }](t), "larger than Options.MaxSize"},
		"array of none": {refused[struct{ A [1 << 50]struct{} }](t), "larger than Options.MaxSize"},
	} {
		require.Contains(t, tc.got, tc.want, name)
	}
}

// TestRefusedTags: a word that is not known is a mistake, not a name.
func TestRefusedTags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want string }{
		"unknown": {refused[struct {
			A int `semel:"omit"`
		}](t), `A: its tag says "omit", which is none of`},
		"bare name": {refused[struct {
			A int `semel:"id,key"`
		}](t), `its tag says "id"`},
		"empty": {refused[struct {
			A int `semel:""`
		}](t), `its tag says ""`},
		"empty word": {refused[struct {
			A int `semel:"key,"`
		}](t), `its tag says ""`},
		"white space": {refused[struct {
			A []int `semel:"key, set"`
		}](t), `its tag says " set"`},
		"empty name": {refused[struct {
			A int `semel:"name="`
		}](t), `its tag says "name="`},
		"bad name": {refused[struct {
			A int `semel:"name=\xff"`
		}](t), `its tag says "name=\xff"`},
		"excluded key": {refused[struct {
			A int `semel:"-,key"`
		}](t), `its tag says "-"`},
		"twice": {refused[struct {
			A int `semel:"key,key"`
		}](t), `its tag says "key", and says it twice`},
		"two names": {refused[struct {
			A int `semel:"name=a,name=b"`
		}](t), `its tag says "name=b", and says it twice`},
		"set of int": {refused[struct {
			A int `semel:"set"`
		}](t), `A: int: only a slice or an array is a "set"`},
		"set of bytes": {refused[struct {
			A []byte `semel:"set"`
		}](t), `bytes are one value`},
		"set of map": {refused[struct {
			A map[int]int `semel:"set"`
		}](t), `only a slice or an array`},
		"set pointer": {refused[struct {
			A *[]int `semel:"set"`
		}](t), `only a slice or an array`},
		"set of times": {refused[struct {
			A time.Time `semel:"set"`
		}](t), `only a slice or an array`},
		"on marker": {refused[struct {
			A struct{} `semel:"key"`
		}](t), "A: it holds nothing, so its tag"},
		"key below": {refused[struct {
			ID    string `semel:"key"`
			Inner inner
		}](t), `Inner: fields below it say "key"`},
		"key far below": {refused[struct {
			ID    string `semel:"key"`
			Inner []map[string]*struct{ Deep [1]inner }
		}](t), `Inner: fields below it say "key"`},
		"key in a key": {refused[struct {
			ID    string `semel:"key"`
			Inner map[inner]int
		}](t), `Inner: fields below it say "key"`},
		"tag beside key": {refused[struct {
			ID string `semel:"key"`
			A  []int  `semel:"set"`
		}](t), `A: other fields of its struct say "key" and its tag does not`},
		"unexported key": {refused[struct {
			id string `semel:"key"`
		}](t), "id: it is unexported"},
	} {
		require.Contains(t, tc.got, tc.want, name)
	}
}

// TestRefusedMalformed: a tag that Go does not see was meant to say something.
func TestRefusedMalformed(t *testing.T) {
	t.Parallel()
	for _, tag := range []reflect.StructTag{`semel: "-"`, `json:"a" semel:-`, `semel:"-`, `semel="-"`, `json:"a" semel "-"`} {
		require.ErrorContains(t, commandhash.TagError(tag), "its tag is malformed", string(tag))
	}
	for _, tag := range []reflect.StructTag{``, `json:"semel"`, `json:"a" semel:"key"`, `json:"-" semel:"-" `, `doc:"as semel:key" json:"a"`} {
		require.NoError(t, commandhash.TagError(tag), string(tag))
	}
}

// TestRefusedAll: every field is named in one error, in every place where its
// type is.
func TestRefusedAll(t *testing.T) {
	t.Parallel()
	got := refused[struct {
		A, B sync.Mutex
		C    []any
		D    struct{ E, F *func() }
		Good string
		H    map[any]chan int
	}](t)
	for _, path := range []string{"A.mu", "B.mu", "C[]", "D.E", "D.F", "H[key]", "H[value]"} {
		require.Contains(t, got, ": "+path+": ", got)
	}
	require.NotContains(t, got, "Good")
}

// fork makes of a type one that refers to it twice.
type fork[T any] struct {
	Bad  func()
	A, B *T
}

// TestRefusedManifold: a type that is refused in very many places is told of in
// finite time and space.
func TestRefusedManifold(t *testing.T) {
	t.Parallel()
	type bush struct {
		Bad         func()
		A, B, C, D  *bush
		E, F, G, H  []bush
		I, J, K, L  map[string]bush
		Bad2, Other any
	}
	require.Less(t, strings.Count(refused[bush](t), "\n"), 200)
	type fork4[T any] struct{ Fork fork[fork[fork[fork[T]]]] }
	require.Less(t, strings.Count(refused[fork4[fork4[fork4[fork4[fork4[fork4[fork4[fork4[int]]]]]]]]](t), "\n"), 200)
}

// TestAcceptedTypes: what is refused elsewhere is fine where it is no part of
// the hash, and recursive types end.
func TestAcceptedTypes(t *testing.T) {
	t.Parallel()
	type tree struct {
		Left, Right *tree
		Kids        []tree
		ByName      map[string]tree
		Value       int
	}
	type list []list
	type table map[string]table
	newHasher[tree](t, commandhash.Options{})
	newHasher[list](t, commandhash.Options{})
	newHasher[***table](t, commandhash.Options{})
	newHasher[struct{}](t, commandhash.Options{})
	newHasher[struct {
		Any   any        `semel:"-"`
		Mu    sync.Mutex `semel:"-"`
		state int        `semel:"-"`
		_     func()
		marker[int]
		none  struct{}
		Inner inner
	}](t, commandhash.Options{})
	newHasher[struct {
		ID    string `semel:"key"`
		Any   any
		mu    sync.Mutex
		Inner inner `semel:"-"`
		Below struct {
			Inner inner `semel:"-"`
		}
	}](t, commandhash.Options{})
}
