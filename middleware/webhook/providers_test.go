package webhook_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/hmachook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
	"github.com/semel-go/semel/middleware/webhook/standardhook"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// provider is one whose deliveries go through Once.
type provider struct {
	verifier webhook.Verifier
	// sign signs a body as of a time: the same event, another delivery.
	sign func(r *http.Request, body []byte, at time.Time)
	// prepare makes a published body one that sign does not change; nil: it is.
	prepare func(body []byte) []byte
	// bodies are events of it, by a name.
	bodies map[string][]byte
}

// providers returns all of them, with our own bodies, and with published ones
// where there are any.
func providers(t *testing.T) map[string]provider {
	t.Helper()
	all := map[string]provider{}
	add := func(p provider, err error) {
		require.NoError(t, err)
		all[p.verifier.Provider()] = p
	}

	stripe, err := stripehook.New(webhook.Secrets{"whsec_old", "whsec_test"}, stripehook.Options{})
	add(provider{
		verifier: stripe,
		sign: func(r *http.Request, body []byte, at time.Time) {
			webhooktest.Stripe("whsec_test").At(at).Sign(r, body)
		},
		bodies: map[string][]byte{
			"paid": []byte(`{"id":"evt_9","object":"event","type":"invoice.paid","created":1,"data":{"object":{"id":"in_9"}}}`),
		},
	}, err)

	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	standard, err := standardhook.New(webhook.Secrets{secret}, standardhook.Options{})
	add(provider{
		verifier: standard,
		sign: func(r *http.Request, body []byte, at time.Time) {
			webhooktest.Standard(secret).At(at).Sign(r, body)
		},
		bodies: map[string][]byte{"user": []byte(`{"type":"user.created"}`), "no json": []byte("a=1&b=2")},
	}, err)

	own, err := hmachook.New("orders", webhook.Secrets{"three plain words"}, hmachook.Options{
		Header: "X-Signature", Content: "{timestamp}.{body}", TimestampHeader: "X-Time", IDField: "id", TypeField: "type",
	})
	add(provider{
		verifier: own,
		sign: func(r *http.Request, body []byte, at time.Time) {
			webhooktest.HMAC("three plain words", webhooktest.HMACOptions{
				Header: "X-Signature", TimestampHeader: "X-Time",
				Content: func(timestamp, _ string, body []byte) []byte { return append([]byte(timestamp+"."), body...) },
			}).At(at).Sign(r, body)
		},
		bodies: map[string][]byte{"order": []byte(`{"id":"o-1","type":"order.placed"}`)},
	}, err)

	paypal := webhooktest.NewPayPal(t)
	pay, err := paypalhook.New(paypal.WebhookID(), paypal.Options())
	add(provider{
		verifier: pay,
		sign: func(r *http.Request, body []byte, at time.Time) {
			paypal.At(at).Sign(r, body)
		},
		bodies: map[string][]byte{
			"capture": []byte(`{"id":"WH-9","event_type":"PAYMENT.CAPTURE.COMPLETED","resource":{"id":"9"}}`),
		},
	}, err)

	for _, of := range []func() (provider, error){
		githubProvider, shopifyProvider, slackProvider, squareProvider, paddleProvider, adyenProvider,
	} {
		add(of())
	}
	return all
}

// deliverTo sends a delivery of a body to a handler and returns the answer.
func (p provider) deliverTo(h http.Handler, path string, body []byte, at time.Time) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, nil)
	p.sign(r, body, at)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestProviders takes every body of every provider through Once, on chi and on
// ServeMux: the handler sees the bytes and the event, a second delivery is
// replayed, ten at once run once, and two endpoints both run.
func TestProviders(t *testing.T) {
	all := providers(t)
	for name, p := range all {
		for file, body := range published(t, name) {
			if p.prepare != nil {
				body = p.prepare(body)
			}
			p.bodies[file] = body
		}
	}
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		for name, p := range all {
			for file, body := range p.bodies {
				var runs atomic.Int64
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					got, err := io.ReadAll(r.Body)
					ev, ok := webhook.EventFrom(r.Context())
					if err != nil || !ok || string(got) != string(body) || ev.ID == "" || ev.Provider != name {
						w.WriteHeader(http.StatusTeapot)
						return
					}
					runs.Add(1)
					_, _ = io.WriteString(w, ev.ID)
				})
				first := name + "/" + file // each body has endpoints of its own
				r := chi.NewRouter()
				r.With(webhook.Once(e.guard, first, p.verifier, webhook.Options{})).Method(http.MethodPost, "/a", h)
				mux := http.NewServeMux()
				mux.Handle("POST /b", webhook.Once(e.guard, first+"/2", p.verifier, webhook.Options{Wait: time.Minute})(h))

				now := time.Now()
				ran := p.deliverTo(r, "/a", body, now)
				require.Equal(t, http.StatusOK, ran.Code, first)
				again := p.deliverTo(r, "/a", body, now.Add(-time.Minute))
				require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"), first)
				require.Equal(t, ran.Body.String(), again.Body.String(), first)
				require.EqualValues(t, 1, runs.Load(), first)

				var together sync.WaitGroup
				for i := range 10 {
					together.Go(func() {
						if w := p.deliverTo(mux, "/b", body, now.Add(time.Duration(-i)*time.Second)); w.Code != http.StatusOK {
							t.Errorf("%s: %d", first, w.Code)
						}
					})
				}
				together.Wait()
				require.EqualValues(t, 2, runs.Load(), first)
			}
		}
	})
}

// published returns the published bodies of a provider, none where they are not
// there and need not be.
func published(t *testing.T, name string) map[string][]byte {
	t.Helper()
	bodies := map[string][]byte{}
	if !slices.Contains([]string{"stripe", "paypal", "github", "shopify", "square", "paddle", "adyen"}, name) {
		return bodies
	}
	t.Run("published "+name, func(t *testing.T) {
		bodies = vectors.Payloads(t, name)
		require.NotEmpty(t, bodies)
	})
	return bodies
}
