package research

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/remote"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/porttest"
)

// watched is a program whose alerts on one symbol are fired by prices that the test has the venue
// announce. The program has a processor, and the venues and the test share another one, with and
// without other work of the program: elsewhere they are on machines of their own, so only what the
// program does is measured.
type watched struct {
	*testing.T
	site   *site
	pinned []string // begins a command that runs on the program's processor; empty for any
	venue  string   // address
	http   *http.Client
	client *remote.Client
	level  int // the number of alerts that have fired
	fired  chan string
}

const (
	alertSymbol = "ALERTUSDT"
	floor       = 10_000_000 // above every price of the venue
)

// startVenue starts a venue in a process of its own and returns its address. A venue that answers
// requests for history runs at the lowest priority: a real one needs nothing of this machine.
func startVenue(t *testing.T, before ...string) (address string) {
	t.Helper()
	address = "127.0.0.1:" + porttest.Free(t)
	command := append(before, programs.Path(t, build.FakeVenue, ""), "-listen", address, "-variety", "16", "-step", "250ms", "binance")
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it is asked to stop; the command is the test's own
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return address
}

func watchAlerts(t *testing.T) *watched {
	t.Helper()
	elsewhere := pin(t)
	w := &watched{T: t, pinned: elsewhere, venue: "http://" + startVenue(t), http: &http.Client{}, fired: make(chan string, 1000)}
	w.site = startProgram(t, elsewhere, "http://"+startVenue(t, "nice", "-n", "19"), "--binance-stream-url", "ws"+strings.TrimPrefix(w.venue, "http"))
	w.client = w.site.enter(t)
	if _, err := w.client.Call(t.Context(), "subscribe_notifications", `{}`); err != nil {
		t.Fatal(err)
	}
	open, once := make(chan struct{}), sync.Once{}
	ctx, leave := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		_ = w.client.Listen(ctx, "", func() { once.Do(func() { close(open) }) }, func(e remote.Event) {
			var f struct {
				ID string `json:"alert_id"`
			}
			_ = json.Unmarshal(e.Params, &f)
			w.fired <- f.ID
		})
	})
	t.Cleanup(func() { leave(); listening.Wait(); w.http.CloseIdleConnections() })
	<-open
	return w
}

// fire lets the price meet alerts one after the other, each set just before, and returns how long
// each took from the order to the venue until the client heard of it.
func (w *watched) fire(alerts int) []time.Duration {
	w.Helper()
	took := make([]time.Duration, 0, alerts)
	for range alerts {
		text, err := w.client.Call(w.Context(), "set_alert", fmt.Sprintf(`{"symbol":%q,"condition":{"price_above":%d}}`, alertSymbol, floor+w.level))
		if err != nil {
			w.Fatal(err)
		}
		var set struct {
			ID string `json:"alert_id"`
		}
		if err := json.Unmarshal(text, &set); err != nil {
			w.Fatal(err)
		}
		took = append(took, w.met(set.ID))
		w.level++
	}
	return took
}

// met announces the price of an alert until it fires.
func (w *watched) met(id string) time.Duration {
	w.Helper()
	again := time.NewTicker(2 * time.Second)
	defer again.Stop()
	for {
		began := time.Now()
		w.announce(floor + w.level)
		for waits := true; waits; {
			select {
			case got := <-w.fired:
				if got == id {
					return time.Since(began)
				}
			case <-again.C: // the stream was not open yet, or had a message waiting
				waits = false
			}
		}
	}
}

// announce has the venue send a price to all who follow it.
func (w *watched) announce(price int) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.venue+"/fake/announce?symbol="+alertSymbol+"&price="+strconv.Itoa(price), nil)
	if err != nil {
		w.Fatal(err)
	}
	response, err := w.http.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

const sweep = `{"symbol":"SWEEPUSDT","interval":"1h","bars":10000,"oos_pct":0,"long":{"enter":{"value":{"indicator":{"name":"rsi","length":"$len"},"op":"<","value":"$low"}},"max_bars":5},` +
	`"sweep":{"len":[2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21],"low":[20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65]}}`

