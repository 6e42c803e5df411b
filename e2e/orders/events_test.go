package orders

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
)

// TestEvents_EveryKindOnce brings about every kind of event, and an order filled in each role. A client over stdio and one
// over HTTP hear of each once, by push and by poll.
func TestEvents_EveryKindOnce(t *testing.T) {
	t.Parallel()
	for place, at := range map[string]func(testing.TB, int) *holder{"binance": heldByBinance, "paper": heldOnPaper} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(place+" over "+over, func(t *testing.T) {
				t.Parallel()
				a := newAgent(t, at(t, 1), over, storyLaws()...)
				var want []string
				for range longtest.Pick(1, 5) {
					for _, one := range acts(place) {
						one.do(a)
						want = append(want, one.want...)
						a.hears(one.name, want)
					}
				}
				if polled, pushed, _ := a.repeats(); polled+pushed > 0 {
					t.Errorf("%d numbers came again", polled+pushed)
				}
				a.restart()
				a.trades()
				a.hears("a restart", want)
			})
		}
	}
}

// hears waits until as many events were heard as are wanted, both ways, and compares them.
func (a *agent) hears(after string, want []string) {
	a.Helper()
	var polled, pushed []heardEvent
	if !a.within(patience, func() bool {
		polled, pushed = a.events()
		return len(polled) >= len(want) && len(pushed) >= len(want)
	}) {
		a.Errorf("after %s too few are heard", after)
	}
	for way, got := range map[string][]heardEvent{"poll": polled, "push": pushed} {
		texts := a.texts(got)
		if !slices.Equal(texts, want) {
			a.Fatalf("after %s, by %s: %q, want %q", after, way, texts, want)
		}
	}
	for i := range polled {
		if polled[i] != pushed[i] {
			a.Errorf("polled %+v, pushed %+v", polled[i], pushed[i])
		}
	}
}

// texts returns events in words, without those of parts that are more than usual because the machine was slow.
func (a *agent) texts(events []heardEvent) (texts []string) {
	parts := make(map[string]int)
	for _, e := range events {
		if e.Event == "order_part_filled" {
			parts[e.Order]++
			if p := a.parted[e.Order]; p.took >= 10*time.Second && parts[e.Order] > p.heard {
				continue
			}
		}
		texts = append(texts, e.String())
	}
	return texts
}

// TestEvents_OnceAcrossKills plays the story while the program is killed. Each event is heard of once both ways: by poll,
// and by push from where the client was. A number that comes again is the same event. The short form kills the program when
// an act has ended, before its events are polled. The long form kills it at any time: an order that is then on its way ends
// a minute later.
func TestEvents_OnceAcrossKills(t *testing.T) {
	t.Parallel()
	for place, at := range map[string]func(testing.TB, int) *holder{"binance": heldByBinance, "paper": heldOnPaper} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(place+" over "+over, func(t *testing.T) {
				t.Parallel()
				a := newAgent(t, at(t, 1), over, storyLaws()...)
				kills := 3
				if longtest.On() {
					kills = 25
					a.playKilled(place, kills)
				} else {
					for i, one := range acts(place)[:2*kills] {
						one.do(a)
						if i%2 == 0 {
							a.restart()
						}
					}
				}
				a.trades()
				a.settles()
				polled, pushed, _ := a.repeats()
				t.Logf("%d kills, %d events; %d numbers polled again, %d pushed again", kills, len(a.polled.all), polled, pushed)
			})
		}
	}
}

// playKilled plays the story again and again until the program was killed so often.
func (a *agent) playKilled(place string, kills int) {
	a.Helper()
	stop, killed := make(chan struct{}), make(chan struct{})
	go a.killer(kills, stop, func() { close(killed) })
	defer func() { close(stop); <-killed }()
	for rounds := 0; !a.overWith(killed); rounds++ {
		for _, one := range acts(place) {
			if one.name != "decided" || rounds == 0 { // it takes long
				one.do(a)
			}
		}
	}
}

// repeats returns how often numbers were polled and pushed again, and those that came with another event.
func (a *agent) repeats() (polled, pushed int, wrong []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.polled.again, a.pushed.again, slices.Concat(a.polled.wrong, a.pushed.wrong)
}

