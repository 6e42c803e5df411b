package alerts

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/porttest"
)

// soakFor is how long the program is kept busy. Its figures mean something from a
// few minutes on: what nothing needs is let go after one.
var soakFor = flag.Duration("soak", longtest.Pick(6*time.Second, 5*time.Minute), "how long the soak runs")

const (
	soakClients = 8
	soakSymbols = 8 // that alerts are set on at a time
	soakGroups  = 3 // of such symbols; in a long run the other two are let go meanwhile
	soakTurns   = 12
)

// soak is a program that is kept busy.
type soak struct {
	*testing.T
	base, gauges string
	clients      []*visitor
	turn         atomic.Int64 // by which the symbols change

	pushed, polled, streams, set, charts atomic.Int64
}

// TestSoak_HoldsNoMoreWithTime keeps the program busy: alerts are set on symbols that
// change, fire and are cancelled, streams come and go, clients poll and look at
// charts. Whenever they rest it must hold what it held before.
func TestSoak_HoldsNoMoreWithTime(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("open files are not counted here")
	}
	s := startSoak(t)
	var readings []gauges
	for i := range soakTurns {
		s.turn.Store(int64(i))
		s.work(*soakFor / soakTurns)
		readings = append(readings, s.read())
		t.Logf("after %v: %v", *soakFor/soakTurns*time.Duration(i+1), readings[i])
	}
	t.Logf("%d alerts set, %d polled, %d pushed, %d streams opened, %d charts", s.set.Load(), s.polled.Load(), s.pushed.Load(), s.streams.Load(), s.charts.Load())
	if s.polled.Load() == 0 || s.pushed.Load() == 0 || s.streams.Load() == 0 {
		t.Error("too little happened to say anything")
	}
	// The load grows at the beginning and is constant after a third.
	early, late := highest(readings[soakTurns/3:2*soakTurns/3]), highest(readings[2*soakTurns/3:])
	if late.Heap > early.Heap*5/4+4e6 || late.Goroutines > early.Goroutines+10 || late.Files > early.Files+10 {
		t.Errorf("it grows: %v, and later %v", early, late)
	}
}

func highest(readings []gauges) (g gauges) {
	for _, r := range readings {
		g.Heap, g.Goroutines, g.Files = max(g.Heap, r.Heap), max(g.Goroutines, r.Goroutines), max(g.Files, r.Files)
	}
	return g
}

// startSoak starts the program and lets the clients in.
func startSoak(t *testing.T) *soak {
	t.Helper()
	venue := newVenue(t)
	port := porttest.Free(t)
	s := &soak{T: t, base: "http://localhost:" + port, gauges: "127.0.0.1:" + porttest.Free(t)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := startAs(t, self, []string{gaugesVar + "=" + s.gauges}, "--serve", "--trade", "--home", build.Home(t), "--binance-url", venue, "--port", port, "--oauth-auto-approve", "--log-level", "warn")
	t.Cleanup(func() {
		p.term(t)
		if t.Failed() {
			t.Log(p.stderr)
		}
	})
	for range soakClients {
		c := enter(t.Context(), t.Context(), s.base)
		if c == nil {
			t.Fatalf("not let in:\n%s", p.stderr)
		}
		t.Cleanup(c.close)
		must(t, c, "subscribe_notifications", `{}`)
		s.clients = append(s.clients, c)
	}
	return s
}

// work keeps all clients busy for a while and then lets go of everything.
func (s *soak) work(d time.Duration) {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	var busy sync.WaitGroup
	for i, c := range s.clients {
		busy.Go(func() {
			s.stream(ctx, c)
		})
		busy.Go(func() {
			switch i % 4 {
			case 0:
				s.alerts(ctx, c)
			case 1:
				s.look(ctx, c)
			default:
				s.poll(ctx, c)
			}
		})
	}
	busy.Wait()
	for _, c := range s.clients {
		c.HTTP.CloseIdleConnections()
	}
}

// pause waits, and reports whether there is time left.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// stream opens streams, for a moment each.
func (s *soak) stream(ctx context.Context, c *visitor) {
	for pause(ctx, rand.N(100*time.Millisecond)) {
		s.streams.Add(1)
		moment, end := context.WithTimeout(ctx, rand.N(time.Second))
		c.listen(moment, func(json.RawMessage) { s.pushed.Add(1) })
		end()
	}
}

// symbol returns one of those that alerts are set on in this turn.
func (s *soak) symbol() string {
	return fmt.Sprintf("T%dUSDT", s.turn.Load()%soakGroups*soakSymbols+rand.Int64N(soakSymbols))
}

// alerts sets alerts, of which some fire at once, some when a bar closes and some
// when they may, and cancels those that are left.
func (s *soak) alerts(ctx context.Context, c *visitor) {
	var left []string
	for pause(ctx, 200*time.Millisecond) {
		condition := []string{
			`"condition":{"price_above":1}`, `"condition":{"price_above":1e9}`,
			`"interval":"1m","condition":{"indicator_signal":{"indicator":"heikin_ashi","signal":"flip_up"}}`,
		}[rand.IntN(3)]
		var got struct {
			ID string `json:"alert_id"`
		}
		if err := json.Unmarshal(must(s.T, c, "set_alert", fmt.Sprintf(`{"symbol":%q,%s}`, s.symbol(), condition)), &got); err != nil {
			s.Error(err)
		}
		s.set.Add(1)
		left = append(left, got.ID)
	}
	for _, id := range left {
		_, _ = c.call("cancel_alert", `{"alert_id":"`+id+`"}`) // most have fired
	}
}

func (s *soak) look(ctx context.Context, c *visitor) {
	for pause(ctx, rand.N(500*time.Millisecond)) {
		must(s.T, c, "get_indicators", fmt.Sprintf(`{"symbol":%q,"interval":"1m","indicators":["rsi","macd"]}`, s.symbol()))
		must(s.T, c, "list_alerts", `{}`)
		must(s.T, c, "list_subscriptions", `{}`)
		s.charts.Add(1)
	}
}

func (s *soak) poll(ctx context.Context, c *visitor) {
	for pause(ctx, rand.N(200*time.Millisecond)) {
		var got []json.RawMessage
		if err := json.Unmarshal(must(s.T, c, "get_notifications", fmt.Sprintf(`{"wait_seconds":%d}`, rand.IntN(8)/7)), &got); err != nil {
			s.Error(err)
		}
		s.polled.Add(int64(len(got)))
	}
}

// read returns what the program holds when everyone has gone. The ends of streams
// arrive when they arrive: it is asked until it holds no less than before, a few times.
func (s *soak) read() gauges {
	s.Helper()
	least := s.ask()
	for same, patience := 0, time.Now().Add(30*time.Second); same < 3 && time.Now().Before(patience); same++ {
		pause(s.Context(), 100*time.Millisecond)
		g := s.ask()
		if g.Goroutines < least.Goroutines || g.Files < least.Files {
			same = -1
		}
		least = gauges{min(g.Heap, least.Heap), min(g.Goroutines, least.Goroutines), min(g.Files, least.Files)}
	}
	return least
}

// ask asks the program what it holds.
func (s *soak) ask() gauges {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+s.gauges+"/", http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var g gauges
	if err := json.NewDecoder(response.Body).Decode(&g); err != nil {
		s.Fatal(err)
	}
	return g
}
