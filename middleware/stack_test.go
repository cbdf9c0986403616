package middleware_test

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

// wrapper is middleware.
type wrapper = func(http.Handler) http.Handler

// stack serves a handler in Idempotency, with other middleware around both and
// between them.
func (e env) stack(t *testing.T, around, between wrapper, handler http.HandlerFunc) *server {
	t.Helper()
	once := semelhttp.Idempotency(e.guard(t, idempotency.Options{}), semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})
	if around == nil {
		around = func(h http.Handler) http.Handler { return h }
	}
	if between == nil {
		between = func(h http.Handler) http.Handler { return h }
	}
	return serve(t, around(once(between(handler))))
}

// One operation arrives at once at several processes, each of which has it
// mounted in its own way, as in the middle of a deployment.
func TestKeyIsOneHoweverItsRouteIsMounted(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		pay := func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprint(w, "payment ", calls.next())
		}
		chain := func(build func(r chi.Router, once wrapper)) func(wrapper) http.Handler {
			return func(once wrapper) http.Handler {
				r := chi.NewRouter()
				build(r, once)
				return r
			}
		}
		mounts := map[string]func(once wrapper) http.Handler{
			"Use":  chain(func(r chi.Router, once wrapper) { r.Use(once); r.Post("/v1/shops/{shop}/pay", pay) }),
			"With": chain(func(r chi.Router, once wrapper) { r.With(once).Post("/v1/*", pay) }),
			"Group": chain(func(r chi.Router, once wrapper) {
				r.Group(func(r chi.Router) { r.Use(once); r.Post("/{v}/shops/7/pay", pay) })
			}),
			"Route": chain(func(r chi.Router, once wrapper) {
				r.Route("/v1/shops", func(r chi.Router) { r.Use(once); r.Post("/{shop}/pay", pay) })
			}),
			"Mount": chain(func(r chi.Router, once wrapper) {
				sub := chi.NewRouter()
				sub.With(once).Post("/{shop}/pay", pay)
				r.Mount("/v1/shops", sub)
			}),
			"ServeMux": func(once wrapper) http.Handler {
				mux := http.NewServeMux()
				mux.Handle("POST /v1/shops/{shop}/pay", once(http.HandlerFunc(pay)))
				return mux
			},
			"ServeMux, outside": func(once wrapper) http.Handler {
				mux := http.NewServeMux()
				mux.HandleFunc("/v1/", pay)
				return once(mux)
			},
			"StripPrefix, twice": func(once wrapper) http.Handler {
				return http.StripPrefix("/v1", http.StripPrefix("/shops", once(http.HandlerFunc(pay))))
			},
			"StripPrefix, around and within": func(once wrapper) http.Handler {
				return http.StripPrefix("/v1", once(http.StripPrefix("/shops", http.HandlerFunc(pay))))
			},
		}
		type reply struct {
			mount string
			answer
			err error
		}
		replies := make(chan reply, len(mounts))
		for name, mount := range mounts {
			guard := env.guard(t, idempotency.Options{Wait: time.Minute}) // each process has its own
			s := serve(t, mount(semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})))
			go func() {
				a, err := s.try(s.request(http.MethodPost, "/v1/shops/7/pay?a=1", "moving", strings.NewReader("{}")))
				replies <- reply{name, a, err}
			}()
		}
		replays := 0
		for range mounts {
			r := <-replies
			require.NoError(t, r.err, r.mount)
			require.Equal(t, http.StatusCreated, r.status, r.mount)
			require.Equal(t, "payment 1", r.body, r.mount)
			if r.replayed() {
				replays++
			}
		}
		require.Equal(t, len(mounts)-1, replays)
		require.Equal(t, 1, calls.total())
	})
}

// decoded returns the body of an answer without its coding, which must be want.
func decoded(t *testing.T, a answer, want string) string {
	t.Helper()
	require.Equal(t, want, a.header.Get("Content-Encoding"))
	var in io.Reader = strings.NewReader(a.body)
	switch want {
	case "gzip":
		z, err := gzip.NewReader(in)
		require.NoError(t, err)
		in = z
	case "deflate":
		in = flate.NewReader(in) // chi sends it without the format of zlib
	}
	body, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(body)
}

