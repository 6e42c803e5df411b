package orders

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// act is something that happens to an account, and what is heard of it.
type act struct {
	name   string
	places []string // nil for all
	do     func(*agent)
	want   []string
}

const (
	heldQuantity = "0.02"
)

// storyLaws is the policy of the story: an order worth more than usual waits for the owner.
func storyLaws() []string {
	return []string{"approval_above = 2000", `max_daily_notional = "none"`, `max_daily_loss = "none"`}
}

// story is one act for each kind of event and each role. It begins and ends without a position and with trading active.
func story() []act {
	return []act{
		{"stop", nil, (*agent).stops, []string{"order_filled entry", "order_filled stop_loss", "position_closed stop_loss"}},
		{"target", nil, (*agent).targets, []string{"order_filled entry", "order_filled take_profit", "position_closed take_profit"}},
		{"trail", nil, (*agent).trails, []string{"order_filled entry", "order_filled trail", "position_closed trail"}},
		{"exit", nil, (*agent).exits, []string{"order_filled entry", "order_filled exit", "position_closed exit"}},
		{"part", nil, (*agent).parts, []string{"order_part_filled entry", "order_filled entry", "order_filled exit", "position_closed exit"}},
		{"part that rests", nil, (*agent).partRests, []string{"order_part_filled entry", "order_part_filled entry", "order_ended entry canceled", "order_filled exit", "position_closed exit"}},
		{"own cancel", nil, (*agent).cancels, nil},
		{"halt", nil, (*agent).halts, []string{"trading_state HALTED", "order_ended entry canceled", "trading_state ACTIVE"}},
		{"expired at the venue", []string{"binance"}, (*agent).expires, []string{"order_ended entry expired"}},
		{"decided", nil, (*agent).decides, []string{"order_decided entry approved", "order_decided entry refused", "order_decided entry expired"}},
		{
			"unprotected",
			[]string{"binance"},
			(*agent).bares,
			[]string{
				"order_filled entry", "order_ended stop_loss expired", "trading_state REDUCING", "position_unprotected", "trading_state ACTIVE", "position_protected",
				"order_filled exit", "position_closed exit",
			},
		},
	}
}

// acts is the story at a place.
func acts(place string) []act {
	return slices.DeleteFunc(story(), func(one act) bool { return one.places != nil && !slices.Contains(one.places, place) })
}

// at moves the price.
func (a *agent) at(price string) { a.holder.move(dec(price)) }

// begins moves the price to where acts begin, and waits until the program knows that.
func (a *agent) begins() {
	a.Helper()
	a.at("50000")
	a.await("the price is known", func() bool {
		var answer struct{ Estimate struct{ Price string } }
		r := a.call("place_order", fmt.Sprintf(`{"symbol":%q,"side":"buy","type":"market","quantity":%s,"dry_run":true}`, a.holder.symbol, heldQuantity))
		return !r.isError && json.Unmarshal([]byte(r.text), &answer) == nil && answer.Estimate.Price == "50000"
	})
}

// enters buys, with legs or without, until an entry is filled.
func (a *agent) enters(legs string) {
	a.Helper()
	a.begins()
	for a.held().IsZero() {
		a.has(a.place(`"side":"buy","type":"limit","price":50100,"quantity":`+heldQuantity+legs), "filled", "canceled", "rejected", "expired", "denied")
	}
}

// closes moves the price until the position is closed.
func (a *agent) closes(price string) {
	a.Helper()
	a.await("the position is closed", func() bool { a.at(price); return a.held().IsZero() })
	a.at("50000")
}

func (a *agent) stops()   { a.enters(`,"stop_loss":48000`); a.closes("47500") }
func (a *agent) targets() { a.enters(`,"stop_loss":48000,"take_profit":53000`); a.closes("53500") }
func (a *agent) exits()   { a.enters(""); a.leaves() }

func (a *agent) trails() {
	a.enters("")
	a.rests(func() string {
		return fmt.Sprintf(`"side":"sell","type":"market","trail_percent":2,"reduce_only":true,"quantity":%s`, a.held())
	})
	a.closes("48500")
}

// leaves sells what is held.
func (a *agent) leaves() {
	a.Helper()
	for left := a.held(); !left.IsZero(); left = a.held() {
		a.has(a.place(fmt.Sprintf(`"side":"sell","type":"market","reduce_only":true,"quantity":%s`, left)), "filled", "canceled", "rejected", "expired", "denied")
	}
}

// rests places an order until one waits at the venue: one that did not leave before a kill never will. It returns its ID.
func (a *agent) rests(args func() string) (id string) {
	a.Helper()
	for status := ""; status != "accepted"; {
		id = a.place(args())
		status = a.has(id, "accepted", "canceled", "rejected", "expired", "denied")
	}
	return id
}

// waits places an entry that waits, with legs or without.
func (a *agent) waits(legs string) (id string) {
	a.Helper()
	a.begins()
	return a.rests(func() string {
		return `"side":"buy","type":"limit","price":49500,"quantity":` + heldQuantity + legs
	})
}

