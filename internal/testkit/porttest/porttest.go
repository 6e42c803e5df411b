// Package porttest reserves loopback ports for tests whose program needs a fixed port. To
// listen on port 0 and reuse the number is not enough: the system may assign it to another
// listener or an outgoing connection. These ports are outside the ephemeral range and are
// reserved against other tests, including those of packages that run at the same time.
package porttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
)

// The default ephemeral ranges are above: from 32768 on Linux, from 49152 elsewhere.
const (
	lowest  = 20_000
	highest = 32_000
)

// span returns the first port to hand out and the one after the last.
func span() (first, end int) {
	own, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return lowest, highest // not Linux
	}
	return outside(string(own))
}

// outside is span for a system that chooses from the range in a text.
func outside(own string) (first, end int) {
	var low, high int
	if _, err := fmt.Sscan(own, &low, &high); err != nil || low >= highest || high < lowest {
		return lowest, highest
	}
	const privileged, all, enough = 1024, 1 << 16, 500
	switch below, above := low-privileged, all-high-1; {
	case max(below, above) < enough: // nearly all ports are the system's
		return lowest, highest
	case below >= above:
		return max(privileged, low-(highest-lowest)), low
	default:
		return high + 1, min(all, high+1+highest-lowest)
	}
}

// Free returns a port of 127.0.0.1 that nobody listens on, and that no other test is
// given until this one has ended.
func Free(tb testing.TB) string {
	tb.Helper()
	port, release, err := Reserve()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return strconv.Itoa(port)
}

// Reserve is Free where there is no test: the port is the caller's until release.
func Reserve() (port int, release func(), err error) {
	first, end := span()
	for range 1000 {
		port = first + rand.IntN(end-first) //nolint:gosec // who guesses it gains nothing
		if release, err = hold(port); err == nil {
			return port, release, nil
		}
	}
	return 0, nil, errors.Join(errors.New("no port is free"), err)
}

// hold keeps the UDP port of the same number, which nothing else here wants: who
// else asks for the port finds that taken.
func hold(port int) (release func(), err error) {
	at := net.IPv4(127, 0, 0, 1)
	mark, err := net.ListenUDP("udp", &net.UDPAddr{IP: at, Port: port})
	if err != nil {
		return nil, err
	}
	release = func() { _ = mark.Close() }
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: at, Port: port})
	if err != nil {
		release()
		return nil, err
	}
	if err := ln.Close(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
