package idempotency

// Kind says what a Result is.
type Kind uint8

// The kinds of a Result.
const (
	// KindValue: Data is the result, in the encoding that Codec names.
	KindValue Kind = iota
	// KindError: the run failed for good. Data is the error's text.
	KindError
	// KindTombstone: the run succeeded and its result was not retained, for its
	// size or because it cannot be.
	KindTombstone
)

// Result is what a run leaves behind for its duplicates.
type Result struct {
	Kind Kind
	// Codec names the encoding of Data, in at most 255 bytes; the reader
	// refuses what it does not know.
	Codec string
	// Data is the encoded result.
	Data []byte
}
