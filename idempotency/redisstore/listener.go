package redisstore

import (
	"encoding/base64"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// Listen implements [lock.Waiter]; a key is the bytes of a digest. The
// connection is opened by the first Watch and stays until Close, also while
// nothing is watched. A connection that says nothing for some seconds, although
// it is asked, is given up for a new one. Where the server does not allow
// subscriptions nothing is ever told, and those who wait find out when the
// remaining time they were told is over.
//
// notify must not block, and must not call Close.
func (s *Store) Listen(notify func(key string)) lock.Listener {
	return &listener{
		store: s,
		channels: s.redis.Listen(func(channel string) {
			if key, err := base64.RawURLEncoding.DecodeString(channel[len(s.prefix):]); err == nil {
				notify(string(key))
			}
		}),
	}
}

// listener watches the channels of keys.
type listener struct {
	store    *Store
	channels *redisclient.Listener
}

func (l *listener) Watch(key string)   { l.channels.Watch(l.store.nameOf([]byte(key), "")) }
func (l *listener) Unwatch(key string) { l.channels.Unwatch(l.store.nameOf([]byte(key), "")) }
func (l *listener) Close() error       { return l.channels.Close() }
