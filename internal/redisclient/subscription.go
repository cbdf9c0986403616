package redisclient

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pingEvery is how often a subscribed server is asked for a sign of life.
	pingEvery = 2 * time.Second
	// silence is how long a server may say nothing before its connection is
	// given up: two pings have been due by then, and the client's clock may be
	// a little behind.
	silence = 5 * time.Second
	// resendAfter is the pause before what could not be sent is sent again.
	resendAfter = 250 * time.Millisecond
	// maxBackoff is the longest pause between two attempts to connect.
	maxBackoff = time.Second
	// subscribeAtOnce is how many channels one command names at most.
	subscribeAtOnce = 512
)

// subscription is one connection that listens to channels. Two goroutines own
// it: one reads, the other writes; whoever watches only leaves word.
//
// go-redis's PubSub connects anew by itself when a read or a write fails, and
// then subscribes to all channels it knows of, which the server confirms one by
// one. Every confirmation is passed on: what was published before it went
// unheard.
type subscription struct {
	notify func(channel string)
	stop   context.CancelFunc // ends both goroutines
	wg     sync.WaitGroup

	mu      sync.Mutex
	wanted  map[string]struct{} // the channels to listen to
	changed map[string]struct{} // those whose place in wanted changed since it was last sent
	wake    chan struct{}       // holds one if changed is not empty
}

func newSubscription(client Client, notify func(string)) *subscription {
	s := &subscription{
		notify:  notify,
		wanted:  map[string]struct{}{},
		changed: map[string]struct{}{},
		wake:    make(chan struct{}, 1),
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	// Without a channel this makes no connection yet. Ring, which does not have
	// it so, is not asked: its shards are.
	pubsub := client.Subscribe(ctx)
	s.wg.Go(func() { s.write(ctx, pubsub) })
	return s
}

func (s *subscription) wait() { s.wg.Wait() }

func (s *subscription) watch(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.wanted[channel]; ok {
		return
	}
	s.wanted[channel] = struct{}{}
	s.change(channel)
}

func (s *subscription) unwatch(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.wanted[channel]; !ok {
		return
	}
	delete(s.wanted, channel)
	s.change(channel)
}

// change leaves word of a channel. The mutex is held.
func (s *subscription) change(channel string) {
	s.changed[channel] = struct{}{}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what has changed: the channels to subscribe to and those to
// leave. A channel that was left and is wanted again before that was sent is
// subscribed to again, for the sake of the confirmation.
func (s *subscription) take() (join, leave []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel := range s.changed {
		if _, ok := s.wanted[channel]; ok {
			join = append(join, channel)
		} else {
			leave = append(leave, channel)
		}
	}
	s.changed = map[string]struct{}{}
	return join, leave
}

// putBack leaves word again of channels that could not be sent.
func (s *subscription) putBack(channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range channels {
		s.changed[channel] = struct{}{}
	}
}

// write sends what has changed, and pings, until the subscription is stopped.
// It starts the reader once there is a channel, so that a Cluster client can
// choose the node by it.
func (s *subscription) write(ctx context.Context, pubsub *redis.PubSub) {
	defer func() { _ = pubsub.Close() }() // Ends the reader's wait.
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	resend := time.NewTimer(0)
	resend.Stop()
	defer resend.Stop()
	reading := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			if reading {
				_ = pubsub.Ping(ctx) // A failure makes a new connection.
			}
			continue
		case <-s.wake:
		case <-resend.C:
		}
		join, leave := s.take()
		left := send(ctx, pubsub.Unsubscribe, leave)
		joined := send(ctx, pubsub.Subscribe, join)
		if !left || !joined {
			s.putBack(leave)
			s.putBack(join)
			resend.Reset(resendAfter)
		}
		if !reading {
			reading = true
			s.wg.Go(func() { s.read(ctx, pubsub) })
		}
	}
}

// send names channels in commands of a bearable length. On a failure the client
// may or may not have them on its list; sending them twice does no harm.
func send(ctx context.Context, command func(context.Context, ...string) error, channels []string) bool {
	for len(channels) > 0 {
		n := min(len(channels), subscribeAtOnce)
		if err := command(ctx, channels[:n]...); err != nil {
			return false
		}
		channels = channels[n:]
	}
	return true
}

// read passes on what the server says until the subscription is stopped.
func (s *subscription) read(ctx context.Context, pubsub *redis.PubSub) {
	backoff := time.Duration(0)
	for {
		// A deadline in the context, unlike one in ReceiveTimeout, makes the
		// client give the connection up when it passes.
		limited, cancel := context.WithTimeout(ctx, silence)
		message, err := pubsub.Receive(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// The first failure has already made a new connection, mostly.
			if backoff > 0 && !sleep(ctx, backoff) {
				return
			}
			backoff = min(2*backoff+10*time.Millisecond, maxBackoff)
			continue
		}
		backoff = 0
		switch m := message.(type) {
		case *redis.Message:
			s.notify(m.Channel)
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				s.notify(m.Channel)
			}
		}
	}
}

// sleep waits for d and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
