package webhook_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware/webhook"
)

// TestStrangeIDs: ids and tenants of any length and of any bytes that JSON has
// are apart, also where one holds what stands between them elsewhere.
func TestStrangeIDs(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		s := e.serve(t, maker{}, webhook.Options{BindBody: true}, count(&runs, always(http.StatusOK)))
		long := strings.Repeat("x", 64<<10)
		ids := []string{long, long[1:], "a:b", "a", "b", `\u0000`, `\n`, "é", "*"}
		tenants := []string{"", ":", "a", "a:a", long}
		for _, replayed := range []bool{false, true} {
			for _, id := range ids {
				for _, tenant := range tenants {
					got := s.deliver(t, fmt.Sprintf(`{"id":"%s","tenant":"%s"}`, id, tenant))
					require.Equal(t, http.StatusOK, got.status)
					require.Equal(t, replayed, got.replayed())
				}
			}
		}
		require.EqualValues(t, len(ids)*len(tenants), runs.Load())
	})
}

// ask sends text over a connection of its own and returns the answer's first line.
func ask(t *testing.T, s site, text string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	return line
}

// TestBodiesThatDoNotCome: one that is too large is not asked for, and one that
// ends early is not verified, even where what has come would be genuine.
func TestBodiesThatDoNotCome(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{}, webhook.Options{MaxBody: 100}, webhook.Handle(nothing))
	head := "POST / HTTP/1.1\r\nHost: x\r\nMaker-Signature: " + signature([]byte(evt1)) + "\r\n"
	require.Contains(t, ask(t, s, head+"Content-Length: 101\r\nExpect: 100-continue\r\n\r\n"), " 413 ")
	require.Contains(t, ask(t, s, head+"Content-Length: 50\r\n\r\n"+evt1), " 400 ")
	require.Contains(t, ask(t, s, head+fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(evt1), evt1)), " 400 ")
	require.Zero(t, e.keys(t))
	require.Contains(t, ask(t, s, head+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(evt1), evt1)), " 200 ")
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := site{Server: httptest.NewUnstartedServer(webhook.Once(e.guard, "x", maker{}, webhook.Options{MaxBody: 100})(webhook.Handle(nothing)))}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	require.Equal(t, http.StatusRequestEntityTooLarge, s.deliver(t, strings.Repeat("x", 101)).status)
	require.Equal(t, http.StatusOK, s.deliver(t, evt1).status)
	require.True(t, s.deliver(t, evt1).replayed())
}

// verify is a Verifier of one function.
type verify func() webhook.Delivery

func (verify) Provider() string { return "maker" }

func (v verify) Verify(context.Context, http.Header, []byte) (webhook.Delivery, error) {
	return v(), nil
}

// TestVerifierMistakes: a verifier that panics, or says two things at once,
// leads to no claim and no run.
func TestVerifierMistakes(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	site := func(v verify) site {
		return newSite(t, webhook.Once(e.guard, "x", v, webhook.Options{})(webhook.Handle(func(context.Context, webhook.Event) error {
			t.Error("it ran")
			return nil
		})))
	}
	_, err := site(func() webhook.Delivery { panic(http.ErrAbortHandler) }).trySend(t.Context(), evt1, "")
	require.Error(t, err)
	contradiction := webhook.Delivery{Passthrough: true, Events: []webhook.Event{{ID: "1"}}}
	require.Equal(t, http.StatusBadRequest, site(func() webhook.Delivery { return contradiction }).deliver(t, evt1).status)
	require.Zero(t, e.keys(t))
}

// TestSharedDelivery: what a verifier returns stays its own.
func TestSharedDelivery(t *testing.T) {
	t.Parallel()
	d := webhook.Delivery{Events: []webhook.Event{{ID: "1", Body: []byte("{}")}}}
	e := inMemory(t, idempotency.Options{})
	h := webhook.Once(e.guard, "x", verify(func() webhook.Delivery { return d }), webhook.Options{})(webhook.Handle(nothing))
	require.Equal(t, http.StatusOK, newSite(t, h).deliver(t, evt1).status)
	require.Equal(t, []webhook.Event{{ID: "1", Body: []byte("{}")}}, d.Events)
}
