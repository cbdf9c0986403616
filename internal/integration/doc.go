// Package integration tests what no single package can: several processes on
// real servers, killed, paused and cut off. It holds tests only, in a module
// of its own so that what they need is nobody's dependency.
package integration
