package semel_test

// What some rules name more than once.
const (
	chi       = "github.com/go-chi/chi/v5"
	goRedis   = "github.com/redis/go-redis/v9"
	miniredis = "github.com/alicebob/miniredis/v2"
	stripeGo  = "github.com/stripe/stripe-go/v76"
	testify   = "github.com/stretchr/testify"
	watermill = "github.com/ThreeDotsLabs/watermill"
)

// rule says what a package may import besides the standard library. Packages of
// this repository are named relative to its root and exactly; any other path
// means all that lies below it, too.
type rule struct {
	// pkg is the package, or a tree of packages if it ends in "/...". A tree's
	// packages may import each other.
	pkg string
	// imports is what its code may import.
	imports []string
	// tests is what its tests may import in addition. The package itself goes
	// without saying.
	tests []string
	// why is the reason, for whoever broke the rule.
	why string
}

// importTable is the architecture: who may import whom. Arrows point downwards
// only, and a user's program pays for what it uses and for nothing else.
func importTable() []rule {
	return []rule{
		{
			pkg:   ".",
			tests: []string{testify},
			why:   "the root is a signpost and holds no code",
		},
		{
			pkg:   "observe",
			tests: []string{testify},
			why:   "observe is the lowest layer: every other one imports it, so it imports none and no exporter",
		},
		{
			pkg:     "internal/keeper",
			imports: []string{"unsafe"},
			tests:   []string{testify},
			why:     "the keeper renews leases of any kind, so it knows none of them; unsafe is for the clock that counts suspend",
		},
		{
			pkg:     "internal/leaktest",
			imports: []string{"testing"},
			tests:   []string{testify},
			why:     "tests of every layer use it, so it knows none",
		},
		{
			pkg:   "internal/notice",
			tests: []string{testify, "internal/leaktest"},
			why:   "stores in memory of any kind tell through it, so it knows none of them",
		},
		{
			pkg:   "internal/line",
			tests: []string{testify},
			why:   "the line keeps waiters of any kind in order, so it knows none of them",
		},
		{
			pkg:   "internal/dialect",
			tests: []string{testify, "internal/leaktest"},
			why:   "backends on SQL of any kind use it, so it knows none of them, and no driver",
		},
		{
			pkg:   "internal/request",
			tests: []string{testify},
			why:   "a body is read before anything is known of it, so it knows no key and no handler",
		},
		{
			pkg:   "internal/response",
			tests: []string{testify, "internal/leaktest"},
			why:   "an answer is recorded and replayed by what is above, so it knows no key, no store and no handler",
		},
		{
			pkg:     "lock",
			imports: []string{"observe", "internal/keeper", "internal/line"},
			tests:   []string{"lock/memlock", "lock/locktest", "lock/redislock", "internal/redistest", testify, goRedis, miniredis},
			why:     "lock is an API layer: it reaches downwards and the standard library, and a store reaches it, never the other way",
		},
		{
			pkg:     "lock/memlock",
			imports: []string{"lock", "internal/notice"},
			tests:   []string{"lock/locktest", testify},
			why:     "a backend reaches its API and nothing else of ours; no backend imports another",
		},
		{
			pkg:     "lock/redislock",
			imports: []string{"lock", "internal/redisclient", goRedis},
			tests:   []string{"lock/locktest", "internal/redistest", testify, miniredis},
			why:     "a backend reaches its API and its one client library; no backend imports another",
		},
		{
			pkg:     "lock/failoverlock",
			imports: []string{"lock", "observe", "internal/dialect", "internal/keeper"},
			tests:   []string{"lock/memlock", "internal/leaktest", testify},
			why:     "it is given the primary as a lock.Backend and the database as a *sql.DB: no backend imports another, and no driver",
		},
		{
			pkg:     "lock/locktest",
			imports: []string{"lock", "observe", "testing"},
			tests:   []string{"lock/memlock", testify},
			why:     "the suite is public: who tests a backend of their own gets the standard library's testing and nothing to resolve",
		},
		{
			pkg:     "idempotency",
			imports: []string{"observe", "lock", "internal/keeper", "internal/line"},
			tests:   []string{"idempotency/memstore", "idempotency/idempotencytest", testify},
			why:     "idempotency is an API layer: it reaches downwards and the standard library, and a store reaches it, never the other way",
		},
		{
			pkg:     "idempotency/memstore",
			imports: []string{"idempotency", "lock", "internal/notice"},
			tests:   []string{"idempotency/idempotencytest", testify},
			why:     "a store reaches its API and what that is built on; no store imports another",
		},
		{
			pkg:     "idempotency/redisstore",
			imports: []string{"idempotency", "lock", "observe", "internal/redisclient", goRedis},
			tests:   []string{"idempotency/idempotencytest", "internal/leaktest", "internal/redistest", testify, miniredis},
			why:     "a store reaches its API, what that is built on, and its one client library; no store imports another",
		},
		{
			pkg:     "idempotency/idempotencytest",
			imports: []string{"idempotency", "lock", "observe", "testing"},
			tests:   []string{"idempotency/memstore", testify},
			why:     "the suite is public: who tests a store of their own gets the standard library's testing and nothing to resolve",
		},
		{
			pkg:     "cqrs",
			imports: []string{"idempotency", "lock", "cqrs/commandhash"},
			tests:   []string{"idempotency/memstore", "lock/memlock", "internal/leaktest", testify},
			why:     "it puts commands before what is below, on any store, and it and middleware never meet",
		},
		{
			pkg:   "cqrs/commandhash",
			tests: []string{"internal/leaktest", testify},
			why:   "a command's hash is frozen, so it rests on nothing but the standard library",
		},
		{
			pkg:     "cqrs/watermillcqrs",
			imports: []string{"cqrs", "idempotency", "lock", watermill},
			tests:   []string{"idempotency/memstore", "internal/leaktest", testify},
			why:     "it puts Watermill before package cqrs, on any store and any broker, so it knows neither",
		},
		{
			pkg:     "middleware",
			imports: []string{"idempotency", "lock", "observe", "internal/request", "internal/response"},
			tests: []string{
				"idempotency/memstore", "idempotency/redisstore", "lock/memlock", "lock/redislock",
				"internal/leaktest", "internal/redistest", testify, goRedis, chi,
			},
			why: "it puts HTTP before what is below, on any store and under any router, so it knows no store and no router",
		},
		{
			pkg:     "middleware/webhook",
			imports: []string{"idempotency", "observe", "internal/request", "internal/response"},
			tests: []string{
				"middleware", "idempotency/memstore", "idempotency/redisstore", "lock", "lock/memlock",
				"middleware/webhook/stripehook", "middleware/webhook/paypalhook", "middleware/webhook/standardhook",
				"middleware/webhook/githubhook", "middleware/webhook/shopifyhook", "middleware/webhook/slackhook",
				"middleware/webhook/squarehook", "middleware/webhook/paddlehook", "middleware/webhook/adyenhook",
				"middleware/webhook/hmachook", "middleware/webhook/webhooktest", "middleware/webhook/internal/vectors",
				"internal/leaktest", "internal/redistest", testify, goRedis, chi,
			},
			why: "it is what all providers share, so it knows none of them",
		},
		{
			pkg:   "middleware/webhook/internal/jsonfield",
			tests: []string{testify},
			why:   "it reads a field of a body for any adapter, so it knows none, and no webhook either",
		},
		{
			pkg:     "middleware/webhook/internal/signed",
			imports: []string{"middleware/webhook"},
			tests:   []string{testify},
			why:     "it is what adapters have in common, so it knows none of them",
		},
		{
			pkg:     "middleware/webhook/internal/vectors",
			imports: []string{"testing"},
			tests:   []string{testify},
			why:     "adapters are tested with it, so it uses none of their code",
		},
		{
			pkg:     "middleware/webhook/webhooktest",
			imports: []string{"middleware/webhook/paypalhook", "testing"},
			tests:   []string{"middleware/webhook/internal/vectors", testify},
			why:     "what signs shares no code with what verifies, or both could be wrong alike; PayPal's only hands over the Options of its test root",
		},
		{
			pkg:     "middleware/webhook/stripehook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed", stripeGo},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "middleware/webhook/standardhook",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer and its provider's library; none imports another, but to be told apart in a test",
		},
		{
			pkg:     "middleware/webhook/standardhook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests:   []string{"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", testify},
			why:     "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "middleware/webhook/paypalhook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "internal/leaktest",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer, and none imports another; its forgeries are refused by a guard, in a test",
		},
		{
			pkg:     "middleware/webhook/hmachook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests:   []string{"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", testify},
			why:     "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "middleware/webhook/githubhook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "internal/leaktest",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "middleware/webhook/shopifyhook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "internal/leaktest",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "middleware/webhook/slackhook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "internal/leaktest",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "middleware/webhook/squarehook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "internal/leaktest",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "middleware/webhook/paddlehook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "internal/leaktest",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "middleware/webhook/adyenhook",
			imports: []string{"middleware/webhook", "middleware/webhook/internal/jsonfield", "middleware/webhook/internal/signed"},
			tests: []string{
				"middleware/webhook/webhooktest", "middleware/webhook/internal/vectors", "internal/leaktest",
				"idempotency", "idempotency/memstore", testify,
			},
			why: "an adapter reaches the webhook layer, and none imports another",
		},
		{
			pkg:     "cmd/semel",
			imports: []string{"idempotency", "idempotency/redisstore", "internal/response", "lock/redislock", goRedis},
			tests:   []string{"middleware", "middleware/webhook", "internal/redistest", testify, miniredis},
			why:     "the program uses the library as a user would, and brings no module that the library does not",
		},
		{
			pkg:     "internal/redisclient",
			imports: []string{"lock", goRedis},
			tests:   []string{"internal/leaktest", "internal/redistest", testify, miniredis},
			why:     "it is what the stores on Redis share, so it knows none of them",
		},
		{
			pkg:     "internal/redistest",
			imports: []string{"testing"},
			tests:   []string{"internal/leaktest", testify},
			why:     "it is what client libraries are tested with, so it uses none; and what it starts, any module's tests may start",
		},
		{
			pkg:     "internal/sqltest",
			imports: []string{"testing"},
			tests:   []string{"internal/leaktest", testify},
			why:     "it is what stores on SQL are tested with, so it knows no driver; and what it starts, any module's tests may start",
		},
		{
			pkg: "internal/bench/...",
			imports: []string{
				"lock", "lock/memlock", "lock/redislock",
				"idempotency", "idempotency/memstore", "idempotency/redisstore",
				"cqrs/commandhash", "internal/redistest", "testing", "unsafe", goRedis,
				"github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/redis/rueidis",
				"github.com/mitchellh/hashstructure/v2",
			},
			tests: []string{testify},
			why:   "it compares us with our peers, and is a module of its own so that nobody else resolves them; unsafe is for memory that processes share",
		},
		{
			pkg: "internal/integration/...",
			imports: []string{
				"lock", "lock/memlock", "lock/redislock", "lock/locktest",
				"idempotency", "idempotency/memstore", "idempotency/redisstore", "idempotency/idempotencytest",
				"middleware/webhook", "middleware/webhook/stripehook", "middleware/webhook/webhooktest",
				"observe", "internal/redistest", "internal/sqltest", "testing", testify, goRedis, miniredis,
				"lock/sqllock", "lock/pglock", "lock/failoverlock",
				"cqrs", "cqrs/watermillcqrs", "internal/leaktest", watermill, watermill + "-redisstream",
				"github.com/jackc/pgx/v5", "github.com/lib/pq", "github.com/go-sql-driver/mysql", "modernc.org/sqlite",
			},
			why: "it runs whole programs against real servers, and uses them as a user would",
		},
	}
}

// guarded names the packages of the standard library, with those below, that
// code other than tests may import only if its rule says so.
func guarded() []string {
	return []string{
		"C",       // users cross-compile
		"log",     // a library tells its Observer, not the process's log; log/slog is free
		"plugin",  // loads code
		"testing", // registers flags and says "test" in a production binary
		"unsafe",  // needs a reason each time
	}
}

// testOnly names the modules that no published package may depend on, however
// far below.
func testOnly() []string { return []string{testify, miniredis} }

// rootRequires names all that the root module may require directly.
func rootRequires() []string {
	return []string{
		goRedis, miniredis, testify,
		"github.com/go-chi/chi/v5",
		stripeGo,
	}
}

// published reports whether users can import packages of the module in dir:
// all but the modules that exist for our own tests and examples.
func published(dir string) bool {
	return !matches("internal/...", dir) && !matches("examples/...", dir)
}
