package integration_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/observe"
)

const stormLease = 600 * time.Millisecond

// stormWorker takes deliveries from the office and runs each on a guard, in
// many goroutines, until the office has no more.
func stormWorker() int {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("STORM_REDIS")})
	store, err := redisstore.New(rdb, redisstore.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	calm := os.Getenv("STORM_CALM") != ""
	goroutines, _ := strconv.Atoi(os.Getenv("STORM_GOROUTINES"))
	postman := &postman{calm: calm}
	lease := stormLease
	if calm {
		lease = 30 * time.Second // that no loaded machine loses
	}
	guard, err := idempotency.New(store, idempotency.Options{
		Lease: lease, Retention: time.Hour, Observer: observe.Func(postman.observe),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	postman.guard = guard
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			conn, err := net.Dial("tcp", os.Getenv("STORM_OFFICE"))
			if err != nil {
				return
			}
			defer conn.Close()
			postman.work(&desk{conn: conn, reader: bufio.NewReader(conn)})
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := guard.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// desk is one goroutine's line to the office.
type desk struct {
	conn   net.Conn
	reader *bufio.Reader
}

// say sends a line and returns the answer.
func (d *desk) say(args ...any) (string, error) {
	if _, err := fmt.Fprintln(d.conn, args...); err != nil {
		return "", err
	}
	line, err := d.reader.ReadString('\n')
	return strings.TrimSpace(line), err
}

// postman is one process's workers.
type postman struct {
	guard *idempotency.Guard
	calm  bool
	// doubtful holds the digest of each key of which this process could not
	// record an outcome at once, or lost a claim.
	doubtful sync.Map
}

func (p *postman) observe(_ context.Context, e observe.Event) {
	switch e.Kind {
	case observe.Lost, observe.CompleteFailed, observe.CompleteRefused, observe.CompletedLate:
		counter, _ := p.doubtful.LoadOrStore(fmt.Sprint(e.Key, " ", e.Fence), new(atomic.Int32))
		counter.(*atomic.Int32).Add(1)
	}
}

// doubt reports whether a claim was lost, or its completion not answered.
func (p *postman) doubt(key idempotency.Key, fence uint64) bool {
	d, _ := key.Digest()
	_, ok := p.doubtful.Load(fmt.Sprint(d, " ", fence))
	return ok
}

var errStorm = errors.New("handler failed")

func (p *postman) work(d *desk) {
	for {
		id, err := d.say("NEXT")
		if err != nil || id == "END" {
			return
		}
		if id == "WAIT" {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if !p.deliver(d, id) {
			return
		}
	}
}

// deliver runs one delivery and tells the office how it ended. It survives what
// its handler does.
func (p *postman) deliver(d *desk, id string) (alive bool) {
	key := idempotency.Key{Scope: "storm", ID: id}
	said := make(chan string, 1)
	go func() { // Goexit ends this goroutine alone
		answer := "FAILED"
		var fence uint64
		defer func() {
			_ = recover()
			if fence != 0 && p.doubt(key, fence) {
				_, _ = d.say("DOUBT", id, fence)
			}
			said <- answer
		}()
		wait := time.Duration(0)
		if rand.N(2) == 0 {
			wait = rand.N(2 * time.Second)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		value, out, err := idempotency.DoAs(ctx, p.guard, key, idempotency.RunOptions{Wait: wait}, idempotency.JSON[string](),
			func(ctx context.Context) (string, error) {
				claim, _ := idempotency.ClaimFrom(ctx)
				fence = claim.Fence()
				return p.handle(ctx, d, id, fence)
			})
		switch {
		case err == nil && out.Status == idempotency.Replayed:
			answer = fmt.Sprint("REPLAYED ", value)
		case err == nil && out.Recorded:
			answer = fmt.Sprint("DONE ", value)
		case err == nil:
			_, _ = d.say("DOUBT", id, fence) // the guard goes on to record it
			answer = fmt.Sprint("UNRECORDED ", value)
		}
	}()
	answer := <-said
	_, err := d.say(answer, id)
	return err == nil
}

// handle is a handler on a bad day.
func (p *postman) handle(ctx context.Context, d *desk, id string, fence uint64) (string, error) {
	dice := rand.N(100)
	switch {
	case dice < 4:
		return "", errStorm
	case dice < 6:
		panic("handler panicked")
	case dice < 8:
		runtime.Goexit()
	case dice < 10 && !p.calm:
		select { // longer than the lease, which is renewed
		case <-time.After(stormLease * 3 / 2):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	answer, err := d.say("EFFECT", id, fence)
	if err != nil {
		return "", err
	}
	if answer != "OK" {
		return "", fmt.Errorf("effect refused: %s", answer)
	}
	return fmt.Sprint(id, "/", fence), nil
}
