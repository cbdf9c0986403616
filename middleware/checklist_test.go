package middleware_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

// shop is a server of payments that knows its tenants. Its answers tell who
// asked for what, and how often that was carried out. POST /held is not answered
// before finish is closed.
type shop struct {
	*server
	calls           counter
	started, finish chan struct{}
}

func newShop(t *testing.T, env env) *shop {
	t.Helper()
	s := &shop{started: make(chan struct{}, 9), finish: make(chan struct{})}
	guard := env.guard(t, idempotency.Options{})
	tenant := func(r *http.Request) (string, error) { return "tenant " + r.Header.Get("Tenant"), nil }
	s.server = serve(t, semelhttp.Idempotency(guard, tenant, semelhttp.IdempotencyOptions{})(http.HandlerFunc(s.pay)))
	return s
}

func (s *shop) pay(w http.ResponseWriter, r *http.Request) {
	n := s.calls.next()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	switch r.URL.Path {
	case "/held":
		s.started <- struct{}{}
		<-s.finish
	case "/broken":
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.Header().Set("Location", fmt.Sprint("/payments/", n))
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = fmt.Fprintf(w, "payment %d for %s: %s %s %s", n, r.Header.Get("Tenant"), r.Method, r.RequestURI, body)
}

// send sends a request with these header lines, byte for byte.
func (s *shop) send(request, body string, lines ...string) answer {
	s.t.Helper()
	head := append([]string{request + " HTTP/1.1", "Host: shop.example", fmt.Sprint("Content-Length: ", len(body))}, lines...)
	return s.raw(strings.Join(head, "\r\n") + "\r\n\r\n" + body)
}

// hold sends a request that runs until the returned function is called, which
// gives its answer.
func (s *shop) hold(t *testing.T, key, body string) (end func() answer) {
	t.Helper()
	type ending struct {
		answer
		err error
	}
	first := make(chan ending, 1)
	r := s.request(http.MethodPost, "/held", key, strings.NewReader(body))
	go func() {
		a, err := s.try(r)
		first <- ending{a, err}
	}()
	<-s.started
	finish := sync.OnceFunc(func() { close(s.finish) })
	t.Cleanup(finish)
	return func() answer {
		finish()
		e := <-first
		require.NoError(t, e.err)
		return e.answer
	}
}

// requireRefused requires a problem of RFC 9457 (section 3) and of nobody's
// payment, and returns it.
func requireRefused(t *testing.T, a answer, status int, code semelhttp.Code) semelhttp.Problem {
	t.Helper()
	p := a.problem(t)
	require.Equal(t, status, a.status)
	require.Equal(t, code, p.Code)
	require.NotContains(t, a.body, "payment ")
	require.Equal(t, fmt.Sprint(len(a.body)), a.header.Get("Content-Length"))

	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &members))
	require.InDelta(t, status, members["status"], 0, "a number")
	kind, err := url.Parse(members["type"].(string))
	require.NoError(t, err)
	require.True(t, kind.IsAbs())
	for _, name := range []string{"title", "detail", "code"} {
		require.IsType(t, "", members[name], name)
	}
	return p
}

// requireRetry requires a Retry-After between one and five seconds.
func requireRetry(t *testing.T, a answer) {
	t.Helper()
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(t, err)
	require.True(t, seconds >= 1 && seconds <= 5, "%d s", seconds)
}

// requireReplay requires a replay of first: the same answer, marked.
func requireReplay(t *testing.T, first, again answer) {
	t.Helper()
	require.False(t, first.replayed(), "it was the first")
	require.Equal(t, []string{"true"}, again.header["Idempotent-Replayed"])
	want := first.header.Clone()
	want.Set("Idempotent-Replayed", "true")
	want["Date"] = again.header["Date"]
	require.Equal(t, answer{first.status, want, first.body}, again)
}

// item is one behaviour that clients are promised, by
// draft-ietf-httpapi-idempotency-key-header (section 2) or, where the draft
// leaves it open, as at Stripe.
type item struct {
	given, when, then string
	check             func(t *testing.T, s *shop, key string)
}

// Names and checks of what a client can rely on, with the bytes of its header.
func TestChecklist(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		all := append(keyItems(), outcomeItems()...)
		all = append(all, otherRequestItems()...)
		for i, c := range all {
			t.Run(fmt.Sprintf("given %s when %s then %s", c.given, c.when, c.then), func(t *testing.T) {
				t.Parallel()
				c.check(t, newShop(t, env), fmt.Sprint("item-", i))
			})
		}
	})
}

