//go:build race

package commandhash_test

// raced says whether this is a build for the race detector.
const raced = true
