package response_test

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

// records are of every shape that the encoding has.
func records() map[string]response.Recorded {
	return map[string]response.Recorded{
		"least":     {Status: 200, Whole: true, Body: []byte{}},
		"tombstone": {Status: 201, Changes: []response.Change{{Name: "Location", Values: []string{"/7"}}}},
		"full": {
			Status: 418, Whole: true, Body: []byte("\x00\xffbody"),
			Changes: []response.Change{
				{Name: "", Values: []string{""}},
				{Name: "Date"},
				{Name: "Link", Values: []string{"</a>", "", "</b>, </c>"}, How: response.Add},
				{Name: "X-\xff\x00", Values: []string{strings.Repeat("v", 300)}},
				{Name: "X-Frame-Options", How: response.Remove},
			},
			Trailers: []response.Change{{Name: "X-Sum", Values: []string{"1"}}},
		},
	}
}

// TestCodec shows that what is encoded comes back, and nothing from what it has
// become by losing bytes or by one bit.
func TestCodec(t *testing.T) {
	t.Parallel()
	for name, want := range records() {
		data := want.Encode()
		got, err := response.Decode(data)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		require.Equal(t, data, got.Encode(), name)
		got.Body = append(got.Body, "over what follows"...)
		require.Equal(t, data, want.Encode(), "a body that grows leaves the data alone")

		for n := range data {
			_, err := response.Decode(data[:n])
			require.ErrorIs(t, err, response.ErrDamaged, "%s, cut to %d bytes", name, n)
			_, err = response.Decode(data[n+1:])
			require.ErrorIs(t, err, response.ErrDamaged, "%s, without the first %d bytes", name, n+1)
		}
		for i := range len(data) * 8 {
			flipped := bytes.Clone(data)
			flipped[i/8] ^= 1 << (i % 8)
			_, err := response.Decode(flipped)
			require.ErrorIs(t, err, response.ErrDamaged, "%s, bit %d", name, i)
		}
	}
}

// TestCodecGolden holds the encoding still: records outlive the program that
// wrote them.
func TestCodecGolden(t *testing.T) {
	t.Parallel()
	r := response.Recorded{
		Status: 201, Whole: true, Body: []byte("{}"),
		Changes:  []response.Change{{Name: "Vary", Values: []string{"A", "B"}, How: response.Add}, {Name: "X", How: response.Remove}},
		Trailers: []response.Change{{Name: "T", Values: []string{"1"}}},
	}
	const golden = "7b7d" + // body
		"c901" + "01" + // status, whole
		"02" + "01" + "0456617279" + "02" + "0141" + "0142" + "02" + "0158" + "00" + // changes
		"01" + "00" + "0154" + "01" + "0131" + // trailers
		"0000001a" + "a429a52e" + "01"
	require.Equal(t, golden, hex.EncodeToString(r.Encode()))
}

// TestCodecSize shows that Overhead holds for the largest header that is kept.
func TestCodecSize(t *testing.T) {
	t.Parallel()
	whole := 0
	for size := 60 << 10; size < 66<<10; size += 61 {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		rec := response.NewRecorder(w, r, response.Options{})
		rec.Header().Set("X-Large", strings.Repeat("x", size))
		for range 10 {
			rec.Header().Add("X-Small", "y")
		}
		say(rec, "body")
		recorded := rec.Finish()
		if !recorded.Whole {
			continue
		}
		whole++
		data := recorded.Encode()
		require.LessOrEqual(t, len(data), len("body")+response.Overhead)
		_, err := response.Decode(data)
		require.NoError(t, err)
	}
	require.NotZero(t, whole)
}

// TestDecodeHead shows that nothing is taken from a head that Encode does not
// make, even if its checksum is right.
func TestDecodeHead(t *testing.T) {
	t.Parallel()
	_, err := response.Decode(response.Foot([]byte("\xc9\x01\x01\x00\x00")))
	require.NoError(t, err)
	for name, head := range map[string]string{
		"more behind":          "\xc9\x01\x01\x00\x00\x00",
		"status 99":            "\x63\x01\x00\x00",
		"status 1000":          "\xe8\x07\x01\x00\x00",
		"flags":                "\xc9\x01\x02\x00\x00",
		"a number without end": "\xc9\x01\x01\xff\xff\xff\xff\xff\xff\xff",
		"changes missing":      "\xc9\x01\x01\xff\xff\xff\xff\x0f\x00",
		"values missing":       "\xc9\x01\x01\x01\x00\x01X\xff\xff\xff\xff\x0f",
		"a name too long":      "\xc9\x01\x01\x01\x00\x7fX\x00\x00",
		"unknown change":       "\xc9\x01\x01\x01\x03\x01X\x00\x00",
		"change 256":           "\xc9\x01\x01\x01\x80\x02\x01X\x00\x00",
		"removal with a value": "\xc9\x01\x01\x01\x02\x01X\x01\x01v\x00",
		"too large":            "\xc9\x01\x01\x01\x00\x01X\x01\x80\x80\x08" + strings.Repeat("v", 1<<17) + "\x00",
	} {
		_, err := response.Decode(response.Foot([]byte(head)))
		require.ErrorIs(t, err, response.ErrDamaged, name)
	}
	tombstone := response.Foot([]byte("\xc9\x01\x00\x00\x00"))
	_, err = response.Decode(tombstone)
	require.NoError(t, err)
	_, err = response.Decode(response.Refoot(append([]byte("body"), tombstone...)))
	require.ErrorIs(t, err, response.ErrDamaged, "a tombstone with a body")
}

// FuzzDecode decodes anything. What can be decoded is encoded to what decodes to
// the same.
func FuzzDecode(f *testing.F) {
	for _, r := range records() {
		data := r.Encode()
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// A fuzzer does not find a checksum.
		for _, data := range [][]byte{data, response.Foot(data)} {
			r, err := response.Decode(data)
			if err != nil {
				require.ErrorIs(t, err, response.ErrDamaged)
				continue
			}
			again, err := response.Decode(r.Encode())
			require.NoError(t, err)
			if r.Whole {
				require.Equal(t, r, again)
			}
			w := httptest.NewRecorder()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
			req.Header.Set("Accept-Encoding", "")
			_ = again.Replay(w, req, nil)
		}
	})
}
