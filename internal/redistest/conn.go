package redistest

import (
	"bufio"
	"context"
	"net"
	"time"
)

// Conn is a bare connection to a Redis server. Its methods are not safe for
// concurrent use, except that one goroutine may send while another receives.
type Conn struct {
	net net.Conn
	in  scanner
}

// Dial connects to a server within 10 s. Close the connection after use.
func Dial(addr string) (*Conn, error) {
	dialer := net.Dialer{Timeout: adminTimeout}
	c, err := dialer.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{net: c, in: scanner{r: bufio.NewReader(c)}}, nil
}

// Send sends a request and does not wait for its reply. Arguments that are not
// string or []byte are sent as fmt.Sprint prints them.
func (c *Conn) Send(args ...any) error {
	_, err := c.net.Write(command(args...))
	return err
}

// Receive waits for the next reply. Strings are string, integers int64, nulls
// nil, lists []any, unasked messages of RESP3 [Push]. An error reply is
// returned as a [ReplyError]; any other error is the connection's.
func (c *Conn) Receive() (any, error) {
	value, _, err := c.in.message()
	if err != nil {
		return nil, err
	}
	if failed, ok := value.(ReplyError); ok {
		return nil, failed
	}
	return value, nil
}

// Do sends a request as Send does and waits for the next reply as Receive does.
func (c *Conn) Do(args ...any) (any, error) {
	if err := c.Send(args...); err != nil {
		return nil, err
	}
	return c.Receive()
}

// SetDeadline ends every Send and Receive at that time; the zero time ends
// none.
func (c *Conn) SetDeadline(at time.Time) error { return c.net.SetDeadline(at) }

// Close ends the connection.
func (c *Conn) Close() error { return c.net.Close() }
