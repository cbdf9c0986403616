package response_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trailing are handlers with trailers, which all come to X-Sum: 1.
func trailing() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"declared": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "x-sum, X-Unset")
			say(w, "body")
			w.Header().Set("X-Sum", "1")
			w.Header().Set("X-Undeclared", "1")
		},
		"declared, map kept": func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Trailer", "X-Sum")
			say(w, "body")
			h.Set("X-Sum", "1")
		},
		"prefix, flushed": func(w http.ResponseWriter, _ *http.Request) {
			say(w, "body")
			w.(http.Flusher).Flush()
			w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
		},
		"prefix, long": func(w http.ResponseWriter, _ *http.Request) {
			say(w, strings.Repeat("body", 5000))
			w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
		},
		"prefix before the body": func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set(http.TrailerPrefix+"X-Sum", "0")
			say(w, "body")
			h.Set(http.TrailerPrefix+"X-Sum", "1")
		},
		"declared and prefix": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.Header().Set("X-Sum", "a header until the body")
			w.Header().Set(http.TrailerPrefix+"X-Undeclared", "0")
			say(w, "body")
			w.Header().Del("X-Sum")
			w.Header().Del(http.TrailerPrefix + "X-Undeclared")
			w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
		},
	}
}

// TestTrailersHTTP1 shows trailers before and after, chunked both times.
func TestTrailersHTTP1(t *testing.T) {
	t.Parallel()
	for name, handler := range trailing() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ask(t, serve(t, handler), "POST", "/", "").trailer
			require.Equal(t, []string{"1"}, want["X-Sum"], "without a recorder")
			for _, hold := range []bool{false, true} {
				tp := newTape(handler)
				tp.options.HoldBack = hold
				addr := serve(t, tp)
				for _, path := range []string{"/", "/replay"} {
					got := ask(t, addr, "POST", path, "")
					require.Equal(t, want["X-Sum"], got.trailer["X-Sum"], path)
					require.NotContains(t, got.trailer, "X-Undeclared", path)
					require.True(t, got.chunked, path)
					require.True(t, strings.HasPrefix(got.body, "body"), path)
				}
			}
		})
	}
}

// TestTrailersHTTP2 is the same over HTTP/2.
func TestTrailersHTTP2(t *testing.T) {
	t.Parallel()
	all := trailing()
	// HTTP/1 has sent a length by then.
	all["prefix, short"] = func(w http.ResponseWriter, _ *http.Request) {
		say(w, "body")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
	}
	for name, handler := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewUnstartedServer(newTape(handler))
			srv.EnableHTTP2 = true
			srv.StartTLS()
			defer srv.Close()
			for _, path := range []string{"/", "/replay"} {
				res, err := srv.Client().Post(srv.URL+path, "", nil)
				require.NoError(t, err)
				require.Equal(t, 2, res.ProtoMajor)
				body, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.True(t, strings.HasPrefix(string(body), "body"), path)
				require.Equal(t, []string{"1"}, res.Trailer["X-Sum"], path)
				require.NotContains(t, res.Trailer, "X-Undeclared", path)
			}
		})
	}
}

// TestTrailersPrivate shows that a trailer is no way around what is not recorded.
func TestTrailersPrivate(t *testing.T) {
	t.Parallel()
	tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Set-Cookie, X-Sum")
		say(w, "body")
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("X-Sum", "1")
		w.Header().Set(http.TrailerPrefix+"X-Request-Id", "1")
	})
	addr := serve(t, tp)
	got := ask(t, addr, "POST", "/", "")
	require.Equal(t, http.Header{"Set-Cookie": {"a=b"}, "X-Sum": {"1"}, "X-Request-Id": {"1"}}, got.trailer)
	got = ask(t, addr, "POST", "/replay", "")
	require.Equal(t, http.Header{"X-Sum": {"1"}}, got.trailer)
}

// TestTrailersOuter shows that those of outer middleware stay its own, whether or
// not the handler has any.
func TestTrailersOuter(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		for _, hold := range []bool{false, true} {
			tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
				if own {
					w.Header().Add("Trailer", "X-Sum")
				}
				say(w, "body")
				if own {
					w.Header().Set("X-Sum", "1")
				}
			})
			tp.options.HoldBack = hold
			addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Trailer", "X-Outer")
				w.Header().Set(http.TrailerPrefix+"X-Prefixed", r.URL.Path)
				tp.ServeHTTP(w, r)
				w.Header().Set("X-Outer", r.URL.Path)
			}))
			for _, path := range []string{"/", "/replay"} {
				want := http.Header{"X-Outer": {path}, "X-Prefixed": {path}}
				if own {
					want.Set("X-Sum", "1")
				}
				require.Equal(t, want, ask(t, addr, "POST", path, "").trailer)
			}
		}
	}
}