func TestCompression(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("all of this is text. ", 500)
	handler := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("ETag", `"v1"`)
		_, _ = io.Copy(w, strings.NewReader(text))
	}
	compress := chimw.Compress(5)
	outside := inMemory(t).stack(t, compress, nil, handler)
	inside := inMemory(t).stack(t, nil, compress, handler)
	for _, first := range []string{"gzip", "deflate", "identity"} {
		for _, again := range []string{"gzip", "deflate", "identity", "br, gzip;q=0.5", "*"} {
			coding := func(accepted string) string {
				switch accepted {
				case "identity", "*": // chi does not know the star
					return ""
				case "gzip", "deflate":
					return accepted
				}
				return "gzip"
			}
			key := strings.ReplaceAll(first+"/"+again, " ", "")
			original := outside.post("/", key, "", "Accept-Encoding", first)
			require.Equal(t, text, decoded(t, original, coding(first)), key)
			replay := outside.post("/", key, "", "Accept-Encoding", again)
			require.True(t, replay.replayed(), key)
			require.Equal(t, text, decoded(t, replay, coding(again)), "each in the coding of its own: %s", key)

			original = inside.post("/", key, "", "Accept-Encoding", first)
			require.Equal(t, text, decoded(t, original, coding(first)), key)
			replay = inside.post("/", key, "", "Accept-Encoding", again)
			require.True(t, replay.replayed(), key)
			if first == "identity" || first == again || again == "*" || first == "gzip" && again == "br, gzip;q=0.5" {
				require.Equal(t, original.body, replay.body, "byte for byte: %s", key)
				require.Equal(t, original.header["Content-Encoding"], replay.header["Content-Encoding"], key)
				require.Equal(t, `"v1"`, replay.header.Get("ETag"), key)
			} else {
				require.Equal(t, text, decoded(t, replay, ""), key)
				require.Equal(t, `W/"v1"`, replay.header.Get("ETag"), "other bytes: %s", key)
			}
			require.Equal(t, original.header["Vary"], replay.header["Vary"], key)
		}
	}
	// Who accepts no coding at all, not even none, is told so, and nothing runs.
	require.Equal(t, http.StatusOK, inside.post("/", "none", "", "Accept-Encoding", "gzip").status)
	a := inside.post("/", "none", "", "Accept-Encoding", "br, identity;q=0")
	require.Equal(t, http.StatusNotAcceptable, a.status)
	require.Equal(t, semelhttp.CodeEncodingNotAcceptable, a.code(t))
}

// What belongs to one exchange is set outside, and a replay has its own.
func TestHeadersOfOuterMiddlewareAreTheRetrysOwn(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var requests counter
		outer := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := fmt.Sprint(requests.next())
				h := w.Header()
				h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
				h.Add("Vary", "Origin")
				if r.Method == http.MethodOptions {
					h.Set("Access-Control-Allow-Headers", "Idempotency-Key")
					w.WriteHeader(http.StatusNoContent)
					return
				}
				h.Set("X-Request-Id", n)
				h.Set("X-My-Id", n) // a name that nobody knows
				h.Set("Content-Security-Policy", "script-src 'nonce-"+n+"'")
				h.Add("Set-Cookie", "session="+n)
				next.ServeHTTP(w, r)
			})
		}
		s := env.stack(t, outer, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", "basket=secret")
			w.Header().Add("Vary", "Accept")
			w.Header().Set("WWW-Authenticate", "secret")
			w.Header().Set("Access-Control-Expose-Headers", "Location")
			w.Header().Set("Location", "/payments/1")
			w.WriteHeader(http.StatusCreated)
		})
		preflight := s.request(http.MethodOptions, "/", "", nil)
		preflight.Header.Set("Origin", "https://a.example")
		require.Equal(t, http.StatusNoContent, s.do(preflight).status)

		first := s.post("/", "k", "", "Origin", "https://a.example")
		require.Equal(t, http.StatusCreated, first.status)
		require.Equal(t, []string{"session=2", "basket=secret"}, first.header["Set-Cookie"])
		again := s.post("/", "k", "", "Origin", "https://b.example")
		require.True(t, again.replayed())
		require.Equal(t, http.Header{
			"Access-Control-Allow-Origin": {"https://b.example"},
			"Content-Length":              {"0"},
			"Content-Security-Policy":     {"script-src 'nonce-3'"},
			"Date":                        again.header["Date"],
			"Idempotent-Replayed":         {"true"},
			"Location":                    {"/payments/1"},
			"Set-Cookie":                  {"session=3"},
			"Vary":                        {"Origin", "Accept"},
			"X-My-Id":                     {"3"},
			"X-Request-Id":                {"3"},
		}, again.header)
		// So is a refusal readable from another origin.
		refused := s.post("/", "k", "other", "Origin", "https://c.example")
		require.Equal(t, semelhttp.CodeKeyMismatch, refused.code(t))
		require.Equal(t, "https://c.example", refused.header.Get("Access-Control-Allow-Origin"))
	})
}