// TestBeside_AlertsDoNotWait fires alerts in short windows, alone and beside a sweep or a scan in
// turns, so that a busy machine disturbs all alike. The short form only holds that alerts come
// soon while the others run; the long form compares the times of 2,000 alerts of each.
func TestBeside_AlertsDoNotWait(t *testing.T) {
	w := watchAlerts(t)
	busy := w.site.enter(t)
	w.fire(1) // opens the stream of the venue
	rounds, each := longtest.Pick(2, 80), longtest.Pick(10, 25)
	alone, beside := map[string][]time.Duration{}, map[string][]time.Duration{}
	for round := range rounds {
		for _, name := range []string{"sweep", "scan", spin} {
			tool, arguments := "run_backtest", sweep
			if name == "scan" {
				tool, arguments = "scan_symbols", strings.ReplaceAll(scanOf(400), `"S`, fmt.Sprintf(`"R%dS`, round))
			}
			quiet := func() { alone[name] = append(alone[name], w.fire(each)...) }
			noisy := func() {
				if name == spin {
					defer w.spin()()
				} else {
					defer w.work(busy, tool, arguments)()
				}
				beside[name] = append(beside[name], w.fire(each)...)
			}
			if round%2 == 0 {
				quiet()
				noisy()
			} else {
				noisy()
				quiet()
			}
		}
	}
	for name, quiet := range alone {
		noisy := beside[name]
		ratio := func(percent int) float64 { return float64(part(noisy, percent)) / float64(part(quiet, percent)) }
		t.Logf("%s, %d alerts each: alone p50 %v, p90 %v, p99 %v; beside p50 %v, p90 %v, p99 %v; %.2f, %.2f and %.2f times", name, len(quiet),
			part(quiet, 50), part(quiet, 90), part(quiet, 99), part(noisy, 50), part(noisy, 90), part(noisy, 99), ratio(50), ratio(90), ratio(99))
		// A window has few alerts in the short form: only their middle says something.
		percent, most := longtest.Pick(50, 99), longtest.Pick(100.0, 1.1)
		if got := ratio(percent); got > most && name != spin {
			t.Errorf("%s: alerts take %.2f times as long beside it at p%d, at most %.1f", name, got, percent, most)
		}
	}
}

// spin names the case beside another program of the lowest priority that uses the processor and nothing else of
// candela. Nothing that candela does can be better beside work of its own.
const spin = "another program"

// spin runs such a program until the returned function is called.
func (w *watched) spin() (end func()) {
	w.Helper()
	cmd := exec.Command("nice", append(append([]string{"-n", "19"}, w.pinned...), "sh", "-c", "while :; do :; done")...) //nolint:noctx // it is killed
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// work calls a tool again and again until the returned function is called. It returns when the
// first call has reported progress.
func (w *watched) work(c *remote.Client, tool, arguments string) (end func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	begun := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { w.busy(ctx, c, tool, arguments, sync.OnceFunc(func() { close(begun) })) })
	<-begun
	return func() { cancel(); running.Wait() }
}

// busy calls a tool again and again until ctx ends. begun is called when it has reported progress.
func (w *watched) busy(ctx context.Context, c *remote.Client, name, arguments string, begun func()) {
	w.Helper()
	defer begun()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":1},"arguments":%s}}`, name, arguments)
	for ctx.Err() == nil {
		response, err := send(ctx, c, body)
		if err != nil {
			return
		}
		begun()
		_, _ = io.Copy(io.Discard, response.Body) // until it is answered or ctx ends
		_ = response.Body.Close()
	}
}

// part returns a percentile.
func part(took []time.Duration, percent int) time.Duration {
	took = slices.Sorted(slices.Values(took))
	return took[len(took)*percent/100].Round(time.Microsecond)
}
