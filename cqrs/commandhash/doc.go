// Package commandhash makes a key of a command's content: two commands have the
// same hash exactly if they say the same. It keeps nothing, and does not know
// what a key is good for; package cqrs does.
//
//	hasher, err := commandhash.New[CreateOrder]("order.create.v1", commandhash.Options{})
//	sum, err := hasher.Sum("tenant-7", CreateOrder{Customer: "c1"})
//
// # The form
//
// A hash is the SHA-256, or with a secret the HMAC-SHA256, of
//
//	"semel1" 00 | len name | len scope | value
//
// The value is written in an encoding of our own, semel1, which is frozen: a
// hash that one version of a program has stored is found by the next, whatever
// becomes of Go's encoders. docs/command-hash.md specifies it for other
// languages, and testdata/golden.json holds vectors. Every value begins with a
// tag, and everything of variable length with its length, so that an encoding
// can be read back in one way only.
//
// The name is the command's, chosen by whoever registers it: renaming a Go type
// changes nothing, and a new name ("order.create.v2") is a new key space.
//
// # Structs
//
// A field is named by name= in its semel tag, else by its json tag, else by its
// Go name. Fields are sorted by name. A field that holds its zero value is left
// out, so that adding a field leaves the hash of every command that does not
// use it. An embedded struct is one field.
//
//	semel:"-"            the field is no part of the hash
//	semel:"key"          only fields that say so are part of it, in this struct
//	semel:"set"          the order of a slice's or array's elements is no part of it
//	semel:"name=id,key"  words are joined by commas
//
// What two tellings of one command may differ in, such as a trace id or the time
// of sending, must be excluded, or no duplicate is ever recognised. [Lint] finds
// likely ones.
//
// # Types
//
// A type is compiled by [New], which names every field that has no fixed form:
// unexported fields, interfaces, functions, channels, complex numbers, uintptr.
// A type may give itself one as an [Appender]. Other structs with unexported
// fields are written by their MarshalText, such as big.Int and netip.Addr. No
// other method is called, and never MarshalJSON.
//
// # What is equal
//
// The width of an integer, the zone of a time, the sign of a zero, nil and empty
// slices and maps make no difference. A pointer is what it points to; nil
// differs from a pointer to a zero value. Text and bytes are compared byte by
// byte.
package commandhash
