package middleware

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/response"
)

// Problem is what the middleware answers in the handler's stead, in the form of
// RFC 9457. What is sent of it holds neither the key nor the text of an error.
type Problem struct {
	// Type is "urn:semel:problem:" and the code.
	Type string `json:"type"`
	// Title is the same for all problems of one code.
	Title string `json:"title"`
	// Status is that of the answer.
	Status int `json:"status"`
	// Code is what happened, for programs.
	Code Code `json:"code"`
	// Detail says to people what to do.
	Detail string `json:"detail"`
	// OriginalStatus, CompletedAt and Location tell of a completed request
	// whose answer cannot be sent again, as far as it is known: its status, its
	// time and the header of that name, which is sent as a header, too.
	// CodeResultNotRetained only.
	OriginalStatus int       `json:"original_status,omitzero"`
	CompletedAt    time.Time `json:"completed_at,omitzero"`
	Location       string    `json:"location,omitzero"`
	// Until is when the key is free again, unless a person decides before.
	// CodeOutcomeUnknown only.
	Until time.Time `json:"until,omitzero"`
	// RetryAfter, if positive, is sent as the header of that name, rounded up
	// to seconds.
	RetryAfter time.Duration `json:"-"`
	// Cause is why, for logs. It may tell what a client must not know, and is
	// never sent.
	Cause error `json:"-"`
}

// newProblem returns the problem that code names.
func newProblem(code Code, cause error) Problem {
	p := Problem{Type: "urn:semel:problem:" + string(code), Code: code, Cause: cause}
	p.Status, p.Title, p.Detail = code.texts()
	if code == CodeStoreUnavailable {
		p.RetryAfter = response.MinRetry
	}
	return p
}

// ServeHTTP answers with p: application/problem+json that no cache may store.
// It is what a function in IdempotencyOptions.Problem replaces, and may call.
func (p Problem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := json.Marshal(p)
	if err != nil { // a time that RFC 3339 cannot write
		p.CompletedAt, p.Until = time.Time{}, time.Time{}
		body, _ = json.Marshal(p)
	}
	h := w.Header()
	p.setHeader(h)
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // who has left needs no answer
	}
}

// setHeader sets what does not depend on the form in which p is written.
func (p Problem) setHeader(h http.Header) {
	h.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", response.RetryAfter(p.RetryAfter))
	}
	if p.Location != "" {
		h.Set("Location", p.Location)
	}
}

// answer answers r with p in its handler's stead, through write if it is given.
func (p Problem) answer(w http.ResponseWriter, r *http.Request, write func(http.ResponseWriter, *http.Request, Problem)) {
	if claim, ok := idempotency.ClaimFrom(r.Context()); ok && !p.begun() {
		// Somebody before us holds a claim on this request. Nothing has been
		// run, so there is nothing to record, whatever the status.
		claim.Release()
	}
	if write == nil {
		p.ServeHTTP(w, r)
		return
	}
	p.setHeader(w.Header())
	write(w, r, p)
}

// begun reports whether the request was, or may have been, run before.
func (p Problem) begun() bool {
	switch p.Code {
	case CodeOutcomeUnknown, CodeResultNotRetained, CodeEncodingNotAcceptable, CodeReplayRefused:
		return true
	}
	return false
}
