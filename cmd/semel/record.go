package main

import (
	"encoding/hex"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// record is what is printed of a key, in JSON.
type record struct {
	Key         string     `json:"key"`
	State       string     `json:"state"`
	Scope       *string    `json:"scope,omitempty"`
	ID          *string    `json:"id,omitempty"`
	Parts       []string   `json:"parts,omitempty"` // of a joined scope
	Nonce       string     `json:"nonce"`
	Fence       uint64     `json:"fence"`
	Attempt     uint32     `json:"attempt"`
	Fingerprint string     `json:"fingerprint,omitempty"`
	ClaimedAt   *time.Time `json:"claimed_at,omitempty"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
	RemainingMS int64      `json:"remaining_ms"`
	NotBeforeMS int64      `json:"not_before_ms,omitempty"`
	Waiters     bool       `json:"waiters,omitempty"`
	Size        int64      `json:"size"`
	Result      *result    `json:"result,omitempty"`
}

// recordOf returns what is printed of info.
func recordOf(info idempotency.Info) record {
	r := record{
		Key: info.Key.String(), State: info.State.String(),
		Nonce: hex.EncodeToString(info.Record.Nonce[:]), Fence: info.Record.Fence, Attempt: info.Record.Attempt,
		RemainingMS: info.Remaining.Milliseconds(), NotBeforeMS: info.NotBefore.Milliseconds(),
		Waiters: info.Waiters, Size: info.Size,
	}
	if key, ok := info.Record.Name(); ok {
		r.Scope, r.ID, r.Parts = &key.Scope, &key.ID, partsOf(key.Scope)
	}
	if f := info.Record.Fingerprint; f != (idempotency.Fingerprint{}) {
		r.Fingerprint = hex.EncodeToString(f[:])
	}
	if at := claimedAt(info); !at.IsZero() {
		r.ClaimedAt = &at
	}
	if at := info.Record.CompletedAt; !at.IsZero() {
		r.CompletedAt = &at
	}
	return r
}

// claimedAt returns when a key was last claimed; the zero time if that is not
// known, as when it was freed before it was ever seen claimed.
func claimedAt(info idempotency.Info) time.Time {
	if info.Record.Fence == 0 && info.State != idempotency.StateCompleted {
		return time.Time{}
	}
	return info.Record.ClaimedAt
}

// since returns how old a record is: the time since its outcome, or since its
// claim if it has none.
func since(info idempotency.Info, now time.Time) (time.Duration, bool) {
	at := claimedAt(info)
	if info.State == idempotency.StateCompleted {
		at = info.Record.CompletedAt
	}
	if at.IsZero() {
		return 0, false
	}
	return now.Sub(at), true
}

// result is how a run ended, in JSON.
type result struct {
	// Kind is "value", "error" or "tombstone", or "unavailable" and why.
	Kind  string `json:"kind"`
	Why   string `json:"why,omitempty"`
	Codec string `json:"codec,omitempty"`
	Bytes int    `json:"bytes"`
	// Data is there only if it was asked for: base64, but the text of an error.
	Data  []byte `json:"data,omitempty"`
	Error string `json:"error,omitempty"`
	// HTTP is what Data says if it is the recorded answer of a handler.
	HTTP *httpAnswer `json:"http,omitempty"`
}

// resultOf returns how info's run ended, nil if it has not.
func resultOf(op *idempotency.Operator, info idempotency.Info, data bool) *result {
	if info.State != idempotency.StateCompleted {
		return nil
	}
	res, err := op.Result(info)
	if err != nil {
		return &result{Kind: "unavailable", Why: err.Error(), Bytes: len(info.Record.Body)}
	}
	r := &result{Codec: res.Codec, Bytes: len(res.Data)}
	switch res.Kind {
	case idempotency.KindValue:
		r.Kind = "value"
	case idempotency.KindError:
		r.Kind = "error"
	case idempotency.KindTombstone:
		r.Kind = "tombstone"
	}
	if data && res.Kind == idempotency.KindError {
		r.Error = string(res.Data)
	} else if data {
		r.Data, r.HTTP = res.Data, httpAnswerOf(res)
	}
	return r
}
