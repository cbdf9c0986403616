package main

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/response"
)

// httpAnswer is a recorded answer, in JSON.
type httpAnswer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"` // what the handler set or added
	// Trailer has the names as the handler wrote them.
	Trailer http.Header `json:"trailer,omitempty"`
	Body    []byte      `json:"body,omitempty"`
	// Whole is false if the body could not be kept.
	Whole bool `json:"whole"`
}

// httpAnswerOf returns the answer that res is, nil if it is none.
func httpAnswerOf(res idempotency.Result) *httpAnswer {
	if res.Codec != response.Codec {
		return nil
	}
	got, err := response.Decode(res.Data)
	if err != nil {
		return nil
	}
	a := &httpAnswer{Status: got.Status, Header: got.Header(), Body: got.Body, Whole: got.Whole}
	for _, change := range got.Trailers {
		if change.How == response.Remove {
			continue
		}
		if a.Trailer == nil {
			a.Trailer = http.Header{}
		}
		a.Trailer[change.Name] = append(a.Trailer[change.Name], change.Values...)
	}
	return a
}

// lines returns the names and values that are printed. What a stranger may have
// written is quoted.
func (a *httpAnswer) lines() []string {
	lines := []string{"  status", strconv.Itoa(a.Status)}
	for _, part := range []struct {
		name   string
		header http.Header
	}{{"  header", a.Header}, {"  trailer", a.Trailer}} {
		names := make([]string, 0, len(part.header))
		for name := range part.header {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			for _, value := range part.header[name] {
				lines = append(lines, part.name, strconv.Quote(name+": "+value))
			}
		}
	}
	if !a.Whole {
		return append(lines, "  body", "not kept")
	}
	return append(lines, "  body", strconv.Quote(string(a.Body)))
}
