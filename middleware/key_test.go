package middleware_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

// tellKey answers with the key of its claim.
func tellKey(w http.ResponseWriter, r *http.Request) {
	claim, ok := idempotency.ClaimFrom(r.Context())
	if !ok {
		_, _ = io.WriteString(w, "no claim")
		return
	}
	_, _ = io.WriteString(w, claim.Key().ID)
}

func TestKeyIsReadFromItsHeader(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellKey, semelhttp.IdempotencyOptions{})
	long := strings.Repeat("k", 255)
	for _, c := range []struct {
		lines []string
		key   string // or
		code  semelhttp.Code
	}{
		{lines: []string{"8e03978e-40d5-43e8-bc93-6894a57f9324"}, key: "8e03978e-40d5-43e8-bc93-6894a57f9324"},
		{lines: []string{`"quoted"`}, key: "quoted"},
		{lines: []string{"  \"spaced\"\t"}, key: "spaced"},
		{lines: []string{`"a\"b\\c"`}, key: `a"b\c`},
		{lines: []string{`bare"and\this`}, key: `bare"and\this`},
		{lines: []string{`:cHJldGVuZCB0aGlz:`}, key: `:cHJldGVuZCB0aGlz:`},
		{lines: []string{`~!`}, key: `~!`},
		{lines: []string{long}, key: long},
		{lines: []string{`"` + long + `"`}, key: long},
		{lines: []string{`"` + strings.Repeat(`\\`, 255) + `"`}, key: strings.Repeat(`\`, 255)},
		{lines: nil, code: semelhttp.CodeKeyMissing},
		{lines: []string{""}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`""`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"open`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"a\"`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"a\b"`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"a"b"`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"a";p=1`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"a", "b"`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{"a b"}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"a b"`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{"schlüssel"}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{long + "k"}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{`"` + strings.Repeat(`\\`, 256) + `"`}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{"a", "a"}, code: semelhttp.CodeKeyMalformed},
		{lines: []string{"a", ""}, code: semelhttp.CodeKeyMalformed},
	} {
		r := s.request(http.MethodPost, "/", "", nil)
		r.Header["Idempotency-Key"] = c.lines
		a := s.do(r)
		if c.code != "" {
			require.Equal(t, http.StatusBadRequest, a.status, "%q", c.lines)
			require.Equal(t, c.code, a.code(t), "%q", c.lines)
			continue
		}
		require.Equal(t, c.key, a.body, "%q", c.lines)
	}
}

func TestQuotedAndBareKeyAreOne(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellKey, semelhttp.IdempotencyOptions{})
	require.False(t, s.post("/", `"one"`, "").replayed())
	require.True(t, s.post("/", "one", "").replayed())
}

func TestSpaceAroundAKeyIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"\tk ", ` "k"`, "\"k\"\t"} { // not every server trims
		key, refused := semelhttp.ParseKey([]string{line})
		require.Empty(t, refused)
		require.Equal(t, "k", key)
	}
}

func TestKeyInTrailersDoesNotCount(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellKey, semelhttp.IdempotencyOptions{})
	r := s.request(http.MethodPost, "/", "", io.MultiReader(strings.NewReader("body")))
	r.Trailer = http.Header{"Idempotency-Key": {"late"}}
	require.Equal(t, semelhttp.CodeKeyMissing, s.do(r).code(t))
}

func TestKeyMayBeMissingOrInAnotherHeader(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellKey, semelhttp.IdempotencyOptions{AllowMissing: true, Header: "x-request-key"})
	require.Equal(t, "no claim", s.post("/", "", "").body)
	require.Equal(t, "no claim", s.post("/", "not here", "").body)
	require.Equal(t, "here", s.post("/", "", "", "X-Request-Key", "here").body)
	require.Equal(t, semelhttp.CodeKeyMalformed, s.post("/", "", "", "X-Request-Key", "").code(t))
}

func TestOnlyUnsafeMethodsAreGuarded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		methods []string
		guarded map[string]bool
	}{
		{nil, map[string]bool{http.MethodPost: true, http.MethodPatch: true}},
		{[]string{http.MethodPut}, map[string]bool{http.MethodPut: true}},
	} {
		s := inMemory(t).protect(t, tellKey, semelhttp.IdempotencyOptions{Methods: c.methods})
		for _, method := range []string{"GET", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"} {
			want := "no claim"
			if c.guarded[method] {
				want = "for-" + method
			}
			require.Equal(t, want, s.do(s.request(method, "/", "for-"+method, nil)).body, method)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, line := range []string{"", "k", `"k"`, `"a\"b\\c"`, `"a\`, `"a";p`, " k ", "a b", "\x7f"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, refused := semelhttp.ParseKey([]string{line})
		if refused != "" {
			require.Equal(t, semelhttp.CodeKeyMalformed, refused)
			require.Empty(t, key)
			return
		}
		require.NotEmpty(t, key)
		require.LessOrEqual(t, len(key), 255)
		for _, c := range []byte(key) {
			require.True(t, c > ' ' && c < 0x7f, "%q", key)
		}
		// Quoted, it is the same key.
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		again, refused := semelhttp.ParseKey([]string{quoted})
		require.Empty(t, refused, quoted)
		require.Equal(t, key, again)
	})
}
