package idempotency_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
)

func TestEncryptionInvalid(t *testing.T) {
	t.Parallel()
	keys := idempotency.Keyring{"a": secret(1), "b": secret(2)}
	for want, e := range map[string]idempotency.Encryption{
		`Encryption.Current is "c", which Keys does not hold`:                     {Current: "c", Keys: keys},
		`Encryption.Current is "a", which Keys does not hold`:                     {Current: "a"},
		`Encryption.Current is empty, must name one of Keys`:                      {Keys: keys},
		`Encryption.AllowPlain is set, but Keys is empty`:                         {AllowPlain: true},
		`Encryption.Keys["a"] has 16 bytes, must have 32`:                         {Current: "a", Keys: idempotency.Keyring{"a": secret(1)[:16]}},
		`Encryption.Keys["a"] has 64 bytes`:                                       {Current: "a", Keys: idempotency.Keyring{"a": []byte(hex.EncodeToString(secret(1)))}},
		`Encryption.Keys["b"] has 0 bytes`:                                        {Current: "a", Keys: idempotency.Keyring{"a": secret(1), "b": nil}},
		`Encryption.Keys["a"] is all zero`:                                        {Current: "a", Keys: idempotency.Keyring{"a": make([]byte, 32)}},
		`Encryption.Keys has the id "", must be from 1 to 16`:                     {Current: "a", Keys: idempotency.Keyring{"a": secret(1), "": secret(2)}},
		`Encryption.Keys has the id "seventeen-bytes-id", must be from 1 to 16 b`: {Current: "seventeen-bytes-id", Keys: idempotency.Keyring{"seventeen-bytes-id": secret(1)}},
	} {
		_, err := idempotency.NewSealer(idempotency.Compression{}, e)
		require.ErrorIs(t, err, idempotency.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}

	// Every mistake at once.
	_, err := idempotency.NewSealer(idempotency.Compression{Above: -1},
		idempotency.Encryption{Current: "c", Keys: idempotency.Keyring{"a": secret(1)[:1], "b": secret(1)[:2]}})
	for _, want := range []string{"Compression.Above", "Encryption.Current", `Keys["a"]`, `Keys["b"]`} {
		require.ErrorContains(t, err, want)
	}
}

// TestEncryptionCopied: a caller may wipe its keys once they were given.
func TestEncryptionCopied(t *testing.T) {
	t.Parallel()
	e := oneKey("k", 1)
	s := newSealer(t, idempotency.Compression{}, e)
	key, r := completed()
	var err error
	r.Body, err = s.Seal(key, r, idempotency.Result{})
	require.NoError(t, err)
	clear(e.Keys["k"])
	delete(e.Keys, "k")
	_, err = s.Open(key, r)
	require.NoError(t, err)
	_, err = newSealer(t, idempotency.Compression{}, oneKey("k", 1)).Open(key, r)
	require.NoError(t, err)
}

// TestKeyringHidden prints keys in every way that a log may.
func TestKeyringHidden(t *testing.T) {
	t.Parallel()
	type options struct{ Encryption idempotency.Encryption }
	key := []byte("\x81ecret-\x81ecret-\x81ecret-\x81ecret-!")
	o := options{idempotency.Encryption{Current: "2025", Keys: idempotency.Keyring{"2025": key, "2024": key}}}

	// The time of a line has digits of its own, and at times those that are
	// looked for.
	timeless := slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	var out bytes.Buffer
	for _, v := range []any{o, &o, o.Encryption, &o.Encryption, o.Encryption.Keys, &o.Encryption.Keys, []any{o}, map[string]any{"o": o}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%T", "%10v"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		out.Write(text)
		slog.New(slog.NewTextHandler(&out, &timeless)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&out, &timeless)).Info("m", "v", v)
	}
	out.WriteString(o.Encryption.Keys.String() + o.Encryption.Keys.GoString() + o.Encryption.Keys.LogValue().String())
	printed := out.String()
	require.Contains(t, printed, "2 keys")
	require.Equal(t, "1 key", idempotency.Keyring{"a": key}.String())
	require.Equal(t, "0 keys", idempotency.Keyring(nil).String())
	for _, leak := range []string{
		"ecret", "2024", hex.EncodeToString(key[:4]), fmt.Sprintf("%X", key[:4]), base64.StdEncoding.EncodeToString(key[:6]),
		"129 101 99", fmt.Sprintf("%x", key[:2]), "0x81", "129", "U+0081",
	} {
		require.NotContains(t, printed, leak)
	}
}
