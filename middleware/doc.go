// Package middleware makes HTTP requests take effect once, for net/http and what
// is built on it, as chi: [Idempotency] runs a request once per Idempotency-Key
// and answers its retries with the recorded answer, and [Serialize] lets one
// request per resource pass at a time. It does not make a handler's effects one
// transaction: after a crash between an effect and the record of it a retry runs
// the handler again, with a higher fence (package idempotency).
//
//	import semelhttp "github.com/semel-go/semel/middleware"
//
//	guard, err := idempotency.New(store, idempotency.Options{})
//	once := semelhttp.Idempotency(guard, tenantOf, semelhttp.IdempotencyOptions{})
//	r.With(once).Post("/payments", pay)
//
// The header is that of draft-ietf-httpapi-idempotency-key-header; what the draft
// leaves open is as at Stripe.
//
// # What happens to a request
//
//	no key, several, malformed ─▶ 400           nothing is claimed
//	scope not known ────────────▶ 401, 500      until the whole body is here,
//	body too large, unreadable ─▶ 413, 400      and nothing runs unclaimed
//	                │
//	              claim ─────────▶ refused: a duplicate is answered, see below
//	                │
//	             handler ────────▶ panics: the key is free, the panic goes on
//	                │
//	        is it the outcome? ──▶ no: the key is free, a retry runs the handler
//	                │ yes
//	             record           a retry gets the recorded answer
//
// A key is its header's value within its scope. What it was used for is in the
// fingerprint: method, path and query of the target as it was received, media
// type, and body. It does not matter where in a router the middleware stands.
//
// The answer goes to the client as the handler writes it, or, with CommitFirst,
// when its outcome is recorded. The request is over when the handler has
// returned, whether or not the client is still there: a client that leaves
// neither stops the recording nor keeps the outcome from being stored.
//
// # What is stored
//
//	status                                  a retry
//	2xx, 3xx, 400, 402, 410, 422, 451       gets the recorded answer
//	101, a hijacked connection              gets 409 result_not_retained
//	anything else                           runs the handler again
//
// That is [DefaultStatuses]; [StripeStatuses], [SuccessOnly] or a function of
// your own decide otherwise. The handler has the last word, by its claim
// ([idempotency.ClaimFrom]): Keep stores whatever the status is, Release frees
// the key, and Unknown holds it, for an effect of which nobody knows whether it
// happened. A handler that fails after its effect must use one of them.
//
// An answer is replayed with its status, its body to the byte, and those headers
// that the handler itself has set, with Idempotent-Replayed: true. What belongs
// to one caller or one exchange is not recorded: cookies, authentication, CORS,
// rate limits, request and trace ids, dates. The headers that middleware outside
// of this sets are those of the retry. Of an answer that is larger than
// MaxResponse, an event stream, and one whose length is not what it declared,
// status and Location are recorded alone.
//
// # What a client is told, and what it should do
//
//	400 key_missing              a mistake: send a key
//	400 key_malformed            a mistake: send one proper key
//	422 key_mismatch             a mistake: the key was used for another request
//	409 in_progress              the same request and key again, after Retry-After
//	503 store_unavailable        likewise; nothing was run
//	400 body_unreadable          likewise
//	500 scope_failed             likewise
//	413 body_too_large           nothing was run
//	401 no_principal             authenticate, then the same again
//	409 result_not_retained      completed: no new key; look it up
//	409 outcome_unknown          perhaps completed: no new key; ask
//	406 encoding_not_acceptable  completed: the Accept-Encoding of the first
//	403 replay_refused           completed, and not for this caller to see
//	409 resource_busy            the same again, after Retry-After (Serialize)
//	400 resource_key_missing     a mistake: name the resource (Serialize)
//
// They are problems of RFC 9457; see [Problem] and [Code]. A mismatch is told
// even while the first request is under way.
//
// # Where it stands
//
// From the outside in:
//
//	recovery, logging, request ids    see what the client sees
//	CORS                              answers preflights, marks replays, too
//	http.TimeoutHandler               it answers, the handler is still recorded
//	compression                       each answer in the encoding of its request
//	authentication, rate limits       before the scope; what they refuse has no key
//	Idempotency
//	Serialize                         duplicates do not queue for the resource
//	handler
//
// http.TimeoutHandler inside of it would be a mistake: it answers 503 and
// returns while the handler goes on, so the key is free and a retry runs beside
// it. Compression inside works, and ties a replay to the encoding of the first
// request; gzip and deflate are undone for a retry that does not accept them.
//
// # When the store is not there
//
// A request that cannot be claimed within StoreTimeout is answered with 503 and
// not run, unless FailOpen is set. If the outcome cannot be recorded, the first
// caller gets its answer, and the guard goes on trying; meanwhile duplicates are
// told that it is in progress. The guard's observer hears of all of it, and of
// keys nothing but their digest.
package middleware
