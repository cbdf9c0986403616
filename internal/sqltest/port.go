package sqltest

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
// it from restarting.
const (
	minPort = 22000
	maxPort = 32000
)

// loopback is where everything listens.
const loopback = "127.0.0.1"

// port is a TCP port that stays reserved for one server, also while that is
// down, until it is closed. The reservation is the UDP port of the same number:
// no other test process can have it, and it ends with this process.
type port struct {
	number int
	held   net.PacketConn
}

// reservePort finds a free port.
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
	var config net.ListenConfig
	udp, err := config.ListenPacket(context.Background(), "udp", address(number))
	if err != nil {
		return nil, err
	}
	// Somebody who knows nothing of reservations may have it.
	tcp, err := listen(number)
	if err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	if err := tcp.Close(); err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	return &port{number: number, held: udp}, nil
}

// close gives the port back.
func (p *port) close() error { return p.held.Close() }

// listen listens on a port of the loopback interface; 0 is any free one.
func listen(port int) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(context.Background(), "tcp", address(port))
}

// address is a port of the loopback interface.
func address(port int) string {
	return net.JoinHostPort(loopback, strconv.Itoa(port))
}