// keyItems are about the key's header.
func keyItems() []item {
	items := []item{
		{"a bare key", "it comes again quoted", "it is the same", func(t *testing.T, s *shop, key string) {
			first := s.send("POST /payments", "{}", "Idempotency-Key: "+key)
			requireReplay(t, first, s.send("POST /payments", "{}", `Idempotency-Key: "`+key+`"`))
		}},
		{"a quoted key", "it comes again bare, in another case of the name", "it is the same", func(t *testing.T, s *shop, key string) {
			first := s.send("POST /payments", "{}", `Idempotency-Key: "`+key+`"`)
			requireReplay(t, first, s.send("POST /payments", "{}", "idempotency-key:"+key))
		}},
		{"keys that differ in case", "both come", "they are two", func(t *testing.T, s *shop, key string) {
			require.Contains(t, s.send("POST /payments", "{}", "Idempotency-Key: "+key).body, "payment 1 ")
			require.Contains(t, s.send("POST /payments", "{}", "Idempotency-Key: "+strings.ToUpper(key)).body, "payment 2 ")
		}},
		{"a key of 255 characters", "it comes twice", "it is a key", func(t *testing.T, s *shop, key string) {
			line := "Idempotency-Key: " + key + strings.Repeat("k", 255-len(key))
			requireReplay(t, s.send("POST /payments", "{}", line), s.send("POST /payments", "{}", line))
		}},
		{"no key", "the method is safe", "it passes each time", func(t *testing.T, s *shop, _ string) {
			for range 2 {
				a := s.send("GET /payments", "")
				require.Equal(t, http.StatusCreated, a.status)
				require.Empty(t, a.header["Idempotent-Replayed"])
			}
			require.Equal(t, 2, s.calls.total())
		}},
		{"no key", "the method is not safe", "400 key_missing", func(t *testing.T, s *shop, _ string) {
			p := requireRefused(t, s.send("POST /payments", "{}"), http.StatusBadRequest, semelhttp.CodeKeyMissing)
			require.Equal(t, "Idempotency-Key is missing", p.Title)
			require.Zero(t, s.calls.total())
		}},
	}
	for given, lines := range map[string][]string{
		"an empty key":           {"Idempotency-Key:"},
		"a key of spaces":        {"Idempotency-Key:   \t"},
		"an empty string":        {`Idempotency-Key: ""`},
		"an open string":         {`Idempotency-Key: "open`},
		"a string and more":      {`Idempotency-Key: "k";p=1`},
		"a list in one line":     {`Idempotency-Key: "a", "b"`},
		"a key with a space":     {"Idempotency-Key: a b"},
		"a key beyond ASCII":     {"Idempotency-Key: schlüssel"},
		"a key of 256":           {"Idempotency-Key: " + strings.Repeat("k", 256)},
		"a quoted key of 256":    {`Idempotency-Key: "` + strings.Repeat("k", 256) + `"`},
		"two keys in two lines":  {"Idempotency-Key: a", "Idempotency-Key: b"},
		"one key in two lines":   {"Idempotency-Key: a", "Idempotency-Key: a"},
		"two cases of one name":  {"Idempotency-Key: a", "idempotency-key: a"},
		"a key and an empty one": {"Idempotency-Key: a", "Idempotency-Key:"},
	} {
		items = append(items, item{given, "it comes", "400 key_malformed", func(t *testing.T, s *shop, _ string) {
			a := s.send("POST /payments", "{}", lines...)
			requireRefused(t, a, http.StatusBadRequest, semelhttp.CodeKeyMalformed)
			require.Empty(t, a.header["Retry-After"])
			require.Zero(t, s.calls.total())
		}})
	}
	return items
}

