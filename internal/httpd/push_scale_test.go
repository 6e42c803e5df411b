package httpd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// pushClients is how many streams the push measurement has. What it must show is
// about ten thousand; plain go test runs a short form of it.
var pushClients = flag.Int("push-clients", 0, "streams of the push measurement, such as 10000; 0: 500, or 100 under the race detector")

// scale returns how many clients to measure with, and over how many events: some
// seconds of them, as those for few clients are over in milliseconds.
func scale() (clients, rounds int) {
	switch {
	case *pushClients >= 5000:
		return *pushClients, 41
	case *pushClients > 0:
		return *pushClients, 101
	case raced:
		return 100, 11
	default:
		return 500, 101
	}
}

// process is a role of the measurement that runs.
type process struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func startRole(t *testing.T, role ...any) *process {
	t.Helper()
	// Not with the test's context: a process leaves when its input ends.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.TrimSpace(fmt.Sprintln(role...)))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", role, err)
		}
	})
	return &process{t, in, bufio.NewScanner(out)}
}

func (p *process) answer(v any) {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("a process ended: %v", p.out.Err())
	}
	if err := json.Unmarshal(p.out.Bytes(), v); err != nil {
		p.t.Fatalf("%v: %s", err, p.out.Bytes())
	}
}

// push is a server and its clients.
type push struct{ server, clients *process }

func startPush(t *testing.T, kind string, clients, slow int) push {
	t.Helper()
	p := push{server: startRole(t, kind, clients, slow)}
	var at struct{ Addr string }
	p.server.answer(&at)
	p.clients = startRole(t, "clients", at.Addr, clients, slow)
	var said string
	p.clients.answer(&said)
	return p
}

// publish measures one event and waits until every fast client has it.
func (p push) publish(symbol string) (r round) {
	fmt.Fprintln(p.server.in, symbol)
	p.server.answer(&r)
	var said string
	p.clients.answer(&said)
	return r
}

func middle[T int | float64 | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// figures are the rounds of one kind, and their middle.
type figures []round

func (f figures) middle(of func(round) time.Duration) time.Duration {
	values := make([]time.Duration, len(f))
	for i, r := range f {
		values[i] = of(r)
	}
	return middle(values)
}

func (f figures) String() string {
	last := f[len(f)-1]
	return fmt.Sprintf("p50 %v, p99 %v, slowest %v, processor %v, resident %d MB",
		f.middle(func(r round) time.Duration { return r.P50 }).Round(10*time.Microsecond),
		f.middle(func(r round) time.Duration { return r.P99 }).Round(10*time.Microsecond),
		f.middle(func(r round) time.Duration { return r.Max }).Round(10*time.Microsecond),
		f.middle(func(r round) time.Duration { return r.CPU }).Round(10*time.Microsecond), last.RSS>>10)
}

// compare publishes in turns and returns the middle of the ratios of p99, which a
// busy machine disturbs less than it does the ratio of the middles.
func compare(rounds int, a, b func() round) (as, bs figures, ratio float64) {
	var ratios []float64
	for i := range rounds + 2 {
		var ra, rb round
		if i%2 == 0 {
			ra, rb = a(), b()
		} else {
			rb, ra = b(), a()
		}
		if i < 2 {
			continue // buffers and heaps find their size
		}
		as, bs = append(as, ra), append(bs, rb)
		ratios = append(ratios, float64(rb.P99)/float64(ra.P99))
	}
	return as, bs, middle(ratios)
}

// within repeats a comparison until its ratio is at most most. A busy machine can
// spoil one; all of them only a server that is too slow.
func within(t *testing.T, most float64, a, b func() round) (as, bs figures, ratio float64) {
	t.Helper()
	_, rounds := scale()
	for range 8 {
		if as, bs, ratio = compare(rounds, a, b); ratio <= most || raced {
			return as, bs, ratio
		}
		t.Logf("p99 ratio %.2f, once more\n%v\n%v", ratio, as, bs)
	}
	t.Errorf("p99 is %.2f times as long, at most %.2f is allowed", ratio, most)
	return as, bs, ratio
}

// TestPush_KeepsUpWithABareHub compares the time from publishing to the last
// writes, every client matching, with a hub of channels over bare net/http that
// writes the same frames. All that stands between is ours: filters, cursors, the
// token check, the deadline.
func TestPush_KeepsUpWithABareHub(t *testing.T) {
	n, _ := scale()
	bare, ours := startPush(t, "bare", n, 0), startPush(t, "ours", n, 0)
	floor, figure, ratio := within(t, 1.3, func() round { return bare.publish("ALL") }, func() round { return ours.publish("ALL") })
	t.Logf("%d clients, %d rounds\nbare: %v\nours: %v\np99 ratio %.2f", n, len(figure), floor, figure, ratio)
}

// TestPush_SlowReadersHoldNobodyUp compares events that a tenth of the clients do
// not want with events that they want and do not read.
func TestPush_SlowReadersHoldNobodyUp(t *testing.T) {
	n, _ := scale()
	slow := n / 10
	p := startPush(t, "ours", n, slow)
	blocked := 0
	for i := 0; i < 200 && blocked < slow*95/100; i++ {
		blocked = p.publish("SLOW").Blocked
	}
	if blocked < slow*95/100 {
		t.Fatalf("%d of %d slow readers are behind", blocked, slow)
	}
	alone, beside, ratio := within(t, 1.1, func() round { return p.publish("FAST") }, func() round { return p.publish("SLOW") })
	t.Logf("%d clients, %d of them slow, %d writes stuck, %d rounds\nwithout: %v\nbeside:  %v\np99 ratio %.2f",
		n, slow, beside[len(beside)-1].Blocked, len(beside), alone, beside, ratio)
}
