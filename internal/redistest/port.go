package redistest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports come from below the range from which systems take the ports of
// outgoing connections (32768 and up on Linux). Else a client that dials a
// server that is down may be given that server's port as its own, and so stop
// it from restarting, or even be connected to itself. A Cluster node uses the
// port 10000 above its own for its bus; that stays below the range, too.
const (
	minPort   = 10000
	maxPort   = 22000
	busOffset = 10000
)

// loopback is where everything listens.
const loopback = "127.0.0.1"

// port is a TCP port that stays reserved for one server, also while that is
// down, until it is closed.
type port struct {
	number int
	held   []net.PacketConn
}

// reservePort finds a free port whose bus port is free as well.
//
// The reservation is the UDP port of the same number. Redis does not use it,
// no other test process can have it, and it ends with this process.
func reservePort() (*port, error) {
	var last error
	for range 200 {
		p, err := holdPort(minPort + rand.IntN(maxPort-minPort))
		if err == nil {
			return p, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free port: %w", last)
}

// holdPort reserves one port.
func holdPort(number int) (*port, error) {
	p := &port{number: number}
	for _, n := range []int{number, number + busOffset} {
		var config net.ListenConfig
		udp, err := config.ListenPacket(context.Background(), "udp", address(n))
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.held = append(p.held, udp)
		// Somebody who knows nothing of reservations may have it.
		tcp, err := listen(n)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		if err := tcp.Close(); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

// close gives the port back.
func (p *port) close() error {
	var errs []error
	for _, held := range p.held {
		errs = append(errs, held.Close())
	}
	p.held = nil
	return errors.Join(errs...)
}

// listen listens on a port of the loopback interface; 0 is any free one.
func listen(port int) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(context.Background(), "tcp", address(port))
}

// address is a port of the loopback interface.
func address(port int) string {
	return net.JoinHostPort(loopback, strconv.Itoa(port))
}
