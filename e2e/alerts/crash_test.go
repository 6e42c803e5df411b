package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/remote"
	"candela/e2e/tape"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/porttest"
)

// kills is how often the program is killed, over both transports together; one stop
// in good order comes with every four of them.
var kills = flag.Int("kills", longtest.Pick(8, 60), "how often the program is killed")

// TestCrash_NoAlertIsLostOrFiresTwice kills the program at any moment, again and
// again on one state, while clients set alerts on moving prices, cancel some and
// receive those that fire. In the end every acknowledged alert is active, was cancelled,
// or fired once and was delivered; and the firings are those that the prices of the venue
// made due.
func TestCrash_NoAlertIsLostOrFiresTwice(t *testing.T) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		newScene(t, false).run(*kills - *kills/2)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		newScene(t, true).run(*kills / 2)
	})
}

// scene is one state directory and who uses it.
type scene struct {
	*testing.T
	home  string
	http  bool
	port  string
	venue string
	notes *notes
	tape  *tape.Tape // for one question at a time
	began time.Time
}

func newScene(t *testing.T, overHTTP bool) *scene {
	t.Helper()
	return &scene{T: t, home: build.Home(t), http: overHTTP, port: porttest.Free(t), venue: newVenue(t), notes: newNotes(), tape: tape.New(seed), began: time.Now()}
}

// life is the program from one start to its end, and its client, nil when the
// program ended before there was one.
type life struct {
	*program
	client
}

// start begins a life.
func (s *scene) start() *life {
	args := []string{"--mcp", "--trade", "--home", s.home, "--binance-url", s.venue}
	if s.http {
		args[0] = "--serve"
		args = append(args, "--port", s.port, "--oauth-auto-approve")
	}
	return &life{program: start(s.T, args...)}
}

// connect waits until the client is let in, or ctx ends because the program has.
func (s *scene) connect(ctx context.Context, l *life) {
	if !s.http {
		l.client = connectPipes(l.program, s.notes.push)
		return
	}
	if c := connectHTTP(ctx, s.Context(), "http://localhost:"+s.port, s.notes.push); c != nil {
		l.client = c
	}
}

// mustConnect is connect for a program that lives on.
func (s *scene) mustConnect(l *life) {
	s.Helper()
	soon, cancel := context.WithTimeout(s.Context(), 3*time.Minute)
	defer cancel()
	if s.connect(soon, l); l.client == nil {
		s.Fatalf("the client is not let in:\n%s", l.stderr)
	}
}

func (s *scene) run(kills int) {
	s.Helper()
	first := s.start()
	s.mustConnect(first)
	must(s.T, first.client, "subscribe_notifications", `{}`)
	s.end(first, false)
	stops := (kills + 3) / 4
	for i := range kills + stops {
		s.live(i%5 != 4 && kills > 0, i)
		if s.Failed() {
			return
		}
		if i%5 != 4 {
			kills--
		}
		s.stayAway(i)
	}
	s.judge(s.settle())
}

// live is one life: clients are busy until its moment has come.
func (s *scene) live(crash bool, number int) {
	s.Helper()
	s.notes.clear()
	l := s.start()
	var busy sync.WaitGroup
	over, gone := context.WithCancel(s.Context())
	defer gone()
	busy.Go(func() {
		s.connect(over, l)
		if l.client == nil {
			return
		}
		for worker := range 3 {
			busy.Go(func() { s.work(over.Done(), l.client, uint64(number*10+worker)) }) //nolint:contextcheck // the tape computes prices, it asks nobody
		}
		busy.Go(func() { s.poll(over, l.client) })
	})
	s.awaitMoment(number)
	if crash {
		l.kill(s.T)
	} else {
		l.term(s.T)
	}
	gone()
	busy.Wait()
	if l.client != nil {
		l.close()
	}
	verify(s.T, s.home)
}

// awaitMoment waits for a moment to end a life: when the prices move and alerts
// fire, at any time, right after a delivery, or while it starts.
func (s *scene) awaitMoment(number int) {
	switch number % 8 {
	case 0, 5:
		now := time.Now()
		time.Sleep(time.Duration(step-now.Unix()%step)*time.Second - time.Duration(now.Nanosecond()) + rand.N(500*time.Millisecond))
	case 1, 3, 6:
		time.Sleep(rand.N(1500 * time.Millisecond))
	case 2, 7:
		limit := time.After(time.Minute) // so that something happens on a slow machine too
		for range 1 + rand.IntN(20) {
			select {
			case <-s.notes.heard:
			case <-limit:
				return
			}
		}
		time.Sleep(rand.N(2 * time.Millisecond))
	default:
		time.Sleep(rand.N(40 * time.Millisecond))
	}
}

// stayAway leaves the program down for a while: now and then until prices have
// moved, and in a long run a few times until a minute has passed that nobody saw.
func (s *scene) stayAway(number int) {
	switch {
	case number%30 == 29:
		time.Sleep(70*time.Second + rand.N(20*time.Second))
	case rand.IntN(5) == 0:
		time.Sleep(rand.N((step + 1) * time.Second))
	}
}

func symbols() []string {
	var all []string
	for i := range 12 {
		all = append(all, fmt.Sprintf("S%dUSDT", i))
	}
	return all
}

