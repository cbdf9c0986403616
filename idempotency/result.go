package idempotency

// Kind says what a Result is.
type Kind uint8

// The kinds of a Result.
const (
	// Value: Data is the result, in the encoding that Codec names.
	Value Kind = iota
	// FinalError: the run failed for good. Data is the error's text.
	FinalError
	// Tombstone: the run succeeded and its result was not retained, for its
	// size or because it cannot be.
	Tombstone
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
