// Package vectors gives tests of adapters what to verify: the published webhook
// signatures and bodies that lie beside the repository, and forgeries of what is
// genuine. It checks nothing itself.
package vectors

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Vector is a signed delivery and what a verifier must say of it.
type Vector struct {
	// Name says which one it is.
	Name string `json:"id"`
	// Provider, as "stripe".
	Provider string
	// Scheme is how it is signed.
	Scheme string
	// Key is what verifies it, by its form: "utf8", "hex", "whsec", "whpk",
	// "spki_b64", "spki_pem", "cert_pem", "webhook_id".
	Key map[string]string
	// Headers are those that count.
	Headers map[string]string
	// Body is the request's body.
	Body []byte `json:"body_b64"`
	// Now is when to verify it, in seconds since 1970; 0: age does not matter.
	Now int64
	// URL is where it went, if that is signed.
	URL string
	// Expect is "valid", "invalid", "expired", or "format-only".
	Expect string
	// Policy says that AltExpect is as good an answer.
	Policy    bool
	AltExpect string `json:"alt_expect"`
}

// Header returns v's headers as a server sees them.
func (v Vector) Header() http.Header {
	h := http.Header{}
	for name, value := range v.Headers {
		h.Set(name, value)
	}
	return h
}

// Clock returns a clock that stands at v.Now, or at the first of the times in
// or if v has none.
func (v Vector) Clock(or time.Time) func() time.Time {
	if v.Now != 0 {
		or = time.Unix(v.Now, 0)
	}
	return func() time.Time { return or }
}

// Load returns the vectors of the providers. If there are none at all, it skips
// the test, or fails it where SEMEL_REQUIRE_VECTORS=1.
func Load(tb testing.TB, providers ...string) []Vector {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(dir(tb), "vectors.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all struct{ Vectors []Vector }
	if err := json.Unmarshal(text, &all); err != nil {
		tb.Fatal(err)
	}
	var some []Vector
	for _, v := range all.Vectors {
		for _, p := range providers {
			if v.Provider == p {
				some = append(some, v)
			}
		}
	}
	if len(some) == 0 {
		tb.Fatalf("no vectors of %q", providers)
	}
	return some
}

// Payloads returns the sample bodies of a provider by their file's name. It
// skips and fails as Load does.
func Payloads(tb testing.TB, provider string) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir(tb), "payloads", provider+"_*.json"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no payloads of %s: %v", provider, err)
	}
	bodies := map[string][]byte{}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		bodies[strings.TrimSuffix(filepath.Base(f), ".json")] = body
	}
	return bodies
}

// dir returns SEMEL_VECTORS, or what lies beside the repository.
func dir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("SEMEL_VECTORS")
	if dir == "" {
		dir = filepath.Join(root(tb), "..", "shared", "webhooks")
	}
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("SEMEL_REQUIRE_VECTORS") == "1" {
			tb.Fatalf("SEMEL_REQUIRE_VECTORS=1, and there are no vectors: %v", err)
		}
		tb.Skipf("no vectors: %v", err)
	}
	return dir
}

// root returns the directory of the repository, where go.work is.
func root(tb testing.TB) string {
	tb.Helper()
	at, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.work")); err == nil {
			return at
		}
		up := filepath.Dir(at)
		if up == at {
			tb.Fatal("no go.work above the test's directory")
		}
		at = up
	}
}
