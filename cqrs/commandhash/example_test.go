package commandhash_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/cqrs/commandhash"
)

func ExampleHasher_Sum() {
	type PauseOrder struct {
		ID      string    `json:"id"`
		Reason  string    `json:"reason"`
		TraceID string    `semel:"-"`
		SentAt  time.Time `semel:"-"`
	}
	hasher, err := commandhash.New[PauseOrder]("order.pause.v1", commandhash.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := hasher.Sum("tenant-7", PauseOrder{ID: "o1", TraceID: "4bf92f", SentAt: time.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := hasher.Sum("tenant-7", PauseOrder{ID: "o1", TraceID: "00f067", SentAt: time.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := hasher.Sum("tenant-7", PauseOrder{ID: "o1", Reason: "fraud"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first == again, first == other)
	// Output: true false
}

// A type that cannot be hashed is refused when the command is registered.
func ExampleNew() {
	_, err := commandhash.New[struct {
		ID   string
		Meta map[string]any
	}]("order.pause.v1", commandhash.Options{})
	fmt.Println(errors.Is(err, commandhash.ErrType))
	fmt.Println(err)
	// Output:
	// true
	// commandhash: type cannot be hashed: order.pause.v1: Meta[value]: interface {}: an interface may hold a value of any type, and types have no name here; use a concrete type
}

// A test of yours may see to it that no command has a field that differs in each
// of its tellings.
func ExampleLint() {
	for _, finding := range commandhash.Lint[struct {
		ID      string
		TraceID string
		Due     time.Time
	}]() {
		fmt.Println(finding)
	}
	// Output:
	// Due: a time is often that of the sending; if two tellings of one command may differ in it, exclude it (semel:"-")
	// TraceID: its name is of something that is new each time; if two tellings of one command may differ in it, exclude it (semel:"-")
}