// work sets alerts and cancels some until the program is gone.
func (s *scene) work(over <-chan struct{}, c client, worker uint64) {
	rng := rand.New(rand.NewPCG(worker, 1))
	for tp := tape.New(seed); ; {
		if id := s.notes.takeOpen(); id != "" && rng.IntN(3) == 0 {
			_, err := c.call("cancel_alert", `{"alert_id":"`+id+`"}`)
			if err == nil {
				s.notes.cancel(id)
			}
			if s.stops(err) {
				return
			}
		}
		arguments, idle := alertFor(tp, rng)
		result, err := c.call("set_alert", arguments)
		if s.stops(err) {
			return
		}
		if err == nil {
			s.notes.set(result, idle)
		}
		select {
		case <-over:
			return
		case <-time.After(rand.N(60 * time.Millisecond)):
		}
	}
}

// stops reports whether a client should give up, and records unexpected errors. Too many
// starts exceed the limits of the venue, which then rejects requests.
func (s *scene) stops(err error) bool {
	if r, ok := errors.AsType[*remote.RefusalError](err); ok && (r.Code == "stopping" || r.Code == "rate_limited") {
		s.notes.refused.Add(1)
		return r.Code == "stopping"
	}
	if err != nil && !errors.Is(err, errGone) {
		s.notes.fail(err)
	}
	return errors.Is(err, errGone)
}

// alertFor makes up an alert, and reports whether it never comes true.
func alertFor(tp *tape.Tape, rng *rand.Rand) (arguments string, idle bool) {
	symbol := symbols()[rng.IntN(len(symbols()))]
	bar := tp.At(symbol, time.Now().Unix())
	price := func(side string, threshold float64) string {
		return fmt.Sprintf(`{"symbol":%q,"condition":{"price_%s":%s}}`, symbol, side, strconv.FormatFloat(threshold, 'f', 4, 64))
	}
	near := 1 + rng.ExpFloat64()*0.00005
	switch rng.IntN(12) {
	case 0: // true already
		return price("above", bar.C*0.99), false
	case 1:
		return price("below", bar.C*1.01), false
	case 2, 3, 4: // beyond where the minute has been
		return price("above", bar.H*near), false
	case 5, 6, 7:
		return price("below", bar.L/near), false
	case 8: // near the price, where the minute may have been
		return price("above", bar.C*near), false
	case 9: // never
		return price("above", bar.H*10), true
	case 10:
		return price("below", bar.L/10), true
	}
	names := []string{"heikin_ashi", "wavetrend", "macd"}
	name, labels := names[rng.IntN(3)], []string{"cross_up", "cross_down"}
	if name == "heikin_ashi" {
		labels = []string{"flip_up", "flip_down"}
	}
	return fmt.Sprintf(`{"symbol":%q,"interval":"1m","condition":{"indicator_signal":{"indicator":%q,"signal":%q}}}`,
		symbols()[rng.IntN(3)], name, labels[rng.IntN(2)]), false
}

// poll fetches what fired until the program is gone.
func (s *scene) poll(over context.Context, c client) {
	for over.Err() == nil {
		result, err := c.call("get_notifications", `{"wait_seconds":1}`)
		if s.stops(err) {
			return
		}
		if err == nil {
			s.notes.poll(result)
		}
	}
}

// end stops a life in good order.
func (s *scene) end(l *life, crash bool) {
	s.Helper()
	if crash {
		l.kill(s.T)
	} else {
		l.term(s.T)
	}
	l.close()
}

// final is how things are in the end.
type final struct {
	at     time.Time       // everything shown up to here is known
	fired  map[string]bool // by then: both ways have had time to deliver it
	active map[string]bool // a moment later
	charts map[string]series
	events []event
}

// awaitDelivery waits until all alerts that have fired so far were delivered both ways, or
// until a timeout, and returns them. Later firings may be delivered after the last poll.
func (s *scene) awaitDelivery(c client) map[string]bool {
	s.Helper()
	fired := map[string]bool{}
	for id, f := range s.fates(audit(s.T, s.home)) {
		if f.fires > 0 {
			fired[id] = true
		}
	}
	for patience := time.Now().Add(3 * time.Minute); !s.notes.delivered(fired) && time.Now().Before(patience); {
		s.notes.poll(must(s.T, c, "get_notifications", `{"wait_seconds":1}`))
	}
	return fired
}

// settle lets the program catch up in a last run and reads its state.
func (s *scene) settle() *final {
	s.Helper()
	l := s.start()
	s.mustConnect(l)
	// A price that moves now is delivered in this run.
	f := &final{at: time.Now().Add((step + 1) * time.Second), active: map[string]bool{}, charts: map[string]series{}}
	// Time to load all that is followed and to hear of every price up to now: longer
	// where the venue asks for patience, and no longer than that.
	patience := time.Now().Add(3 * time.Minute)
	for quiet := 0; quiet < 3 || time.Since(f.at) < 3*time.Second; quiet++ {
		if s.notes.poll(must(s.T, l.client, "get_notifications", `{"wait_seconds":1}`)) > 0 {
			quiet = 0
		}
		if quiet == 2 && time.Now().Before(patience) && s.overdue(f.at) > 0 {
			quiet = 0
		}
	}
	f.fired = s.awaitDelivery(l.client)
	var list []struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(must(s.T, l.client, "list_alerts", `{}`), &list); err != nil {
		s.Fatal(err)
	}
	for _, a := range list {
		f.active[a.ID] = true
	}
	for _, symbol := range symbols()[:3] {
		f.charts[symbol] = readSeries(s.T, l.client, symbol, time.Since(s.began))
	}
	s.end(l, false)
	verify(s.T, s.home)
	f.events = audit(s.T, s.home)
	return f
}
