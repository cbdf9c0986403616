package response_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/semel-go/semel/internal/response"
)

// nowhere is a writer that costs nothing.
type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// BenchmarkRecord records and encodes an answer in JSON, with what the handler
// itself does for comparison.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		body := make([]byte, size)
		handler := func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "/payments/7")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
		}
		outer := func() nowhere { return nowhere{http.Header{"X-Request-Id": {"1"}}} }
		b.Run("bare/"+strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				handler(outer())
			}
		})
		b.Run("recorded/"+strconv.Itoa(size), func(b *testing.B) {
			r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
			b.ReportAllocs()
			for b.Loop() {
				rec := response.NewRecorder(outer(), r, response.Options{})
				handler(rec)
				_ = rec.Finish().Encode()
			}
		})
	}
}

// BenchmarkReplay decodes a record and replays it.
func BenchmarkReplay(b *testing.B) {
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	data := response.Recorded{
		Status: http.StatusCreated, Whole: true, Body: make([]byte, 1<<10),
		Changes: []response.Change{{Name: "Content-Type", Values: []string{"application/json"}}, {Name: "Location", Values: []string{"/7"}}},
	}.Encode()
	b.ReportAllocs()
	for b.Loop() {
		recorded, err := response.Decode(data)
		if err == nil {
			err = recorded.Replay(nowhere{http.Header{"X-Request-Id": {"1"}}}, r, nil)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
