package commandhash_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

func TestNewInvalid(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		field string
		o     commandhash.Options
	}{
		{"Secret", commandhash.Options{Secret: make([]byte, 15)}},
		{"Secret", commandhash.Options{Secret: []byte{}}},
		{"MaxDepth", commandhash.Options{MaxDepth: -1}},
		{"MaxSize", commandhash.Options{MaxSize: commandhash.MaxMaxSize + 1}},
	} {
		_, err := commandhash.New[int]("test.v1", tc.o)
		require.ErrorIs(t, err, commandhash.ErrInvalid)
		require.NotErrorIs(t, err, commandhash.ErrType)
		require.ErrorContains(t, err, "Options."+tc.field)
	}
	for _, name := range []string{"", "a\nb", "a\x00", "\xff", "a\u200bb", strings.Repeat("a", 256)} {
		_, err := commandhash.New[int](name, commandhash.Options{})
		require.ErrorIs(t, err, commandhash.ErrInvalid, "%q", name)
	}
	_, err := commandhash.New[int]("", commandhash.Options{MaxDepth: 1001, MaxSize: -1, Secret: []byte("hunter2")})
	for _, part := range []string{"name", "MaxDepth", "MaxSize", "Secret is 7 bytes"} {
		require.ErrorContains(t, err, part, "all at once")
	}
	require.NotContains(t, err.Error(), "hunter2")
	for _, name := range []string{"a", "order.create.v1", "Bestellung ändern", strings.Repeat("a", 255)} {
		_, err := commandhash.New[int](name, commandhash.Options{})
		require.NoError(t, err)
	}
}

// TestSumParts: the same content is another command under another name, for
// another tenant, or with another secret, wherever the parts are cut.
func TestSumParts(t *testing.T) {
	t.Parallel()
	type Pause struct{ ID string }
	type Resume struct{ ID string }
	secret := []byte("0123456789abcdef")
	seen := map[commandhash.Sum]string{}
	add := func(what string, sum commandhash.Sum, err error) {
		require.NoError(t, err)
		require.Empty(t, seen[sum], what)
		seen[sum] = what
	}
	for _, name := range []string{"pause", "pause1", "resume"} {
		for _, scope := range []string{"", "1", "t1", "\xff"} {
			for _, o := range []commandhash.Options{{}, {Secret: secret}, {Secret: append([]byte("f"), secret...)}} {
				h, err := commandhash.New[Pause](name, o)
				require.NoError(t, err)
				sum, err := h.Sum(scope, Pause{"1"})
				add(fmt.Sprint(name, scope, o), sum, err)
			}
		}
	}
	h, err := commandhash.New[Resume]("resume", commandhash.Options{})
	require.NoError(t, err)
	sum, err := h.Sum("t1", Resume{"1"})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint("resume", "t1", commandhash.Options{}), seen[sum], "the Go type has no part in it")
}

func TestSumOf(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef")
	plain := newHasher[flat](t, commandhash.Options{})
	keyed := newHasher[flat](t, commandhash.Options{Secret: secret})
	c := flatCommand()
	preimage, err := keyed.AppendEncoding(nil, "tenant", c)
	require.NoError(t, err)

	sum, err := plain.Sum("tenant", c)
	require.NoError(t, err)
	require.Equal(t, commandhash.Sum(sha256.Sum256(preimage)), sum)
	require.Equal(t, base64.RawURLEncoding.EncodeToString(sum[:]), sum.String())
	require.Len(t, sum.String(), 43)

	mac := hmac.New(sha256.New, secret)
	mac.Write(preimage)
	clear(secret) // New has a copy
	for range 3 {
		sum, err = keyed.Sum("tenant", c)
		require.NoError(t, err)
		require.Equal(t, mac.Sum(nil), sum[:])
	}
	require.NotContains(t, string(preimage), "0123456789abcdef")
}

// TestSumReused: nothing of one command gets into the next.
func TestSumReused(t *testing.T) {
	t.Parallel()
	h := newHasher[*rich](t, commandhash.Options{})
	var fresh []commandhash.Sum
	commands := []*rich{makeRich(bytes.Repeat([]byte{1, 2, 3}, 99), false), {}, makeRich([]byte{9, 8, 7}, true), {Words: []string{"a"}}}
	for _, c := range commands {
		sum, err := newHasher[*rich](t, commandhash.Options{}).Sum("", c)
		require.NoError(t, err)
		fresh = append(fresh, sum)
	}
	for range 3 {
		for i, c := range commands {
			sum, err := h.Sum("", c)
			require.NoError(t, err)
			require.Equal(t, fresh[i], sum)
			_, err = h.Sum("", nil)
			require.ErrorIs(t, err, commandhash.ErrValue)
		}
	}
}

