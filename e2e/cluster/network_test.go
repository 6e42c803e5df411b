package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/testkit/porttest"
)

// network is where the processes are. Where the machine allows it every one has a
// network namespace, joined by a bridge, so that links can be cut; otherwise all
// share the loopback.
type network struct {
	tb     testing.TB
	bridge string // "" on the loopback
	prefix string // of addresses
	places int
}

// place is where one process is.
type place struct {
	net   *network
	ip    string
	link  string    // the end of its cable at the bridge
	hold  *exec.Cmd // keeps the namespace
	ports int       // that were given out, in a namespace

	using sync.RWMutex
	file  *os.File // of the namespace; nil when the test has ended
}

func newNetwork(tb testing.TB) *network {
	tb.Helper()
	n := &network{tb: tb}
	name := fmt.Sprintf("cb%08x", rand.Uint32())
	prefix := unused(tb)
	if err := ip("link", "add", name, "type", "bridge"); err != nil {
		tb.Logf("no network namespaces here (%v): links are not cut, servers are stopped instead", err)
		return n
	}
	tb.Cleanup(func() { _ = ip("link", "del", name) })
	err := errors.Join(ip("addr", "add", prefix+"1/24", "dev", name), ip("link", "set", name, "up"))
	if probe, stop := hold(); err == nil && probe != nil {
		stop()
		n.bridge, n.prefix = name, prefix
		return n
	}
	tb.Logf("no network namespaces here (%v): links are not cut, servers are stopped instead", err)
	return n
}

// unused returns the beginning of addresses that nobody has here.
func unused(tb testing.TB) string {
	tb.Helper()
	for {
		prefix := fmt.Sprintf("10.%d.%d.", 64+rand.IntN(128), rand.IntN(256))
		have, err := net.InterfaceAddrs()
		if err != nil {
			tb.Fatal(err)
		}
		if !slices.ContainsFunc(have, func(a net.Addr) bool { return strings.HasPrefix(a.String(), prefix) }) {
			return prefix
		}
	}
}

// ip runs ip(8).
func ip(args ...string) error {
	out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// hold starts a process that keeps a namespace, and returns nil where that is not
// allowed.
func hold() (cmd *exec.Cmd, stop func()) {
	cmd = exec.Command("unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec sleep 100000") //nolint:noctx // it lives as long as the test
	cmd.SysProcAttr = apart()
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil, func() {}
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if _, err := io.ReadFull(out, make([]byte, len("up"))); err != nil {
		stop()
		return nil, func() {}
	}
	return cmd, stop
}

// real reports whether links can be cut.
func (n *network) real() bool { return n.bridge != "" }

// place makes a place for one process.
func (n *network) place() *place {
	n.tb.Helper()
	n.places++
	p := &place{net: n, ip: "127.0.0.1"}
	if !n.real() {
		return p
	}
	holder, stop := hold()
	if holder == nil {
		n.tb.Fatal("a network namespace could be made, and now it cannot")
	}
	n.tb.Cleanup(stop)
	p.hold, p.ip, p.link = holder, n.prefix+strconv.Itoa(10+n.places), fmt.Sprintf("%s.%d", n.bridge, n.places)
	pid := strconv.Itoa(holder.Process.Pid)
	inside := func(args ...string) error {
		out, err := exec.CommandContext(n.tb.Context(), "nsenter", append([]string{"-t", pid, "-n", "ip"}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
		return nil
	}
	err := errors.Join(
		ip("link", "add", p.link, "type", "veth", "peer", "name", "eth0", "netns", pid),
		ip("link", "set", p.link, "master", n.bridge), ip("link", "set", p.link, "up"),
		inside("addr", "add", p.ip+"/24", "dev", "eth0"), inside("link", "set", "eth0", "up"),
	)
	file, openErr := os.Open(fmt.Sprintf("/proc/%s/ns/net", pid))
	if err := errors.Join(err, openErr); err != nil {
		n.tb.Fatal(err)
	}
	p.file = file
	n.tb.Cleanup(p.leave)
	return p
}

// enter returns a command that runs another one here, as the same process.
func (p *place) enter(path string, args []string) (string, []string) {
	if p.hold == nil {
		return path, args
	}
	return "nsenter", append([]string{"-t", strconv.Itoa(p.hold.Process.Pid), "-n", path}, args...)
}

// cut takes the cable out, or puts it back.
func (p *place) cut(out bool) {
	p.net.tb.Helper()
	state := "up"
	if out {
		state = "down"
	}
	if err := ip("link", "set", p.link, state); err != nil {
		p.net.tb.Error(err)
	}
}

// inside runs f on a thread that is in this place. A socket belongs for ever to
// the place where it was made.
func (p *place) inside(f func() error) error {
	if p.hold == nil {
		return f()
	}
	p.using.RLock()
	defer p.using.RUnlock()
	if p.file == nil {
		return os.ErrClosed
	}
	return within(p.file, f)
}

// leave ends the use of the place. An HTTP client may dial for a request that nobody
// waits for any more.
func (p *place) leave() {
	p.using.Lock()
	defer p.using.Unlock()
	_ = p.file.Close()
	p.file = nil
}

// dial connects to a port of this place's loopback.
func (p *place) dial(ctx context.Context, port string) (c net.Conn, err error) {
	err = p.inside(func() error {
		c, err = (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		return err
	})
	return c, err
}

// listen listens on this place's loopback.
func (p *place) listen(ctx context.Context, port string) (l net.Listener, err error) {
	err = p.inside(func() error {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+port)
		return err
	})
	return l, err
}

// free returns a port that nobody listens on here, another one each time.
func (p *place) free(tb testing.TB) string {
	tb.Helper()
	if p.hold == nil {
		return porttest.Free(tb)
	}
	// No other process runs here, and the system assigns none of these ports by itself.
	const first = 20_000
	p.ports++
	return strconv.Itoa(first + p.ports)
}

// carry takes connections to the port of a place to an address of the test's own
// network, and returns the port.
func (p *place) carry(tb testing.TB, address string) string {
	tb.Helper()
	if p.hold == nil {
		_, port, _ := net.SplitHostPort(address)
		return port
	}
	return p.carryAt(tb, "0", address)
}

// carryAt is carry from a port that the caller chooses.
func (p *place) carryAt(tb testing.TB, from, address string) string {
	tb.Helper()
	l, err := p.listen(tb.Context(), from)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // closed
			}
			go join(tb.Context(), in, address)
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// join copies both ways until one side ends.
func join(ctx context.Context, in net.Conn, address string) {
	defer func() { _ = in.Close() }()
	out, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
}