// withdraws cancels an order.
func (a *agent) withdraws(id string) {
	a.Helper()
	a.canceled[id] = true
	a.await("it is canceled", func() bool {
		a.call("cancel_order", fmt.Sprintf(`{"order_id":%q}`, id))
		return a.has(id, "accepted", "partially_filled", "pending_cancel", "canceled") == "canceled"
	})
}

func (a *agent) cancels() { a.withdraws(a.waits("")) }

// fillsPart has a part of an order filled, in two fills or more.
func (a *agent) fillsPart(id string) {
	a.Helper()
	if a.holder.some == nil {
		for range 2 {
			a.holder.trade(id, a.holder.half.Div(dec("2")))
			a.hearsPart(id)
		}
		a.has(id, "partially_filled")
		return
	}
	for _, least := range []string{"0", "0.001"} {
		before := a.filled(id)
		a.await("a part is filled", func() bool {
			a.holder.some(a.holder.dip)
			now := a.filled(id)
			return now.GreaterThan(before) && now.GreaterThanOrEqual(dec(least))
		})
		a.hearsPart(id)
	}
	a.at("50000")
}

// hearsPart waits until a first part of an order is heard of: parts that come before it are one event.
func (a *agent) hearsPart(id string) {
	a.Helper()
	a.await("a part is reported", func() bool {
		polled, _ := a.events()
		return slices.ContainsFunc(polled, func(e heardEvent) bool { return e.Order == id && e.Event == "order_part_filled" })
	})
}

// filled returns how much of an order is filled.
func (a *agent) filled(id string) (sum decimal.Decimal) {
	a.Helper()
	var all []record
	a.read("get_orders", fmt.Sprintf(`{"order_id":%q}`, id), &all)
	for _, o := range all {
		sum = sum.Add(dec(o.Filled))
	}
	return sum
}

func (a *agent) parts() {
	id := a.waits("")
	began := time.Now()
	a.fillsPart(id)
	a.await("the rest is filled", func() bool { a.at("49400"); return a.has(id, "partially_filled", "filled") == "filled" })
	a.parted[id] = part{time.Since(began), 1}
	a.at("50000")
	a.leaves()
}

// partRests has a part of an order filled, and cancels it when all of that is reported.
func (a *agent) partRests() {
	id := a.waits("")
	began := time.Now()
	a.fillsPart(id)
	took := time.Since(began)
	a.await("the last part is reported", func() bool {
		polled, _ := a.events()
		filled := a.filled(id) // one may come until the price is known
		return slices.ContainsFunc(polled, func(e heardEvent) bool {
			return e.Order == id && e.Event == "order_part_filled" && dec(e.Filled).Equal(filled)
		})
	})
	a.parted[id] = part{took, 2}
	a.withdraws(id)
	a.leaves()
}

// owner runs a command of the owner until something is so.
func (a *agent) owner(done func(out string) bool, args ...string) {
	a.Helper()
	out := ""
	if !a.within(patience, func() bool {
		out, _ = run(a, append(args, "--home", a.home)...)
		return done(out)
	}) {
		a.Fatalf("candela %s: %s", strings.Join(args, " "), out)
	}
}

func (a *agent) halts() {
	id := a.waits("")
	says := func(word string) func(string) bool {
		return func(out string) bool { return strings.Contains(out, word) }
	}
	a.owner(says("HALTED"), "halt")
	a.has(id, "canceled")
	a.owner(says("ACTIVE"), "resume")
	a.trades()
}

func (a *agent) expires() {
	a.id = a.waits("")
	a.holder.expire(&shield{scene: a.scene})
	a.has(a.id, "expired")
}

// asks places an order that waits for the owner, and returns its ID.
func (a *agent) asks(more string) string {
	a.Helper()
	id := a.place(`"side":"buy","type":"limit","quantity":0.06,"price":49000` + more)
	a.decided[id] = true
	return id
}

func (a *agent) decides() {
	a.begins()
	is := func(id string, states ...string) func(string) bool {
		return func(string) bool {
			var all []record
			a.read("get_orders", fmt.Sprintf(`{"order_id":%q}`, id), &all)
			return len(all) == 1 && slices.Contains(states, all[0].Status)
		}
	}
	yes := a.asks("")
	a.owner(is(yes, "submitted", "accepted", "canceled"), "approve", yes)
	sent := a.has(yes, "accepted", "canceled") == "accepted"
	no := a.asks("")
	a.owner(is(no, "denied"), "refuse", no)
	a.has(a.asks(`,"not_after":"`+soon+`"`), "denied")
	if sent {
		a.withdraws(yes)
	}
}

// bares has the venue refuse the stop of an entry that it fills, and then places one.
func (a *agent) bares() {
	a.waits(`,"stop_loss":48000`)
	reduced := func() (n int) {
		polled, _ := a.events()
		for _, e := range polled {
			if e.State == "REDUCING" {
				n++
			}
		}
		return n
	}
	before := reduced()
	a.holder.refuse(&shield{scene: a.scene, holder: a.holder})
	a.at("49400")
	a.await("trading is reduced", func() bool { return reduced() > before })
	a.at("50000")
	a.rests(func() string {
		return fmt.Sprintf(`"side":"sell","type":"market","reduce_only":true,"stop_price":48000,"quantity":%s`, a.held())
	})
	a.trades()
	a.leaves()
}
