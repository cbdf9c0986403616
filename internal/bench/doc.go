// Package bench measures Semel's locks, records and command hash beside their
// peers.
//
// A [Contender] is one lock with one client, all with the same [TTL]:
//
//	raw                     go-redis alone: SET NX, and EVALSHA to compare and delete
//	redislock               github.com/bsm/redislock on go-redis
//	redsync                 github.com/go-redsync/redsync/v4 on go-redis
//	rueidislock             github.com/redis/rueidis/rueidislock on rueidis
//	semel                   lock.Locker on redislock.Backend on go-redis
//	...-autopipeline        the same on go-redis's AutoPipeline face
//	...-asyncpipeline       the same on go-redis's AsyncAutoPipeline face
//
// Only semel's locks carry a fence, and only its and rueidislock's are renewed.
//
// There are two forms. The benchmarks are
// ordinary ones, for benchstat:
//
//	go test -bench . -count 6
//
// They run one contender after the other, so on a machine whose speed changes
// from minute to minute two of them are not comparable. The ratios are: there
// the contenders alternate within one run, operation by operation or slice by
// slice, and are compared with the bars they have to clear:
//
//	go test -run '^TestRatios$' -v -timeout 30m -ratios
//
// Nothing here fails for being slow unless -ratios.strict asks for it.
//
// One Redis on loopback serves all contenders and shares the machine with
// them. What is measured is therefore the cost of client, server and kernel
// together; a network's latency comes on top for all alike.
//
// The module is nested so that the other locks are no dependency of Semel's
// users. It needs a Unix, for memory shared between processes.
package bench
