package paypalhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// fetch is a Fetch that tests steer.
type fetch func(ctx context.Context, url string) ([]byte, error)

// via returns a Verifier of what p signs that fetches through f, by a clock that
// the test sets, or by the real one if it is nil.
func via(t *testing.T, p *webhooktest.PayPal, f fetch, clock func() time.Time) *paypalhook.Verifier {
	t.Helper()
	return open(t, p, func(o *paypalhook.Options) { o.Fetch, o.Now = f, clock })
}

// serving returns a Fetch that has p's certificate at every URL, and counts.
func serving(p *webhooktest.PayPal) (fetch, *atomic.Int64) {
	var count atomic.Int64
	genuine, url := p.Options().Fetch, sign(p, body).Get("Paypal-Cert-Url")
	return func(ctx context.Context, _ string) ([]byte, error) {
		count.Add(1)
		return genuine(ctx, url)
	}, &count
}

// TestOneFetch: 10,000 deliveries need one fetch. They come from 2,500 goroutines,
// since the race detector has room for 8,128.
func TestOneFetch(t *testing.T) {
	t.Parallel()
	const goroutines, each = 2500, 4
	p := webhooktest.NewPayPal(t).At(now)
	file, count := serving(p)
	started, all := make(chan struct{}), make(chan struct{})
	v := via(t, p, func(ctx context.Context, url string) ([]byte, error) {
		close(started)
		<-all
		return file(ctx, url)
	}, clock)
	h := sign(p, body)
	var arrived, running sync.WaitGroup
	var failed atomic.Int64
	arrived.Add(goroutines)
	for range goroutines {
		running.Go(func() {
			arrived.Done()
			for range each {
				if d, err := v.Verify(t.Context(), h, []byte(body)); err != nil || len(d.Events) != 1 {
					failed.Add(1)
				}
			}
		})
	}
	arrived.Wait()
	<-started
	for range 100 { // most of them are waiting by then, and it does not matter if not
		runtime.Gosched()
	}
	close(all)
	running.Wait()
	require.Zero(t, failed.Load())
	require.EqualValues(t, 1, count.Load())
}

// TestWaiters: the end of one delivery's context ends its wait and nobody else's,
// also if it is the one that came first.
func TestWaiters(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t)
	synctest.Test(t, func(t *testing.T) {
		file, count := serving(p)
		v := via(t, p, func(ctx context.Context, url string) ([]byte, error) {
			select {
			case <-time.After(time.Second):
				return file(ctx, url)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, nil)
		h := sign(p, body)
		leave, cancel := context.WithCancel(t.Context())
		errs := make([]error, 3)
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = v.Verify(leave, h, []byte(body)) })
		synctest.Wait()
		for i := range 2 {
			wg.Go(func() { _, errs[1+i] = v.Verify(t.Context(), h, []byte(body)) })
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.ErrorIs(t, errs[0], webhook.ErrUnavailable)
		require.ErrorIs(t, errs[0], context.Canceled)
		wg.Wait()
		require.NoError(t, errs[1])
		require.NoError(t, errs[2])
		require.EqualValues(t, 1, count.Load())
	})
}

// TestOverdue: a Fetch that does not heed its context keeps nobody waiting, and
// is not called again meanwhile.
func TestOverdue(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t)
	synctest.Test(t, func(t *testing.T) {
		file, count := serving(p)
		v := via(t, p, func(_ context.Context, url string) ([]byte, error) {
			time.Sleep(time.Minute)
			return file(context.Background(), url)
		}, nil)
		h, start := sign(p, body), time.Now()
		for range 3 {
			_, err := v.Verify(t.Context(), h, []byte(body))
			require.ErrorIs(t, err, webhook.ErrUnavailable)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 5*time.Second, time.Since(start))
		}
		time.Sleep(time.Minute)
		_, err := v.Verify(t.Context(), h, []byte(body))
		require.NoError(t, err, "what came late is kept")
		require.EqualValues(t, 1, count.Load())
	})
}

// TestFailures: what failed is not tried again for 5 s, and then is.
func TestFailures(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t)
	for name, tc := range map[string]struct {
		fail fetch
		want error
	}{
		"unreachable": {always("", errors.New("no route")), webhook.ErrUnavailable},
		"refused":     {always("", webhook.Refuse(webhook.NoMatch, errors.New("gone"))), webhook.ErrRefused},
		"page":        {always("<html>", nil), webhook.ErrRefused},
		"panic":       {func(context.Context, string) ([]byte, error) { panic("oh") }, webhook.ErrUnavailable},
		"exit":        {func(context.Context, string) ([]byte, error) { runtime.Goexit(); return nil, nil }, webhook.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			file, _ := serving(p)
			var count atomic.Int64
			v := via(t, p, func(ctx context.Context, url string) ([]byte, error) {
				if count.Add(1) <= 2 {
					return tc.fail(ctx, url)
				}
				return file(ctx, url)
			}, nil)
			h := sign(p, body)
			for round := range 2 {
				for range 3 {
					_, err := v.Verify(t.Context(), h, []byte(body))
					require.ErrorIs(t, err, tc.want, name)
					require.Equal(t, tc.want == webhook.ErrUnavailable, errors.Is(err, webhook.ErrUnavailable), "one or the other")
					require.EqualValues(t, round+1, count.Load(), name)
					time.Sleep(time.Second)
				}
				time.Sleep(2*time.Second - time.Nanosecond)
				_, err := v.Verify(t.Context(), h, []byte(body))
				require.ErrorIs(t, err, tc.want, name)
				require.EqualValues(t, round+1, count.Load(), name)
				time.Sleep(time.Nanosecond)
			}
			_, err := v.Verify(t.Context(), h, []byte(body))
			require.NoError(t, err, name)
			require.EqualValues(t, 3, count.Load(), name)
		})
	}
}

