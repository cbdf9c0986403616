package paypalhook_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// tlsFor returns the TLS configuration of a server that calls itself name.
func tlsFor(t *testing.T, c ca, name string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	cert, _ := c.issue(t, x509.Certificate{DNSNames: []string{name}}, key.Public())
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
}

// served returns the default Fetch, whose connections go to a server of TLS with
// the handler, wherever they were meant for.
func served(t *testing.T, with func(*tls.Config), handler http.HandlerFunc) fetch {
	t.Helper()
	c := newCA(t)
	s := httptest.NewUnstartedServer(handler)
	s.TLS = tlsFor(t, c, "api.paypal.com")
	if with != nil {
		with(s.TLS)
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return paypalhook.DefaultFetch(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}, c.pool)
}

// asPayPal answers as PayPal's server does.
func asPayPal(p *webhooktest.PayPal) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		file, err := p.Options().Fetch(r.Context(), "https://"+r.Host+r.URL.Path)
		if err == nil {
			_, _ = w.Write(file)
		}
	}
}

// TestDefaultFetch: what comes of each answer of a server.
func TestDefaultFetch(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t).At(now)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			asPayPal(p)(w, r) // a good certificate all the same
		}
	}
	redirect := func(code int, to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, code) }
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		p       *webhooktest.PayPal
		want    error
	}{
		"good":            {asPayPal(p), p, nil},
		"wrong name":      {asPayPal(p), p.WrongName(), webhook.ErrRefused},
		"wrong root":      {asPayPal(p), p.WrongRoot(), webhook.ErrRefused},
		"expired":         {asPayPal(p), p.Expired(), webhook.ErrRefused},
		"page":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, p, webhook.ErrRefused},
		"nothing":         {func(http.ResponseWriter, *http.Request) {}, p, webhook.ErrRefused},
		"moved":           {redirect(301, "/v1/notifications/certs/CERT-2"), p, webhook.ErrRefused},
		"found":           {redirect(302, "https://evil.example/"), p, webhook.ErrRefused},
		"see other":       {redirect(303, "http://169.254.169.254/"), p, webhook.ErrRefused},
		"temporary":       {redirect(307, "/"), p, webhook.ErrRefused},
		"bad request":     {status(400), p, webhook.ErrRefused},
		"not found":       {status(404), p, webhook.ErrRefused},
		"gone":            {status(410), p, webhook.ErrRefused},
		"forbidden":       {status(403), p, webhook.ErrUnavailable},
		"too many":        {status(429), p, webhook.ErrUnavailable},
		"no content":      {status(204), p, webhook.ErrUnavailable},
		"internal":        {status(500), p, webhook.ErrUnavailable},
		"unavailable":     {status(503), p, webhook.ErrUnavailable},
		"connection lost": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, p, webhook.ErrUnavailable},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "-----BEGIN CERTIFICATE-----\n")
		}, p, webhook.ErrUnavailable},
		"long header": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", string(bytes.Repeat([]byte("x"), 32<<10)))
			asPayPal(p)(w, r)
		}, p, webhook.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			v := via(t, p, served(t, nil, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				require.Equal(t, "api.paypal.com", r.Host)
				require.Equal(t, "api.paypal.com", r.TLS.ServerName)
				require.Equal(t, http.MethodGet, r.Method)
				require.True(t, r.Close, "no connection is kept")
				tc.handler(w, r)
			}), clock)
			_, err := v.Verify(t.Context(), sign(tc.p, body), []byte(body))
			if tc.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, tc.want)
			}
			require.EqualValues(t, 1, asked.Load(), "one request, followed by none")
		})
	}
}

// TestHuge: what is too large is not read to its end.
func TestHuge(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t).At(now)
	sent := make(chan int, 1)
	v := via(t, p, served(t, nil, func(w http.ResponseWriter, r *http.Request) {
		asPayPal(p)(w, r)
		n, line := 0, bytes.Repeat([]byte("\n"), 64<<10)
		for n < 1<<30 {
			if _, err := w.Write(line); err != nil {
				break
			}
			n += len(line)
		}
		sent <- n
	}), clock)
	_, err := v.Verify(t.Context(), sign(p, body), []byte(body))
	require.Equal(t, webhook.NoMatch, reason(err))
	require.ErrorContains(t, err, "larger than")
	require.Less(t, <-sent, 1<<30)
}

// TestWrongServer: only a server that proves to be PayPal's is asked.
func TestWrongServer(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t).At(now)
	for name, with := range map[string]func(*tls.Config){
		"another name": func(c *tls.Config) { c.Certificates = tlsFor(t, newCA(t), "api.paypal.com").Certificates },
		"old TLS":      func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 },
	} {
		var asked atomic.Int64
		f := served(t, with, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
		_, err := via(t, p, f, clock).Verify(t.Context(), sign(p, body), []byte(body))
		require.ErrorIs(t, err, webhook.ErrUnavailable, name)
		require.Zero(t, asked.Load(), name)
	}
}

// TestNoProxy: a proxy in the environment, which other software there may need,
// does not see what is fetched. It is not parallel: it sets the environment.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	t.Setenv("https_proxy", "http://proxy.example:3128")
	p := webhooktest.NewPayPal(t).At(now)
	v := via(t, p, served(t, nil, asPayPal(p)), clock)
	_, err := v.Verify(t.Context(), sign(p, body), []byte(body))
	require.NoError(t, err)
}

// pipes is a listener without a network: what it accepts was dialled here.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// TestSlow: a server that takes longer than 5 s, wherever it dawdles, is given up.
func TestSlow(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t)
	for name, handler := range map[string]http.HandlerFunc{
		"headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"body": func(w http.ResponseWriter, r *http.Request) {
			for {
				_, err := io.WriteString(w, "-----BEGIN CERTIFICATE-----\n")
				if err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Second):
				}
			}
		},
		"handshake": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			c, l := newCA(t), make(pipes)
			server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: tlsFor(t, c, "api.paypal.com")}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if handler == nil {
					conn, err := l.Accept()
					if err == nil {
						_, _ = io.Copy(io.Discard, conn) // listens, and says nothing
					}
					return
				}
				_ = server.ServeTLS(l, "", "")
			}()
			v := via(t, p, paypalhook.DefaultFetch(l.dial, c.pool), nil)
			start := time.Now()
			_, err := v.Verify(t.Context(), sign(p, body), []byte(body))
			require.ErrorIs(t, err, webhook.ErrUnavailable, name)
			require.Equal(t, 5*time.Second, time.Since(start), name)
			if handler != nil {
				require.NoError(t, server.Close())
			}
			<-done
		})
	}
}