// overWith reports whether a channel is closed.
func (a *agent) overWith(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// killer kills the program so often: each time soon after the next event was pushed, or after a while without one.
func (a *agent) killer(kills int, stop <-chan struct{}, done func()) {
	defer done()
	dice := rand.New(rand.NewPCG(longtest.Seed(), 0))
	count := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.pushed.all)
	}
	for range kills {
		last := count()
		a.within(5*time.Second, func() bool { return count() > last || a.overWith(stop) })
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(dice.Int64N(int64(500 * time.Millisecond)))):
			a.restart()
		}
	}
}

// settles waits until what was heard both ways is what must be heard of the account.
func (a *agent) settles() {
	a.Helper()
	var wrong []string
	if !a.within(3*patience, func() bool {
		polled, pushed := a.events()
		_, _, wrong = a.repeats()
		wrong = append(wrong, a.judges(polled)...)
		if !slices.Equal(polled, pushed) {
			wrong = append(wrong, fmt.Sprintf("%d are polled and %d pushed, which differ", len(polled), len(pushed)))
		}
		return len(wrong) == 0
	}) {
		a.Errorf("%s", strings.Join(wrong, "\n"))
	}
}

// judges compares events with the account: each order that was filled and each that was decided on is heard of once, each
// that ended by another than the client once, all earned is of positions that are heard of as closed, and states change.
func (a *agent) judges(events []heardEvent) (wrong []string) {
	a.Helper()
	counts := make(map[string]int)
	sum, state, bare := decimal.Zero, "ACTIVE", false
	for _, e := range events {
		counts[e.Event+" "+e.Order]++
		switch e.Event {
		case "position_closed":
			sum = sum.Add(dec(e.Realised))
		case "trading_state":
			if e.State == state {
				wrong = append(wrong, "DOUBLED: trading is "+state+" again")
			}
			state = e.State
		case "position_unprotected", "position_protected":
			if now := e.Event == "position_unprotected"; now == bare {
				wrong = append(wrong, "DOUBLED: "+e.Event)
			} else {
				bare = now
			}
		}
	}
	if state != "ACTIVE" || bare {
		wrong = append(wrong, fmt.Sprintf("LOST: the last heard is that trading is %s, and that a position lacks its stop: %v", state, bare))
	}
	var account struct {
		Earned map[string]struct {
			Realised decimal.Decimal `json:"realized_pnl"`
		}
	}
	a.read("get_account", `{}`, &account)
	if earned := account.Earned["all"].Realised; !earned.Equal(sum) {
		wrong = append(wrong, fmt.Sprintf("the account earned %s, and %s is heard of", earned, sum))
	}
	return append(wrong, a.judgesOrders(counts)...)
}

// judgesOrders compares how often each order is heard of with the orders that there are.
func (a *agent) judgesOrders(counts map[string]int) (wrong []string) {
	a.Helper()
	var orders []record
	a.read("get_orders", `{"limit":500}`, &orders)
	if len(orders) == 500 {
		a.Fatal("there are more orders than are listed")
	}
	for event := range counts {
		_, id, _ := strings.Cut(event, " ")
		if id != "" && !slices.ContainsFunc(orders, func(o record) bool { return o.ID == id }) {
			wrong = append(wrong, event+" is of no order")
		}
	}
	for _, o := range orders {
		for event, want := range a.due(o) {
			if got := counts[event+" "+o.ID]; got < want[0] || got > want[1] {
				wrong = append(wrong, fmt.Sprintf("%s of %s %s order %s is heard %d times, want %v", event, o.Status, o.Role, o.ID, got, want))
			}
		}
	}
	return wrong
}

// due returns how often each event of an order must be heard, at least and at most.
func (a *agent) due(o record) map[string][2]int {
	none, once, perhaps := [2]int{}, [2]int{1, 1}, [2]int{0, 1}
	want := map[string][2]int{"order_filled": none, "order_part_filled": none, "order_ended": none, "order_decided": none}
	if o.Status == "filled" {
		want["order_filled"] = once
	}
	if p, ok := a.parted[o.ID]; ok {
		want["order_part_filled"] = [2]int{p.heard, p.heard + int(p.took/(10*time.Second))}
	}
	if a.decided[o.ID] {
		want["order_decided"] = once
	}
	ended := slices.Contains([]string{"canceled", "expired", "rejected"}, o.Status)
	switch {
	case !ended || a.canceled[o.ID] && dec(o.Filled).IsZero():
	case o.Status == "rejected", o.Role == "stop_loss", o.Role == "take_profit": // the answer of the call may say so, or another leg was filled
		want["order_ended"] = perhaps
	default:
		want["order_ended"] = once
	}
	return want
}