// TestClockSetBack: a failure, or a key, does not outlast its time because the
// clock was set back.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t).At(now)
	file, _ := serving(p)
	at, count := now, 0
	v := via(t, p, func(ctx context.Context, url string) ([]byte, error) {
		if count++; count == 1 {
			return nil, errors.New("no route")
		}
		return file(ctx, url)
	}, func() time.Time { return at })
	_, err := v.Verify(t.Context(), sign(p, body), []byte(body))
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	at = now.Add(-time.Second)
	_, err = v.Verify(t.Context(), sign(p, body), []byte(body))
	require.NoError(t, err)
	at = now.AddDate(-100, 0, 0)
	_, err = v.Verify(t.Context(), sign(p, body), []byte(body))
	require.Equal(t, webhook.NoMatch, reason(err), "the certificate is not valid yet")
	require.Equal(t, 3, count)
}

// TestCertificateEnds: a key is used until its certificate ends, and then asked
// for again.
func TestCertificateEnds(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t)
	file, count := serving(p)
	at := now
	v := via(t, p, file, func() time.Time { return at })
	verify := func() error {
		_, err := v.Verify(t.Context(), sign(p.At(at), body), []byte(body))
		return err
	}
	require.NoError(t, verify())
	at = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(t, verify())
	require.EqualValues(t, 1, count.Load())
	at = at.Add(time.Second)
	require.Equal(t, webhook.NoMatch, reason(verify()))
	require.EqualValues(t, 2, count.Load())
}

// TestKeysAreBounded: the key that was not used for longest makes room.
func TestKeysAreBounded(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t).At(now)
	file, count := serving(p)
	v := via(t, p, file, clock)
	h := sign(p, body)
	verify := func(n int) int64 {
		before := count.Load()
		_, err := v.Verify(t.Context(), with(h, "Paypal-Cert-Url", fmt.Sprint(certs, "CERT-", n)), []byte(body))
		require.NoError(t, err)
		return count.Load() - before
	}
	for n := range 16 {
		require.EqualValues(t, 1, verify(n))
	}
	require.Zero(t, verify(0))
	require.EqualValues(t, 1, verify(16))
	require.Zero(t, verify(0), "it was used")
	require.EqualValues(t, 1, verify(1), "it was not")
	keys, _, _ := v.Held()
	require.Equal(t, 16, keys)
}

// TestFlood: bad URLs take a bounded room, and none from good keys.
func TestFlood(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	h := sign(p, body)
	verify := func(h http.Header) error {
		_, err := v.Verify(t.Context(), h, []byte(body))
		return err
	}
	require.NoError(t, verify(h))
	for n := range 1000 {
		require.Equal(t, webhook.NoMatch, reason(verify(with(h, "Paypal-Cert-Url", fmt.Sprint(certs, n)))))
	}
	keys, failures, flights := v.Held()
	require.Equal(t, [3]int{1, 64, 0}, [3]int{keys, failures, flights})
	before := p.Fetches()
	require.NoError(t, verify(h))
	require.Equal(t, before, p.Fetches())
}

// TestFetchesAreBounded: 16 at once; who comes then is told to come again.
func TestFetchesAreBounded(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t)
	synctest.Test(t, func(t *testing.T) {
		file, count := serving(p)
		v := via(t, p, func(ctx context.Context, url string) ([]byte, error) {
			time.Sleep(time.Second)
			return file(ctx, url)
		}, nil)
		h := sign(p, body)
		errs := make([]error, 17)
		var wg sync.WaitGroup
		for n := range errs {
			wg.Go(func() {
				_, errs[n] = v.Verify(t.Context(), with(h, "Paypal-Cert-Url", fmt.Sprint(certs, n)), []byte(body))
			})
			synctest.Wait()
		}
		require.ErrorIs(t, errs[16], webhook.ErrUnavailable)
		require.ErrorContains(t, errs[16], "too many")
		wg.Wait()
		for _, err := range errs[:16] {
			require.NoError(t, err)
		}
		require.EqualValues(t, 16, count.Load())
		_, err := v.Verify(t.Context(), with(h, "Paypal-Cert-Url", certs+"16"), []byte(body))
		require.NoError(t, err, "that it was too many is not held against the URL")
	})
}
