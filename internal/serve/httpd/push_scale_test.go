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

	"candela/internal/testkit/longtest"
)

// pushClients is how many streams the push benchmarks have. What they must show is
// about ten thousand.
var pushClients = flag.Int("push-clients", 0, "streams of the push benchmarks, such as 10000, which are then held to their bars; 0: 500 and no bars")

// scale returns how many clients to measure with.
func scale() int {
	if *pushClients > 0 {
		return *pushClients
	}
	return 500
}

// process is a role of the measurement that runs.
type process struct {
	tb  testing.TB
	in  io.WriteCloser
	out *bufio.Scanner
}

func startRole(tb testing.TB, role ...any) *process {
	tb.Helper()
	// Not with the test's context: a process leaves when its input ends.
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), os.Args[0])
	cmd.Dir = tb.TempDir()
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.TrimSpace(fmt.Sprintln(role...)), "GOCOVERDIR="+cmd.Dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Errorf("%v: %v", role, err)
		}
	})
	return &process{tb, in, bufio.NewScanner(out)}
}

func (p *process) answer(v any) {
	p.tb.Helper()
	if !p.out.Scan() {
		p.tb.Fatalf("a process ended: %v", p.out.Err())
	}
	if err := json.Unmarshal(p.out.Bytes(), v); err != nil {
		p.tb.Fatalf("%v: %s", err, p.out.Bytes())
	}
}

// push is a server and its clients.
type push struct{ server, clients *process }

func startPush(tb testing.TB, kind string, clients, slow int) push {
	tb.Helper()
	p := push{server: startRole(tb, kind, clients, slow)}
	var at struct{ Addr string }
	p.server.answer(&at)
	p.clients = startRole(tb, "clients", at.Addr, clients, slow)
	var said string
	p.clients.answer(&said)
	return p
}

// publish measures one event and waits until every fast client has it. A client that
// gets another event than the next one ends its process, and so the test.
func (p push) publish(symbol string) (r round) {
	fmt.Fprintln(p.server.in, symbol)
	p.server.answer(&r)
	var said string
	p.clients.answer(&said)
	return r
}

// stick publishes what the slow readers want until their connections are full, and
// then some more: for so many events in a row a write to each of them has begun and
// none has ended. All the while every other client gets every event, in order.
func (p push) stick(slow, events int) {
	const most = 5000 // ends a hang: some forty events fill a connection
	for published, still, ended := 0, 0, -1; still < events; published++ {
		r := p.publish("SLOW")
		if r.Blocked == slow && r.Ended == ended {
			still++
		} else {
			still = 0
		}
		if ended = r.Ended; published == most {
			p.server.tb.Fatalf("after %d events %d of %d slow readers are behind", published, r.Blocked, slow)
		}
	}
}

// TestPush_SlowReadersHoldNobodyUp has a tenth of the clients not read at all: what
// they hold up would not end.
func TestPush_SlowReadersHoldNobodyUp(t *testing.T) {
	t.Parallel()
	n := longtest.Pick(100, 1000)
	startPush(t, "ours", n, n/10).stick(n/10, longtest.Pick(20, 200))
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

// turns publishes in turns and keeps what both took.
type turns struct {
	first, second   func() round
	firsts, seconds figures
	ratios          []float64 // of p99
}

func (c *turns) once() {
	var one, other round
	if len(c.ratios)%2 == 0 {
		one, other = c.first(), c.second()
	} else {
		other, one = c.second(), c.first()
	}
	c.firsts, c.seconds = append(c.firsts, one), append(c.seconds, other)
	c.ratios = append(c.ratios, float64(other.P99)/float64(one.P99))
}

// pushTurns is how many turns a comparison has, odd so that one is in the middle.
const pushTurns = 41

// compare reports the middle of the ratios of p99, which a busy machine disturbs less
// than it does the ratio of the middles, and the quartiles around it. With -push-clients
// the middle is at most most.
func compare(b *testing.B, most float64, first, second func() round) {
	b.Helper()
	for range 2 { // buffers and heaps find their size
		first()
		second()
	}
	c := turns{first: first, second: second}
	for b.Loop() {
		for range pushTurns {
			c.once()
		}
	}
	ratio := middle(c.ratios) // and they are sorted
	n := len(c.ratios)
	low, high := c.ratios[n/4], c.ratios[n-1-n/4]
	b.ReportMetric(ratio, "p99_ratio")
	b.ReportMetric(low, "p99_ratio_q1")
	b.ReportMetric(high, "p99_ratio_q3")
	b.Logf("%d clients, %d turns\nfirst:  %v\nsecond: %v\np99 ratio %.2f, half of the turns %.2f to %.2f, all %.2f to %.2f",
		scale(), n, c.firsts, c.seconds, ratio, low, high, c.ratios[0], c.ratios[n-1])
	if *pushClients > 0 && ratio > most {
		b.Errorf("p99 is %.2f times as long in the middle of %d turns, at most %.2f is allowed", ratio, n, most)
	}
}

// BenchmarkPushBesideABareHub compares the time from publishing to the last
// writes, every client matching, with a hub of channels over bare net/http that
// writes the same frames. All that stands between is ours: filters, cursors, the
// token check, the deadline.
func BenchmarkPushBesideABareHub(b *testing.B) {
	bare, ours := startPush(b, "bare", scale(), 0), startPush(b, "ours", scale(), 0)
	compare(b, 1.3, func() round { return bare.publish("ALL") }, func() round { return ours.publish("ALL") })
}

// BenchmarkPushBesideSlowReaders compares events that a tenth of the clients do
// not want with events that they want and do not read.
func BenchmarkPushBesideSlowReaders(b *testing.B) {
	slow := scale() / 10
	p := startPush(b, "ours", scale(), slow)
	p.stick(slow, 2)
	compare(b, 1.1, func() round { return p.publish("FAST") }, func() round { return p.publish("SLOW") })
}
