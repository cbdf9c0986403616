package cqrs

// Returns, embedded in a command, says what the command's handler returns, so
// that the compiler infers it where the command is sent:
//
//	type CreateOrder struct {
//		cqrs.Returns[OrderCreated]
//		Customer string
//	}
//
// It takes no room, and enters neither the command's hash nor its JSON. A
// command that returns nothing embeds a Returns[struct{}].
type Returns[R any] struct{}

func (Returns[R]) returns(R) {}

// Returning is a command that embeds [Returns] of R, or a pointer to one.
type Returning[R any] interface {
	returns(R)
}
