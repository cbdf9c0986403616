package request_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/request"
)

func TestBody(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 5000)
	for _, tc := range []struct {
		length, limit, trusted int64
		err                    error
	}{
		{5000, 5000, 1 << 20, nil},
		{5000, 4999, 1 << 20, request.ErrTooLarge},
		{-1, 5000, 1 << 20, nil},
		{-1, 4999, 1 << 20, request.ErrTooLarge},
		{-1, math.MaxInt64, 1 << 20, nil},
		{5000, math.MaxInt64, 10, nil},
		{10, 4999, 10, request.ErrTooLarge}, // it said less
		{0, 5000, 0, nil},
	} {
		for name, from := range map[string]io.Reader{
			"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
			"end with data": iotest.DataErrReader(strings.NewReader(text)),
		} {
			body, err := request.Body(from, tc.length, tc.limit, tc.trusted)
			require.ErrorIs(t, err, tc.err, "%s %+v", name, tc)
			if tc.err == nil {
				require.Equal(t, text, string(body), "%s %+v", name, tc)
			} else {
				require.Nil(t, body, "a part of a body is none")
			}
		}
	}
}

func TestBodyThatEndsEarly(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	body, err := request.Body(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(boom)), 2, 10, 10)
	require.ErrorIs(t, err, boom)
	require.Nil(t, body)
	for _, from := range []io.Reader{nil, http.NoBody} {
		body, err := request.Body(from, 0, 10, 10)
		require.NoError(t, err)
		require.Nil(t, body)
	}
	bounded := http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader("xxxx")), 2)
	_, err = request.Body(bounded, 4, 10, 10)
	require.ErrorIs(t, err, request.ErrTooLarge)
	require.ErrorAs(t, err, new(*http.MaxBytesError))
}
