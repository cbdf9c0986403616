package commandhash_test

import (
	"crypto/sha256"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/commandhash"
)

// seeds adds some inputs that reach deep.
func seeds(f *testing.F) {
	f.Helper()
	random := rand.NewChaCha8([32]byte{})
	for n := range 200 {
		b := make([]byte, 4*n)
		_, _ = random.Read(b) // it cannot fail
		f.Add(b, byte(n), byte(3*n), n%2 == 0)
	}
}

// FuzzEquivalence holds the package against an implementation that was written
// for the test from the specification, and reads every preimage back.
func FuzzEquivalence(f *testing.F) {
	seeds(f)
	h := newHasher[*rich](f, commandhash.Options{})
	f.Fuzz(func(t *testing.T, b []byte, _, _ byte, other bool) {
		command := makeRich(b, other)
		scope := string(b[:min(len(b), 3)])
		got, err := h.AppendEncoding([]byte("before"), scope, command)
		want, wantErr := reference("test.v1", scope, command)
		require.NoError(t, err)
		require.NoError(t, wantErr)
		require.Equal(t, append([]byte("before"), want...), got)
		sum, err := h.Sum(scope, command)
		require.NoError(t, err)
		require.Equal(t, commandhash.Sum(sha256.Sum256(want)), sum)

		_, err = parse(want)
		require.NoError(t, err)
		for _, cut := range []int{1, 2, len(want) / 3, len(want) / 2} {
			_, err = parse(want[:len(want)-cut])
			require.Error(t, err, "no encoding begins another")
		}
	})
}

// FuzzInjective holds encodings against what is equal: of two commands that
// differ in little, or only in the form of what they say.
func FuzzInjective(f *testing.F) {
	seeds(f)
	h := newHasher[*rich](f, commandhash.Options{})
	f.Fuzz(func(t *testing.T, b []byte, at, to byte, other bool) {
		changed := slices.Clone(b)
		if len(changed) > 0 {
			changed[(int(at)*7)%len(changed)] = to
		}
		first, second := makeRich(b, false), makeRich(changed, other)
		x, err := h.AppendEncoding(nil, "", first)
		require.NoError(t, err)
		y, err := h.AppendEncoding(nil, "", second)
		require.NoError(t, err)
		read, err := parse(x)
		require.NoError(t, err)
		readOther, err := parse(y)
		require.NoError(t, err)
		require.Equal(t, string(x) == string(y), read == readOther)
		want := equal(reflect.ValueOf(first), reflect.ValueOf(second), false)
		require.Equal(t, want, string(x) == string(y), "%q\n%q", x, y)
	})
}

// TestInjectiveReach shows that the fuzz target meets both outcomes, in other
// forms of the same too.
func TestInjectiveReach(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	same, differ := 0, 0
	for range 300 {
		b := make([]byte, random.IntN(300))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		first, second := makeRich(b, false), makeRich(b, true)
		require.NotEqual(t, first, second, "another form is another value")
		require.True(t, equal(reflect.ValueOf(first), reflect.ValueOf(second), false))
		same++
		if len(b) > 0 {
			b[random.IntN(len(b))]++
			if !equal(reflect.ValueOf(first), reflect.ValueOf(makeRich(b, true)), false) {
				differ++
			}
		}
	}
	require.NotZero(t, same)
	require.Greater(t, differ, 100)
}
