// Package response records the answer of an HTTP handler while it is sent, keeps
// it in bytes, and replays it to another request. It knows neither keys nor
// stores, and does not decide which answers are worth keeping.
//
// # Recording
//
// A [Recorder] is a tee: what the handler writes goes to the client at once, and
// a copy is kept up to a limit. With [Options.HoldBack] it goes out only with
// [Recorder.Send], after the copy is safe.
//
// The handler works on a header map of its own. What is recorded is how it
// changed the map that outer middleware had prepared, so that a replay is laid
// over what that middleware prepares for the later request: its correlation id,
// its nonce, its CORS headers. What belongs to one caller or one connection is
// never recorded; see [Options.Drop].
//
// A client that leaves ends the sending, not the recording: the handler's writes
// succeed as long as all of its answer can be kept, for a handler that stopped
// half-way would leave half an answer to replay. Once the answer is too large,
// or is an event stream, nothing is gained by going on and the handler gets the
// error.
//
// An answer that cannot be replayed as it was leaves a tombstone, its status and
// Location: one that is too large, an event stream, a connection that was taken
// over, and one whose length is not the declared one. The client whose request
// it was gets it all the same.
//
// After [Recorder.Finish] or [Recorder.Abandon] a goroutine that the handler left
// behind gets [ErrFinished] for what it writes, and may touch its header map: no
// one reads that any more. While Finish runs it is read only if the handler has
// sent no header yet, or uses trailers.
//
// # Replaying
//
// [Recorded.Replay] gives the recorded status, headers and body bytes. The one
// change that it makes is to undo a gzip or deflate coding that the later request
// does not accept.
package response
