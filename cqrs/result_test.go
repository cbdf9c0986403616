package cqrs_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// TestResultUnavailable: a result that this program does not read whole is told
// as such, and the command does not run again.
func TestResultUnavailable(t *testing.T) {
	t.Parallel()
	type wider struct {
		Receipt
		Tax int64
	}
	type other struct{ Number string }
	guard := newGuard(t, idempotency.Options{})
	s := &shop{}
	order := s.wrap(t, guard, byRequest())
	_, err := order(t.Context(), Order{Request: "r"})
	require.NoError(t, err)

	unavailable := func(t *testing.T, err error) {
		t.Helper()
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
		require.EqualValues(t, 1, s.runs.Load())
	}
	t.Run("a field is gone", func(t *testing.T) {
		type narrower struct{ Number int64 }
		h, err := cqrs.Wrap(guard, "order.v1", func(context.Context, Order) (narrower, error) {
			s.runs.Add(1)
			return narrower{}, nil
		}, byRequest())
		require.NoError(t, err)
		_, err = h(t.Context(), Order{Request: "r"})
		unavailable(t, err)
	})
	t.Run("a field has another type", func(t *testing.T) {
		h, err := cqrs.Wrap(guard, "order.v1", func(context.Context, Order) (other, error) {
			s.runs.Add(1)
			return other{}, nil
		}, byRequest())
		require.NoError(t, err)
		_, err = h(t.Context(), Order{Request: "r"})
		unavailable(t, err)
	})
	t.Run("another version", func(t *testing.T) {
		o := byRequest()
		o.ResultVersion = 2
		_, err := s.wrap(t, guard, o)(t.Context(), Order{Request: "r"})
		unavailable(t, err)
	})
	t.Run("another codec", func(t *testing.T) {
		h, err := cqrs.WrapAs(guard, "order.v1", idempotency.Codec[Receipt](numberCodec{}), s.order, byRequest())
		require.NoError(t, err)
		_, err = h(t.Context(), Order{Request: "r"})
		unavailable(t, err)
	})
	t.Run("a field more is read", func(t *testing.T) {
		h, err := cqrs.Wrap(guard, "order.v1", func(context.Context, Order) (wider, error) {
			s.runs.Add(1)
			return wider{}, nil
		}, byRequest())
		require.NoError(t, err)
		w, err := h(t.Context(), Order{Request: "r"})
		require.NoError(t, err)
		require.EqualValues(t, 1, w.Number)
	})
}

// numberCodec is a codec of the user's. It refuses the number 13.
type numberCodec struct{}

func (numberCodec) Name() string { return "number" }

func (numberCodec) Encode(r Receipt) ([]byte, error) {
	if r.Number == 13 {
		return nil, errShop
	}
	return []byte(strconv.FormatInt(r.Number, 10)), nil
}

func (numberCodec) Decode(b []byte) (Receipt, error) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	return Receipt{Number: n}, err
}

// TestCodec: a codec of the user's, with and without a version.
func TestCodec(t *testing.T) {
	t.Parallel()
	for _, version := range []uint32{0, 3} {
		guard := newGuard(t, idempotency.Options{})
		s := &shop{}
		o := byRequest()
		o.ResultVersion = version
		h, err := cqrs.WrapAs(guard, "order.v1", idempotency.Codec[Receipt](numberCodec{}), s.order, o)
		require.NoError(t, err)
		for range 2 {
			r, err := h(t.Context(), Order{Request: "r"})
			require.NoError(t, err)
			require.Equal(t, Receipt{Number: 1}, r)
		}
		require.EqualValues(t, 1, s.runs.Load())
	}
}

// TestUnencodable: the first sender gets its result, and duplicates learn that
// there is none; the command never runs again for it.
func TestUnencodable(t *testing.T) {
	t.Parallel()
	runs := 0
	h, err := cqrs.WrapAs(newGuard(t, idempotency.Options{}), "order.v1", idempotency.Codec[Receipt](numberCodec{}),
		func(context.Context, Order) (Receipt, error) {
			runs++
			return Receipt{Number: 13}, nil
		}, byRequest())
	require.NoError(t, err)
	r, err := h(t.Context(), Order{Request: "r"})
	require.NoError(t, err)
	require.EqualValues(t, 13, r.Number)
	_, err = h(t.Context(), Order{Request: "r"})
	require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
	require.Equal(t, 1, runs)
}

// longName is a codec with a name that no record can hold.
type longName struct{ numberCodec }

func (longName) Name() string { return strings.Repeat("n", 256) }

// picky is a codec that cannot carry its type.
type picky struct{ numberCodec }

func (picky) Check() error { return errors.New("picky") }

// TestCodecInvalid: a codec that does not do is told when the handler is wrapped.
func TestCodecInvalid(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, idempotency.Options{})
	for _, codec := range []idempotency.Codec[Receipt]{longName{}, picky{}} {
		for _, version := range []uint32{0, 1} {
			o := byRequest()
			o.ResultVersion = version
			_, err := cqrs.WrapAs(guard, "order.v1", codec, (&shop{}).order, o)
			require.ErrorIs(t, err, cqrs.ErrInvalid)
		}
	}
}
