// Package semel makes a webhook or a command take effect once, however often
// it is delivered and on however many machines.
//
// It holds no code. The parts are packages of their own, each with its
// protocol in its package comment:
//
//   - [github.com/semel-go/semel/lock]: exclusive, expiring, fenced ownership
//     of a key, with its backends below it;
//   - [github.com/semel-go/semel/idempotency]: one run per key, whose outcome
//     is recorded and replayed, with its stores below it;
//   - [github.com/semel-go/semel/idempotency]: a function takes effect once per
//     key, and its outcome is replayed; with its stores below it;
//   - [github.com/semel-go/semel/observe]: the events in which the parts tell
//     what they do.
package semel
