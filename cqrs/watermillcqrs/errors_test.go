package watermillcqrs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func TestShouldPoisonAndRetry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err           error
		poison, retry bool
	}{
		"none":                      {nil, false, false},
		"the handler's own":         {errFails, true, true},
		"a deadline of its own":     {context.DeadlineExceeded, true, true},
		"shutting down":             {context.Canceled, false, false},
		"in progress":               {&idempotency.InProgressError{}, false, false},
		"store away":                {idempotency.ErrUnavailable, false, true},
		"guard closed":              {idempotency.ErrClosed, false, false},
		"claim lost":                {idempotency.ErrLost, false, true},
		"transactions collided":     {idempotency.ErrSerialization, false, true},
		"not committed":             {idempotency.ErrNotCommitted, true, true},
		"aggregate locked":          {&lock.HeldError{}, false, true},
		"locks away":                {lock.ErrUnavailable, false, true},
		"later":                     {idempotency.RetryAfter(time.Second, errFails), false, false},
		"final":                     {idempotency.Final(errFails), true, false},
		"final, whatever is in it":  {idempotency.Final(idempotency.ErrUnavailable), true, false},
		"final, replayed":           {&semelcqrs.ReplayedError{Err: idempotency.Final(errFails)}, true, false},
		"unknown":                   {idempotency.Unknown(errFails), true, false},
		"unknown, shutting down":    {idempotency.Unknown(context.Canceled), true, false},
		"unknown from before":       {&idempotency.UnknownError{}, true, false},
		"mismatch":                  {&idempotency.MismatchError{}, true, false},
		"result gone":               {idempotency.ErrResultUnavailable, true, false},
		"no key":                    {semelcqrs.ErrNoKey, true, false},
		"no tenant":                 {semelcqrs.ErrNoScope, true, false},
		"not registered":            {semelcqrs.ErrNotRegistered, true, false},
		"within itself":             {idempotency.ErrReentrant, true, false},
		"in progress and something": {errors.Join(errFails, idempotency.ErrInProgress), false, false},
	} {
		for _, err := range []error{tc.err, wrapped(tc.err)} {
			require.Equal(t, tc.poison, watermillcqrs.ShouldPoison(err), name)
			require.Equal(t, tc.retry, watermillcqrs.ShouldRetry(err), name)
		}
	}
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("wrapped: %w", err)
}