// TestSumConcurrent: a Hasher is everybody's.
func TestSumConcurrent(t *testing.T) {
	t.Parallel()
	h := newHasher[*rich](t, commandhash.Options{Secret: []byte("0123456789abcdef")})
	shared := makeRich(bytes.Repeat([]byte{1, 2, 3, 5, 7}, 99), false)
	want, err := h.Sum("", shared)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				own := makeRich([]byte{byte(g), byte(i)}, false)
				ownPreimage, err := h.AppendEncoding(nil, "", own)
				ownWant, wantErr := reference("test.v1", "", own)
				got, sumErr := h.Sum("", shared)
				if err := errors.Join(err, wantErr, sumErr); err != nil || got != want || !bytes.Equal(ownPreimage, ownWant) {
					t.Error("a command was mixed with another", err)
				}
			}
		})
	}
	wg.Wait()
}

// TestSumKeepsNothing: what was hashed can be collected.
func TestSumKeepsNothing(t *testing.T) {
	// Not parallel: the garbage of others makes the pool forget.
	type value struct{ P *[1 << 10]int }
	type command struct {
		Direct *[1 << 10]int
		Map    map[string]value
	}
	h := newHasher[command](t, commandhash.Options{})
	collected := make(chan string, 2)
	func() {
		direct, inMap := new([1 << 10]int), new([1 << 10]int)
		runtime.AddCleanup(direct, func(string) { collected <- "direct" }, "")
		runtime.AddCleanup(inMap, func(string) { collected <- "in map" }, "")
		_, err := h.Sum("", command{direct, map[string]value{"a": {inMap}}})
		require.NoError(t, err)
	}()
	runtime.GC() // once: after the next the pool itself has forgotten
	patience := time.After(10 * time.Second)
	for range 2 {
		select {
		case <-collected:
		case <-patience:
			t.Fatal("the pool holds what a command held")
		}
	}
	_, err := h.Sum("", command{})
	require.NoError(t, err)
}

// TestSumShowsNothing: the memory that a method is given does not show it what
// the commands before said.
func TestSumShowsNothing(t *testing.T) {
	t.Parallel()
	type command struct{ A, B curious }
	h := newHasher[command](t, commandhash.Options{})
	for range 100 { // the pool may forget a state
		var seen []byte
		secret := curious{says: strings.Repeat("secret", 10), seen: &seen}
		_, err := h.Sum("", command{secret, curious{says: "short", seen: &seen}})
		require.NoError(t, err)
		_, err = h.Sum("", command{A: curious{says: "other", seen: &seen}})
		require.NoError(t, err)
		require.NotContains(t, string(seen), "secret")
	}
}

// curious looks at what is in the memory that it is given.
type curious struct {
	says string
	seen *[]byte
}

func (c curious) AppendIdempotency(dst []byte) ([]byte, error) {
	*c.seen = bytes.Clone(dst[:cap(dst)])
	return append(dst, c.says...), nil
}

// moody panics, ends its goroutine, fails or works, as it is told.
type moody struct{ mood string }

var errMoody = errors.New("not today")

func (m moody) AppendIdempotency(dst []byte) ([]byte, error) {
	switch m.mood {
	case "panic":
		panic(errMoody)
	case "exit":
		runtime.Goexit()
	case "fail":
		return dst, errMoody
	case "own memory":
		return static(), nil
	}
	return append(dst, m.mood...), nil
}

var memory = []byte("static")

func static() []byte { return memory[:3] }

// TestSumPanics: a panic is the caller's, and the next command does not notice.
func TestSumPanics(t *testing.T) {
	t.Parallel()
	type command struct {
		Before string
		Set    []moody `semel:"set"`
		Map    map[string]map[string]moody
	}
	h := newHasher[command](t, commandhash.Options{})
	good := command{"x", []moody{{"b"}, {"a"}}, map[string]map[string]moody{"m": {"n": {"c"}}}}
	want, err := h.AppendEncoding(nil, "", good)
	require.NoError(t, err)
	for range 20 {
		for _, mood := range []string{"panic", "exit", "fail"} {
			for _, bad := range []command{
				{"secret", []moody{{"b"}, {mood}}, nil},
				{"secret", nil, map[string]map[string]moody{"secret": {"secret": {mood}}}},
			} {
				var err error
				ended := make(chan any)
				go func() {
					defer func() { ended <- recover() }()
					_, err = h.Sum("", bad)
				}()
				got := <-ended
				switch mood {
				case "panic":
					require.Equal(t, errMoody, got)
				case "fail":
					require.ErrorIs(t, err, commandhash.ErrValue)
					require.ErrorIs(t, err, errMoody)
				}
			}
			got, err := h.AppendEncoding(nil, "", good)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// TestAppenderMemory: what an Appender returns stays its own.
func TestAppenderMemory(t *testing.T) {
	t.Parallel()
	h := newHasher[[]moody](t, commandhash.Options{})
	for range 3 {
		got, err := h.AppendEncoding(nil, "", []moody{{"own memory"}, {"over"}})
		require.NoError(t, err)
		require.Contains(t, string(got), "a\x03sta")
		require.Equal(t, "static", string(memory))
	}
}
