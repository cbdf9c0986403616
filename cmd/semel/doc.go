// Semel is the operator's program: it looks at the idempotency records that
// Guards keep in Redis, and makes the decisions that a Guard must not make, as
// to end an unknown outcome or to let something run again.
//
//	go install github.com/semel-go/semel/cmd/semel@latest
//	semel help
//
// It holds no state and needs no configuration file. It reads key names with
// SCAN on every master, never with KEYS, so it blocks no server for long.
// docs/operator.md has worked examples.
package main
