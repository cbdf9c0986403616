package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/response"
)

// notStored is why a run ended without an outcome: the status of its answer, or
// the handler's own word.
type notStored int

// Error tells the status.
func (s notStored) Error() string {
	return fmt.Sprintf("middleware: the handler answered %d, which is not stored", int(s))
}

// outcome returns what the guard is to record of an answer. An error makes it
// record nothing.
func (x *exchange) outcome(ctx context.Context, got response.Recorded) (idempotency.Result, error) {
	if x.o.MaxResponse == NoBody && len(got.Body) > 0 {
		got.Whole, got.Body = false, nil
	}
	stored := x.o.stores(got)
	if claim, ok := idempotency.ClaimFrom(ctx); ok {
		switch end, _ := claim.Steered(); end {
		case idempotency.EndRelease, idempotency.EndUnknown:
			stored = false // and the claim knows the rest
		case idempotency.EndKeep:
			stored = true
		case idempotency.EndPermanent:
			// What duplicates must get is the answer, not the error's text.
			claim.Keep()
			stored = true
		}
	}
	if !stored {
		return idempotency.Result{}, notStored(got.Status)
	}
	kind := idempotency.KindValue
	if !got.Whole {
		kind = idempotency.KindTombstone
	}
	return idempotency.Result{Kind: kind, Codec: response.Codec, Data: got.Encode()}, nil
}

// answer answers a request for which the handler was not called.
func (x *exchange) answer(out idempotency.Outcome, err error) {
	if out.Status == idempotency.Replayed && x.o.OnReplay != nil {
		if refused := x.o.OnReplay(x.request(x.r.Context())); refused != nil {
			p := newProblem(CodeReplayRefused, refused)
			if errors.Is(refused, ErrNoPrincipal) {
				p.Status = http.StatusUnauthorized
			}
			p.answer(x.w, x.r, x.o.Problem)
			return
		}
	}
	if err == nil {
		if err = x.replay(out.Result); err == nil {
			return
		}
	}
	x.problem(out, err).answer(x.w, x.r, x.o.Problem)
}

// replay sends a recorded answer. If it returns an error, nothing was sent.
func (x *exchange) replay(res idempotency.Result) error {
	got, ok := decode(res)
	if !ok {
		return idempotency.ErrResultUnavailable
	}
	err := got.Replay(x.w, x.r, response.MarkReplayed)
	if errors.Is(err, response.ErrNotAcceptable) || errors.Is(err, response.ErrNotReplayable) {
		return err
	}
	return nil // or the client has gone
}

// decode returns the answer that res holds, if it holds one.
func decode(res idempotency.Result) (response.Recorded, bool) {
	if res.Codec != response.Codec {
		return response.Recorded{}, false
	}
	got, err := response.Decode(res.Data)
	return got, err == nil
}

// problem returns what to answer for an error of the guard's.
//
// A caller whose context has ended is answered, too. It is most likely gone,
// but if it is not, and somebody else ended the context, net/http would tell it
// 200.
func (x *exchange) problem(out idempotency.Outcome, err error) Problem {
	var (
		busy    *idempotency.InProgressError
		unknown *idempotency.UnknownError
	)
	switch {
	case errors.Is(err, response.ErrNotAcceptable):
		return newProblem(CodeEncodingNotAcceptable, err)
	case errors.Is(err, idempotency.ErrMismatch):
		return newProblem(CodeKeyMismatch, err)
	case errors.As(err, &busy):
		p := newProblem(CodeInProgress, err)
		p.RetryAfter = response.SoonAfter(busy.RetryAfter)
		return p
	case errors.As(err, &unknown):
		p := newProblem(CodeOutcomeUnknown, err)
		p.Until = unknown.Until.UTC().Truncate(time.Second)
		return p
	case out.Status == idempotency.Replayed, errors.Is(err, idempotency.ErrResultUnavailable):
		p := newProblem(CodeResultNotRetained, err)
		p.CompletedAt = out.CompletedAt.UTC()
		if got, ok := decode(out.Result); ok {
			p.OriginalStatus, p.Location = got.Status, got.Get("Location")
		}
		return p
	}
	return newProblem(CodeStoreUnavailable, err)
}
