package scripts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/remote"
	"candela/internal/operate/control"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
)

// The limits while scripts run. A second program that nobody attacks does the same meanwhile: how long that takes
// shows how busy the machine is, and times may be longer by as much.
const (
	mostMemory = 400 << 20
	slowest    = 2 * time.Second        // a default chart of another client, 99 %
	usualChart = 20 * time.Millisecond  // where nobody attacks
	latest     = time.Second            // a firing, after that of the other program
	slowHalt   = 200 * time.Millisecond // halt
	usualHalt  = 10 * time.Millisecond
)

// TestScripts_TakeNothingFromTheOthers runs hostile scripts while another client draws charts, waits for an alert and
// has a position with a stop, and while the owner halts trading.
func TestScripts_TakeNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	onLinux(t)
	list := attacks()
	if len(list) < 60 {
		t.Errorf("there are %d attacks, want 60", len(list))
	}
	list = scaled(list)
	venue, at := newVenue(t)
	venue.Fix("ETHUSDT", decimal.NewFromInt(2000), decimal.NewFromInt(10))
	attacked, beside := newWitness(t, "attacked", at), newWitness(t, "beside", at)
	greedy := attacked.client("greedy")
	answers := attackAll(t, greedy, list, func(under context.Context) {
		moveAndHalt(under, t, venue, attacked, beside)
	}, attacked, beside)
	attacked.judge(t, beside, answers)
}

// scaled returns the attacks of this run: in the short form some of them, in the long form each in two sizes, because
// a loop that is too long ends on the first bar by its steps, and a shorter one runs until its time is over.
func scaled(all []attack) (list []attack) {
	for i, a := range all {
		switch {
		case longtest.On():
			list = append(list, a.by(1), a.by(100))
		case a.short:
			list = append(list, a.by([]int{1, 30}[i%2]))
		}
	}
	return list
}

// answered is what came of an attack.
type answered struct {
	attack  string
	status  int
	problem error
	took    time.Duration
	code    string
}

// attackAll runs the attacks, three at a time, while witnesses draw charts and deed is done in the middle.
func attackAll(t *testing.T, c *remote.Client, list []attack, deed func(context.Context), witnesses ...*witness) []answered {
	t.Helper()
	under, over := context.WithCancel(t.Context())
	defer over()
	var watching, done, all sync.WaitGroup
	for _, w := range witnesses {
		watching.Go(func() { w.draw(under, t) })
	}
	queue, out := make(chan attack), make(chan answered, len(list))
	begun := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for a := range queue {
				out <- a.run(t.Context(), c)
			}
		})
	}
	done.Go(func() {
		<-begun
		deed(under)
	})
	for i, a := range list {
		queue <- a
		if i == min(8, len(list)-1) {
			close(begun)
		}
	}
	close(queue)
	all.Wait()
	done.Wait()
	over()
	watching.Wait()
	close(out)
	var answers []answered
	for a := range out {
		answers = append(answers, a)
	}
	return answers
}

// run sends an attack and waits for the answer.
func (a *attack) run(ctx context.Context, c *remote.Client) answered {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // a hang
	defer cancel()
	began := time.Now()
	got := answered{attack: a.name}
	var answer []byte
	got.status, answer, got.problem = exchange(ctx, c, a.body())
	got.took, got.code = time.Since(began), codeOf(answer)
	return got
}

// codeOf returns the first code in an answer with its message: that of the error that ended the script.
func codeOf(answer []byte) string {
	_, rest, found := bytes.Cut(answer, []byte(`code\":\"`))
	code, rest, _ := bytes.Cut(rest, []byte(`\"`))
	if !found {
		return fmt.Sprintf("%d bytes", len(answer))
	}
	_, rest, _ = bytes.Cut(rest, []byte(`message\":\"`))
	message, _, _ := bytes.Cut(rest, []byte(`\"`))
	return fmt.Sprintf("%s: %.120s", code, message)
}

// witness is a program whose other client is served, or not.
type witness struct {
	*target
	modest *remote.Client
	charts []time.Duration // shortest first
	memory int64           // the most of it
	fired  time.Duration   // after the price moved
	filled time.Duration
	halted time.Duration
	price  string // of the fill
}