// outcomeItems are about what becomes of a key.
func outcomeItems() []item {
	return []item{
		{"a completed request", "it is repeated", "its answer is, and says so", func(t *testing.T, s *shop, key string) {
			line := "Idempotency-Key: " + key
			first := s.send("POST /payments", "{}", line)
			require.Equal(t, http.StatusCreated, first.status)
			require.Equal(t, "/payments/1", first.header.Get("Location"))
			for range 2 {
				requireReplay(t, first, s.send("POST /payments", "{}", line))
			}
			require.Equal(t, 1, s.calls.total())
		}},
		{"a running request", "it is repeated", "409 in_progress with Retry-After", func(t *testing.T, s *shop, key string) {
			end := s.hold(t, key, "{}")
			a := s.send("POST /held", "{}", "Idempotency-Key: "+key)
			p := requireRefused(t, a, http.StatusConflict, semelhttp.CodeInProgress)
			require.Equal(t, "A request is outstanding for this Idempotency-Key", p.Title)
			requireRetry(t, a)
			first := end()
			require.Equal(t, first.body, s.send("POST /held", "{}", "Idempotency-Key: "+key).body)
			require.Equal(t, 1, s.calls.total())
		}},
		{"a running request", "its key comes with another body", "422 key_mismatch, not 409", func(t *testing.T, s *shop, key string) {
			end := s.hold(t, key, "{}")
			for _, other := range []answer{
				s.send("POST /held", "{ }", "Idempotency-Key: "+key),
				s.send("POST /payments", "{}", "Idempotency-Key: "+key),
			} {
				p := requireRefused(t, other, http.StatusUnprocessableEntity, semelhttp.CodeKeyMismatch)
				require.Equal(t, "Idempotency-Key is already used", p.Title)
				require.Empty(t, other.header["Retry-After"], "later is no better")
			}
			require.Contains(t, end().body, "payment 1 ")
			require.Equal(t, 1, s.calls.total())
		}},
		{"a completed request", "its key comes with another body", "422 and the record stays", func(t *testing.T, s *shop, key string) {
			line := "Idempotency-Key: " + key
			first := s.send("POST /payments", "{}", line)
			requireRefused(t, s.send("POST /payments", "{ }", line), http.StatusUnprocessableEntity, semelhttp.CodeKeyMismatch)
			requireReplay(t, first, s.send("POST /payments", "{}", line))
		}},
		{"a request that failed", "it is repeated", "it runs, unmarked", func(t *testing.T, s *shop, key string) {
			for n := range 2 {
				a := s.send("POST /broken", "{}", "Idempotency-Key: "+key)
				require.Equal(t, http.StatusInternalServerError, a.status)
				require.Contains(t, a.body, fmt.Sprintf("payment %d ", n+1))
				require.Empty(t, a.header["Idempotent-Replayed"])
			}
		}},
		{"a request that failed", "its key comes with another body", "the key is free", func(t *testing.T, s *shop, key string) {
			line := "Idempotency-Key: " + key
			require.Equal(t, http.StatusInternalServerError, s.send("POST /broken", "{}", line).status)
			require.Equal(t, http.StatusCreated, s.send("POST /payments", "mended", line).status)
		}},
	}
}

// otherRequestItems are about one key for two requests.
func otherRequestItems() []item {
	items := []item{
		{"a key of one tenant", "another tenant has it, too", "they share nothing", func(t *testing.T, s *shop, key string) {
			line := "Idempotency-Key: " + key
			a := s.send("POST /payments", "{}", line, "Tenant: a")
			b := s.send("POST /payments", "{}", line, "Tenant: b")
			require.Contains(t, a.body, "payment 1 for a:")
			require.Contains(t, b.body, "payment 2 for b:")
			require.Equal(t, "/payments/2", b.header.Get("Location"))
			requireReplay(t, a, s.send("POST /payments", "{}", line, "Tenant: a"))
			requireReplay(t, b, s.send("POST /payments", "{}", line, "Tenant: b"))
			// Not even that the key exists.
			require.Contains(t, s.send("POST /payments", "other", line, "Tenant: c").body, "payment 3 for c:")
		}},
		{"a running request of one tenant", "another tenant has its key, too", "it does not wait", func(t *testing.T, s *shop, key string) {
			end := s.hold(t, key, "{}")
			require.Contains(t, s.send("POST /payments", "{}", "Idempotency-Key: "+key, "Tenant: b").body, "payment 2 for b:")
			require.Contains(t, end().body, "payment 1 for :")
		}},
	}
	for what, request := range map[string]string{
		"route":        "POST /refunds?a=1",
		"method":       "PATCH /payments?a=1",
		"query":        "POST /payments?a=2",
		"missing one":  "POST /payments",
		"prefix":       "POST /v2/payments?a=1",
		"longer route": "POST /payments/?a=1",
	} {
		items = append(items, item{"a completed request", "its key comes with another " + what, "422, never the other's answer", func(t *testing.T, s *shop, key string) {
			line := "Idempotency-Key: " + key
			first := s.send("POST /payments?a=1", "{}", line)
			require.Equal(t, http.StatusCreated, first.status)
			a := s.send(request, "{}", line)
			requireRefused(t, a, http.StatusUnprocessableEntity, semelhttp.CodeKeyMismatch)
			require.Empty(t, a.header["Location"])
			requireReplay(t, first, s.send("POST /payments?a=1", "{}", line))
			require.Equal(t, 1, s.calls.total())
		}})
	}
	return items
}
