// Package redisclient is what Semel's Redis backends have in common: one way to
// call a script, to reach the server that has a key, to wait for replicas and to
// listen, whatever kind of go-redis client it is done through. It knows nothing
// of locks or records.
//
//	r, err := redisclient.New(rdb, redisclient.Options{})
//	var c redisclient.Call
//	c.Begin(script, "a key")
//	c.Add("an argument")
//	cmd, err := redisclient.Run(ctx, r, &c, redis.NewIntCmd)
//
// # Resending
//
// go-redis sends a command again if its reply was lost, and so does this package
// if a server answers NOSCRIPT or redirects. What is called here must be safe to
// call twice: each script recognises its own nonce or its own effect.
//
// # Endings
//
// A method returns when the client has an answer or gives up. Only on the
// deferred face of an AutoPipeliner does it return as soon as its context ends,
// with a *lock.InDoubtError while the command is still under way.
package redisclient
