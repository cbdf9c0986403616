package bench

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/mitchellh/hashstructure/v2"

	"github.com/semel-go/semel/cqrs/commandhash"
)

// The names of what hashes commands.
const (
	CommandHash   = "commandhash"
	KeyedHash     = "commandhash-secret"
	JSONHash      = "json+sha256"
	Hashstructure = "hashstructure"
)

// Hash is a way to make a key of a command's content. Only commandhash's is
// frozen, tells a name and a tenant apart, and is refused where two commands
// could meet; hashstructure's has 64 bits and is no cryptographic one.
type Hash struct {
	Name string
	// Repeat hashes the same command n times.
	Repeat func(n int) error
}

// FlatCommand is a command as most are.
type FlatCommand struct {
	Customer string  `json:"customer"`
	Order    string  `json:"order"`
	Currency string  `json:"currency"`
	Amount   int64   `json:"amount"`
	Quantity int32   `json:"quantity"`
	Express  bool    `json:"express"`
	Discount float64 `json:"discount"`
	Note     string  `json:"note"`
}

// NestedCommand has all that costs more: structs in a slice and behind a
// pointer, and a map.
type NestedCommand struct {
	ID    string            `json:"id"`
	Lines []CommandLine     `json:"lines"`
	Ship  *CommandAddress   `json:"ship"`
	Meta  map[string]string `json:"meta"`
}

// CommandLine is an element of a NestedCommand.
type CommandLine struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int64  `json:"cents"`
}

// CommandAddress is what a NestedCommand points to.
type CommandAddress struct {
	Street string `json:"street"`
	City   string `json:"city"`
	Zip    string `json:"zip"`
}

// FlatHashes returns the ways to hash a FlatCommand.
func FlatHashes() ([]Hash, error) {
	return hashes(FlatCommand{
		Customer: "cus_9s6XKzkNRiz8i3", Order: "ord_2026_0001", Currency: "EUR",
		Amount: 1299, Quantity: 3, Express: true, Discount: 0.05, Note: "leave at the door",
	})
}

// NestedHashes returns the ways to hash a NestedCommand.
func NestedHashes() ([]Hash, error) {
	return hashes(NestedCommand{
		ID:    "ord_2026_0001",
		Lines: []CommandLine{{"sku-1", 1, 500}, {"sku-2", 2, 250}, {"sku-3", 3, 125}},
		Ship:  &CommandAddress{"1 Main St", "Springfield", "12345"},
		Meta:  map[string]string{"channel": "web", "campaign": "spring", "locale": "en", "store": "7"},
	})
}

// hashes returns the ways to hash c.
func hashes[C any](c C) ([]Hash, error) {
	plain, err := commandhash.New[C]("bench.v1", commandhash.Options{})
	if err != nil {
		return nil, err
	}
	keyed, err := commandhash.New[C]("bench.v1", commandhash.Options{Secret: make([]byte, sha256.Size)})
	if err != nil {
		return nil, err
	}
	repeat := func(name string, once func() error) Hash {
		return Hash{name, func(n int) error {
			for range n {
				if err := once(); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	return []Hash{
		repeat(CommandHash, func() error {
			_, err := plain.Sum("tenant", c)
			return err
		}),
		repeat(KeyedHash, func() error {
			_, err := keyed.Sum("tenant", c)
			return err
		}),
		repeat(JSONHash, func() error {
			text, err := json.Marshal(c)
			_ = sha256.Sum256(text)
			return err
		}),
		repeat(Hashstructure, func() error {
			_, err := hashstructure.Hash(c, hashstructure.FormatV2, nil)
			return err
		}),
	}, nil
}
