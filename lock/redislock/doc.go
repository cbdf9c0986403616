// Package redislock keeps the ownership of keys in Redis: one server, a primary
// found by Sentinel, or a Cluster. It is a [lock.Backend]; waiting, renewal and
// deadlines are package lock's. It does not make Redis durable or consistent:
// what a restart, a failover or an eviction forgets, another may be granted
// while the first still trusts its lease, and then only the fence tells them
// apart.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	backend, err := redislock.New(rdb, redislock.Options{})
//	locker, err := lock.New(backend, lock.Options{})
//
// # What is stored
//
// A lock is one Redis key, [Options].Prefix followed by the lock's key byte for
// byte. There is never a second key, so nothing can be split over two slots of
// a Cluster, and acquire and release work while a slot moves. The value is text
// of fixed columns:
//
//	1 held - 1790000000000064 1790000000000001 0000000064 2BXN7Q4K...
//	| |    | |                |                |          nonce
//	| |    | |                |                fences in the grant's block
//	| |    | |                first fence of the grant
//	| |    | last fence reserved for the key
//	| |    "w" if somebody waits
//	| held, kept or free
//	format
//
// Every value has an expiry, and no operation removes it. A released lock is
// not deleted: its value stays, free, for one TTL, so that a copy of the acquire
// that comes late is refused, and so that fences go on from it.
//
// # Authority
//
// The server's clock alone decides what has expired; only remaining times are
// sent, rounded up to milliseconds. The first fence of a grant is the last one
// in the value plus 1 or the server's clock in µs, whichever is greater. So
// fences rise also after the value expired or the data was lost, unless the
// clock is set back by more than the time since the key's last grant.
//
// Every operation is one script and one round trip. A script that the server
// does not know, after a restart, a failover or SCRIPT FLUSH, is sent in full.
//
// # Failures
//
// go-redis resends a command whose reply was lost. Each script recognises its
// own nonce, so that a copy does no harm and is answered as the first was.
//
// Replication is asynchronous: a failover can lose grants. [Options].Replicas
// makes a grant wait for replicas, which makes such a loss rarer and does not
// rule it out: a replica that did not acknowledge may be promoted.
//
// # Waiting
//
// A refused asker who waits leaves a mark in the value. The release of a marked
// value publishes on the channel that is named like the Redis key; other
// releases publish nothing. A [lock.Listener] has one subscribed connection (a
// Ring one for each shard in use). In a Cluster an ordinary PUBLISH reaches
// every node, so it does not matter which of them that is.
//
// # What the user of the server must be granted
//
//	user semel on >secret resetkeys resetchannels ~semel:lock:* &semel:lock:*
//	    +evalsha +eval +get +set +setrange +pttl +pexpire +time
//	    +publish +subscribe +unsubscribe +ping
//
// and on top of it +wait for Options.Replicas, +scan for List, +info for Doctor,
// and what the client itself needs (hello, client, cluster|slots).
package redislock