// deadline is a context whose time is over when a test says so.
type deadline struct {
	context.Context
	over chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.over }

func (d deadline) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// timeouts ends the time of the requests that it passes on: never by itself,
// and that of the first when over is closed.
func timeouts(over chan struct{}) wrapper {
	return func(next http.Handler) http.Handler {
		var requests counter
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests.next() == 1 {
				r = r.WithContext(deadline{r.Context(), over})
			}
			next.ServeHTTP(w, r)
		})
	}
}

// timeoutHandler is net/http's.
func timeoutHandler(h http.Handler) http.Handler {
	return http.TimeoutHandler(h, time.Hour, "too late")
}

func TestTimeoutHandlerOutside(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		over, told, done := make(chan struct{}), make(chan struct{}), make(chan struct{}, 9)
		around := func(once http.Handler) http.Handler {
			return timeouts(over)(timeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { done <- struct{}{} }()
				once.ServeHTTP(w, r)
			})))
		}
		s := env.stack(t, around, nil, func(w http.ResponseWriter, _ *http.Request) {
			n := calls.next()
			close(over)
			<-told // the client has its 503, and this goes on
			w.WriteHeader(http.StatusCreated)
			_, err := fmt.Fprint(w, "payment ", n)
			if err != nil {
				panic(err)
			}
		})
		a := s.post("/", "k", "")
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Equal(t, "too late", a.body)
		require.Equal(t, semelhttp.CodeInProgress, s.post("/", "k", "").code(t))
		<-done
		close(told)
		<-done
		a = s.post("/", "k", "")
		require.Equal(t, http.StatusCreated, a.status)
		require.Equal(t, "payment 1", a.body)
		require.True(t, a.replayed())
		require.Equal(t, 1, calls.total())
	})
}

// The documented mistake: the handler of which the timeout lost sight is still
// at work when the retry runs.
func TestTimeoutHandlerInsideRunsTwice(t *testing.T) {
	t.Parallel()
	var calls counter
	over, again, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := inMemory(t).stack(t, timeouts(over), timeoutHandler, func(w http.ResponseWriter, _ *http.Request) {
		if n := calls.next(); n > 1 {
			_, _ = fmt.Fprint(w, "payment ", n)
			return
		}
		defer close(ended)
		close(over)
		<-again
	})
	require.Equal(t, http.StatusServiceUnavailable, s.post("/", "k", "").status)
	a := s.post("/", "k", "")
	require.Equal(t, "payment 2", a.body, "while the first still runs")
	require.False(t, a.replayed())
	close(again)
	<-ended
}

// proxyTo returns a reverse proxy to a server.
func proxyTo(t *testing.T, s *server) *httputil.ReverseProxy {
	t.Helper()
	target, err := url.Parse(s.URL)
	require.NoError(t, err)
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: s.Client().Transport,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
}

func TestReverseProxyAsTheHandler(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		origin := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := calls.next()
			if r.URL.Path == "/breaks" && n == 1 {
				_, _ = io.WriteString(w, strings.Repeat("half", 2000))
				panic(http.ErrAbortHandler)
			}
			body, _ := io.ReadAll(r.Body)
			w.Header()["X-Two"] = []string{"a", "b, c"}
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, "payment %d: %s", n, body)
		}))
		s := env.stack(t, nil, nil, proxyTo(t, origin).ServeHTTP).fresh()
		_, err := s.try(s.request(http.MethodPost, "/breaks", "a", nil))
		require.Error(t, err)
		first := s.post("/breaks", "a", "")
		require.Equal(t, "payment 2: ", first.body, "half an answer is none")
		requireReplay(t, first, s.post("/breaks", "a", ""))

		first = s.post("/", "b", "body")
		require.Equal(t, "payment 3: body", first.body)
		require.Equal(t, []string{"a", "b, c"}, first.header["X-Two"])
		requireReplay(t, first, s.post("/", "b", "body"))
		require.Equal(t, 3, calls.total())

		origin.Close()
		require.Equal(t, http.StatusBadGateway, s.post("/", "c", "").status)
		require.False(t, s.post("/", "c", "").replayed(), "nothing has run")
	})
}