// newWitness starts a program with an alert and a position with a stop, both on ETHUSDT.
func newWitness(t *testing.T, name, venue string) *witness {
	t.Helper()
	w := &witness{target: start(t, venue)}
	w.modest = w.client("modest of " + name)
	must(t, w.modest, "generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":500,"format":"summary"}`) // loads the bars
	must(t, w.modest, "generate_chart", `{"symbol":"BTCUSDT"}`)
	must(t, w.modest, "place_order", `{"symbol":"ETHUSDT","side":"buy","type":"market","quantity":1,"stop_loss":1900}`)
	must(t, w.modest, "set_alert", `{"symbol":"ETHUSDT","condition":{"price_below":1950}}`)
	return w
}

// draw asks for default charts until ctx ends.
func (w *witness) draw(ctx context.Context, t *testing.T) {
	t.Helper()
	c := &remote.Client{Base: w.base, Name: w.modest.Name, HTTP: remote.Plain(&http.Transport{DisableKeepAlives: true})}
	c.SetToken(w.modest.Token())
	for len(w.charts) == 0 || ctx.Err() == nil {
		began := time.Now()
		if _, err := c.Call(context.WithoutCancel(ctx), "generate_chart", `{"symbol":"BTCUSDT"}`); err != nil {
			t.Errorf("another client's chart after %v: %v", time.Since(began), err)
			return
		}
		w.charts = append(w.charts, time.Since(began))
		w.memory = max(w.memory, w.status("VmRSS:"))
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	slices.Sort(w.charts)
}

// moveAndHalt lets the price fall through the alert and the stop of both programs and measures when each has fired
// and is filled, and then how long a halt takes.
func moveAndHalt(ctx context.Context, t *testing.T, venue *binance.Server, witnesses ...*witness) {
	t.Helper()
	ctx = context.WithoutCancel(ctx)
	venue.Fix("ETHUSDT", decimal.NewFromInt(1890), decimal.NewFromInt(10))
	began := time.Now()
	var all sync.WaitGroup
	for _, w := range witnesses {
		all.Go(func() {
			answer, err := w.modest.Call(ctx, "get_notifications", `{"wait_seconds":50}`)
			if w.fired = time.Since(began); err != nil || !bytes.Contains(answer, []byte("ETHUSDT")) {
				t.Errorf("the alert has not fired: %s %v", answer, err)
			}
		})
		all.Go(func() { w.fill(ctx, t, began) })
	}
	all.Wait()
	for _, w := range witnesses {
		began := time.Now()
		if _, reached, err := control.Halt(ctx, w.home, "a test"); err != nil || !reached {
			t.Errorf("halt: %v", err)
		}
		w.halted = time.Since(began)
	}
}

// fill waits until the stop is filled.
func (w *witness) fill(ctx context.Context, t *testing.T, began time.Time) {
	t.Helper()
	for deadline := began.Add(2 * time.Minute); time.Now().Before(deadline); {
		answer, err := w.modest.Call(ctx, "get_orders", `{}`)
		var orders []struct {
			Role   string  `json:"role"`
			Status string  `json:"status"`
			Price  *string `json:"avg_fill_price"`
		}
		if err != nil || json.Unmarshal(answer, &orders) != nil {
			t.Errorf("get_orders: %s %v", answer, err)
			return
		}
		for _, o := range orders {
			if o.Role == "stop_loss" && o.Status == "filled" && o.Price != nil {
				w.filled, w.price = time.Since(began), *o.Price
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the stop is not filled")
}

// judge compares a program with one that nobody attacked.
func (w *witness) judge(t *testing.T, beside *witness, answers []answered) {
	t.Helper()
	for _, a := range answers {
		t.Logf("%-34s %6d ms  %d %s", a.attack, a.took.Milliseconds(), a.status, a.code)
		if a.problem != nil || a.status != http.StatusOK && a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
			t.Errorf("%s was neither answered nor refused: %d %v", a.attack, a.status, a.problem)
		}
	}
	p99, machine := w.charts[len(w.charts)*99/100], beside.charts[len(beside.charts)*99/100]
	busy := max(1, machine.Seconds()/usualChart.Seconds())
	w.memory = max(w.memory, w.status("VmHWM:"))
	t.Logf("%d attacks: at most %d MB; %d charts of another client, 99 %% within %v (beside %v); alert %v (%v), stop %v at %s (%v at %s), halt %v (%v)",
		len(answers), w.memory>>20, len(w.charts), p99, machine, w.fired, beside.fired, w.filled, w.price, beside.filled, beside.price, w.halted, beside.halted)
	if w.memory > mostMemory {
		t.Errorf("the program used %d MB, which must be under %d", w.memory>>20, mostMemory>>20)
	}
	times := func(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
	if allowed := times(slowest, busy); p99 > allowed {
		t.Errorf("99 %% of another client's charts took up to %v, which must be under %v", p99, allowed)
	}
	if allowed := times(latest, busy); w.fired-beside.fired > allowed || w.filled-beside.filled > allowed {
		t.Errorf("the alert fired %v and the stop was filled %v after those of the other program, which must be within %v", w.fired-beside.fired, w.filled-beside.filled, allowed)
	}
	if w.price == "" || w.price != beside.price {
		t.Errorf("the stop was filled at %s, without the attack at %s", w.price, beside.price)
	}
	if allowed := times(slowHalt, max(busy, beside.halted.Seconds()/usualHalt.Seconds())); w.halted > allowed {
		t.Errorf("halt took %v, which must be under %v", w.halted, allowed)
	}
}
