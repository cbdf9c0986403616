package signed_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

func reason(err error) webhook.Reason {
	if refused, ok := errors.AsType[*webhook.RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

func TestHeader(t *testing.T) {
	t.Parallel()
	h := http.Header{"One": {"1"}, "Two": {"1", "1"}, "Empty": {""}, "Long": {strings.Repeat("a", 4097)}, "Fits": {strings.Repeat("a", 4096)}}
	for name, want := range map[string][2]webhook.Reason{ // Header and Optional
		"One": {}, "Fits": {},
		"None":  {webhook.MissingHeader, ""},
		"Empty": {webhook.MissingHeader, ""},
		"Two":   {webhook.Malformed, webhook.Malformed},
		"Long":  {webhook.Malformed, webhook.Malformed},
	} {
		value, err := signed.Header(h, name)
		require.Equal(t, want[0], reason(err), name)
		require.Equal(t, want[0] == "", value != "", name)
		_, err = signed.Optional(h, name)
		require.Equal(t, want[1], reason(err), name)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a": true, "my-sender2": true, "": false, "A": false, "a b": false, "a/b": false, "é": false} {
		require.Equal(t, want, signed.Name(name), name)
	}
}

// TestMAC: the second test case of RFC 4231, whole and in parts.
func TestMAC(t *testing.T) {
	t.Parallel()
	const want = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
	whole := signed.MAC(sha256.New, []byte("Jefe"), []byte("what do ya want for nothing?"))
	require.Equal(t, want, hex.EncodeToString(whole))
	parts := signed.MAC(sha256.New, []byte("Jefe"), []byte("what do ya "), nil, []byte("want for nothing?"))
	require.Equal(t, whole, parts)

	require.True(t, signed.Equal(whole, nil, whole[:31], whole))
	require.False(t, signed.Equal(whole))
	require.False(t, signed.Equal(whole, whole[:31], append(parts, 0)))
}

func TestDecode(t *testing.T) {
	t.Parallel()
	b := []byte{0xfb, 0xff, 0xfe, 0x01}
	for text, want := range map[string]bool{
		"fbfffe01": true, "FBFFfe01": true,
		"fbfffe0": false, "fbfffe0101": false, "fbfffe0g": false, "": false,
	} {
		got, ok := signed.Hex(text, 4)
		require.Equal(t, want, ok, text)
		if ok {
			require.Equal(t, b, got)
		}
	}
	for text, want := range map[string][2]bool{ // standard alphabet, URL alphabet
		"+//+AQ==": {true, false},
		"+//+AQ":   {true, false},
		"-__-AQ==": {false, true},
		"-__-AQ":   {false, true},
		"+//+AR==": {}, // bits left over
		"+//+AR":   {},
		"+//+AQ=":  {},
		"+//+A\nQ": {},
		"+//+AQ\n": {},
		"\n\n\n\n": {},
		"+//+AQEB": {}, // six bytes, as long as four padded
		"":         {},
	} {
		for i, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			got, ok := signed.Base64(enc, text, 4)
			require.Equal(t, want[i], ok, "%q %d", text, i)
			if ok {
				require.Equal(t, b, got)
			}
		}
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "1735689600": 1735689600, "007": 7, "999999999999999999": 999999999999999999} {
		at, err := signed.Seconds(text)
		require.NoError(t, err, text)
		require.Equal(t, want, at.Unix(), text)
		at, err = signed.Milliseconds(text)
		require.NoError(t, err, text)
		require.Equal(t, want, at.UnixMilli(), text)
	}
	for _, text := range []string{"", "+1", "-1", " 1", "1 ", "1.0", "1e9", "0x1", "1_0", "١", "9999999999999999999"} {
		_, err := signed.Seconds(text)
		require.Equal(t, webhook.Malformed, reason(err), text)
		_, err = signed.Milliseconds(text)
		require.Equal(t, webhook.Malformed, reason(err), text)
	}
}

func TestFresh(t *testing.T) {
	t.Parallel()
	now := time.Unix(1735689600, 0)
	for _, d := range []time.Duration{0, time.Minute, -time.Minute} {
		require.NoError(t, signed.Fresh(now.Add(d), now, time.Minute), d)
	}
	for _, at := range []time.Time{
		now.Add(time.Minute + 1), now.Add(-time.Minute - 1), {}, time.Unix(999999999999999999, 0), time.UnixMilli(999999999999999999),
	} {
		require.Equal(t, webhook.Expired, reason(signed.Fresh(at, now, time.Minute)), at)
	}
}

func TestRecent(t *testing.T) {
	t.Parallel()
	now := time.Unix(1735689600, 0)
	for _, tc := range []struct{ ahead, maxAge time.Duration }{
		{0, time.Hour}, {-time.Hour, time.Hour}, {5 * time.Minute, time.Hour}, {time.Second, time.Second},
	} {
		require.NoError(t, signed.Recent(now.Add(tc.ahead), now, tc.maxAge), tc)
	}
	for _, tc := range []struct{ ahead, maxAge time.Duration }{
		{-time.Hour - 1, time.Hour}, {5*time.Minute + 1, time.Hour}, {time.Second + 1, time.Second},
	} {
		require.Equal(t, webhook.Expired, reason(signed.Recent(now.Add(tc.ahead), now, tc.maxAge)), tc)
	}
	require.Equal(t, webhook.Expired, reason(signed.Recent(time.Time{}, now, 1000*24*time.Hour)))
}

// TestTenant: no two pairs make one tenant.
func TestTenant(t *testing.T) {
	t.Parallel()
	require.Equal(t, "hook_1", signed.Tenant("", "hook_1"))
	seen := map[string][2]string{}
	for _, pair := range [][2]string{{"", ""}, {"a", ""}, {"", "a"}, {"a", "b"}, {"ab", ""}, {"a:", "b"}, {"a", ":b"}, {"a:b", ""}} {
		got := signed.Tenant(pair[0], pair[1])
		require.NotContains(t, seen, got, "%q and %q", pair, seen[got])
		seen[got] = pair
	}
}
