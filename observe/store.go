package observe

// What a store reports.
const (
	// EvictionPossible: the store's server is configured so that it may drop
	// claims, records or bindings before their time to make room. What is
	// dropped runs again when it is delivered again. Err says which server it
	// is and what to change. It is told at most once per store and server, and
	// nothing is refused.
	EvictionPossible Kind = "eviction_possible"
)
