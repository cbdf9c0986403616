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
//   - [github.com/semel-go/semel/middleware]: HTTP requests with an
//     Idempotency-Key, for net/http and chi;
//   - [github.com/semel-go/semel/middleware/webhook]: providers' webhooks,
//     verified first and handled once, with the providers below it;
//   - [github.com/semel-go/semel/observe]: the events in which the parts tell
//     what they do.
package semel
