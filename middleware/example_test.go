package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
	semelhttp "github.com/semel-go/semel/middleware"
)

// A payment is made once, however often its request is sent.
func ExampleIdempotency() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = store.Close() }()
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = guard.Close(context.Background()) }()

	tenantOf := func(r *http.Request) (string, error) {
		tenant, _, ok := r.BasicAuth()
		if !ok {
			return "", semelhttp.ErrNoPrincipal
		}
		return tenant, nil
	}
	payments := 0
	pay := func(w http.ResponseWriter, _ *http.Request) {
		payments++
		w.Header().Set("Location", fmt.Sprintf("/payments/%d", payments))
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"payment":%d}`, payments)
	}

	r := chi.NewRouter()
	r.With(semelhttp.Idempotency(guard, tenantOf, semelhttp.IdempotencyOptions{})).Post("/payments", pay)
	server := httptest.NewServer(r)
	defer server.Close()

	send := func(tenant, key, body string) {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL+"/payments", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		req.SetBasicAuth(tenant, "secret")
		req.Header.Set("Idempotency-Key", key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			panic(err)
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusCreated {
			fmt.Println(res.Status)
			return
		}
		answer, _ := io.ReadAll(res.Body)
		fmt.Println(res.StatusCode, res.Header.Get("Location"), string(answer), "replayed:", res.Header.Get("Idempotent-Replayed") == "true")
	}
	send("acme", "8e03978e", `{"amount":12}`)
	send("acme", "8e03978e", `{"amount":12}`)
	send("acme", "8e03978e", `{"amount":13}`)
	send("zeta", "8e03978e", `{"amount":12}`)
	// Output:
	// 201 /payments/1 {"payment":1} replayed: false
	// 201 /payments/1 {"payment":1} replayed: true
	// 422 Unprocessable Entity
	// 201 /payments/2 {"payment":2} replayed: false
}

// Requests for one invoice pass one after the other, on however many machines.
func ExampleSerialize() {
	backend, err := memlock.New(memlock.Options{})
	if err != nil {
		panic(err)
	}
	locker, err := lock.New(backend, lock.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = locker.Close(context.Background()) }()

	invoice := func(r *http.Request) (string, error) { return "invoice:" + r.PathValue("id"), nil }
	serialize := semelhttp.Serialize(locker, invoice, semelhttp.SerializeOptions{Wait: lock.NoWait})

	mux := http.NewServeMux()
	mux.Handle("POST /invoices/{id}/pay", serialize(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := lock.LeaseFrom(r.Context())
		_, _ = fmt.Fprint(w, "paid under a fence: ", lease.Fence() > 0)
	})))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/invoices/7/pay", nil))
	fmt.Println(w.Code, w.Body)

	lease, err := locker.Acquire(context.Background(), "invoice:7")
	if err != nil {
		panic(err)
	}
	defer func() { _ = lease.Release(context.Background()) }()
	w = httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/invoices/7/pay", nil))
	fmt.Println(w.Code)
	// Output:
	// 200 paid under a fence: true
	// 409
}
