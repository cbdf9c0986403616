// Package redisstore keeps idempotency records in Redis: one server, a primary
// found by Sentinel, or a Cluster. It is an [idempotency.Store]; waiting,
// renewal, deadlines and codecs are package idempotency's. It does not make
// Redis durable or consistent: a claim or a record that a restart, a failover or
// an eviction forgets is run again when it is delivered again, and only a
// resource that checks the fence, or that records the outcome itself, is safe
// from that.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	store, err := redisstore.New(rdb, redisstore.Options{})
//	guard, err := idempotency.New(store, idempotency.Options{})
//
// # What is stored
//
// A record is one Redis key, [Options].Prefix followed by the key's digest in
// base64. There is never a second key, so nothing can be split over two slots
// of a Cluster, and all methods work while a slot moves. The value begins with
// fixed columns; all text is ASCII, all numbers in it are decimal with leading
// zeros, binary numbers are big endian:
//
//	offset  bytes  content
//	0       1      "1", the format
//	1       1      "c" claimed, "d" completed, "u" unknown, "f" free
//	2       1      "w" if somebody waits, else "-"
//	3       1      "0", plus 1 if there is a fingerprint, plus 2 if there is a label
//	4       16     nonce, binary
//	20      16     fence, text
//	36      10     attempt, text
//
// What follows depends on the state:
//
//	claimed, unknown   fingerprint (32, if there is one), label
//	free               the time before which it may not be claimed, in µs since
//	                   1970 by the server's clock (16, text)
//	completed          claimed at, completed at (6 each, binary, signed ms since
//	                   1970), fingerprint (32, if there is one), label after its
//	                   length (4, binary; both if there is one), body
//
// A completed record with a fingerprint, an empty body and no label is 90 bytes.
//
// A binding is the Redis key Prefix, id in base64, ":b"; its value is "1b" and
// the bound digest. No record has such a name, whatever its prefix.
//
// Every value has an expiry, and no operation removes it. A released claim is
// not deleted: its value stays, free, so that a copy of the Begin that comes
// late is refused, and so that fences and attempts go on from it.
//
// A value of another format, which a later version may have written, is never
// taken for an absent key, and never overwritten.
//
// # Authority
//
// The server's clock alone decides what has expired; only remaining times are
// sent, rounded up to milliseconds. A fence is the last one in the value plus 1
// or the server's clock in µs, whichever is greater. So fences rise also after
// the value expired or the data was lost, unless the clock is set back by more
// than the time since the key's last claim.
//
// Every operation is one script and one round trip. A script that the server
// does not know, after a restart, a failover or SCRIPT FLUSH, is sent in full.
//
// # Failures
//
// go-redis resends a command whose reply was lost. Each script recognises its
// own nonce, so that a copy does no harm and is answered as the first was; only
// Forget and ReleaseDead, an operator's tools, may answer such a copy that there
// was nothing left to do. A Complete whose first copy found the claim over is
// told by the second that it was in time.
//
// Replication is asynchronous: a failover can lose claims and records.
// [Options].Replicas makes both wait for replicas, which makes such a loss rarer
// and does not rule it out: a replica that did not acknowledge may be promoted.
//
// # Waiting
//
// A refused asker who waits leaves a mark in the value. The end of a marked
// claim publishes on the channel that is named like the Redis key; other ends
// publish nothing. A [lock.Listener] has one subscribed connection (a Ring one
// for each shard in use). In a Cluster an ordinary PUBLISH reaches every node,
// so it does not matter which of them that is.
//
// # What the user of the server must be granted
//
//	user semel on >secret resetkeys resetchannels ~semel:run:* &semel:run:*
//	    +evalsha +eval +get +set +getrange +setrange +strlen +pttl +pexpire +time
//	    +publish +subscribe +unsubscribe +ping
//
// and on top of it +wait for Options.Replicas, +scan for List, +info for the
// warning that Options.Observer is given, and what the client itself needs
// (hello, client, cluster|slots).
package redisstore
