package app

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"candela/internal/operate/control"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// trade lets an owner place, cancel or be halted. All owners use the same keys.
func (w *ownersWorld) trade(o *pairedOwner, client, symbol string) {
	w.t.Helper()
	o.notes++
	key := fmt.Sprintf("key-%d", o.notes)
	switch w.rng.IntN(8) {
	case 0: // repeats one, or is too far from the price
		w.same(o, client, "place_order", fmt.Sprintf(`{"symbol":%q,"side":"buy","type":"limit","price":1,"quantity":0.001,"idempotency_key":"far-%d"}`, symbol, w.rng.IntN(3)))
	case 1:
		price := map[string]string{"BTCUSDT": "51400", "ETHUSDT": "2900"}[symbol]
		w.same(o, client, "place_order", fmt.Sprintf(`{"symbol":%q,"side":"buy","type":"limit","price":%s,"quantity":0.01,"idempotency_key":%q}`, symbol, price, key))
	case 2:
		w.cancelOrder(o, client)
	case 3:
		w.haltAndResume(o, client, symbol)
	case 4, 5: // more than is held is denied
		w.sell(o, client, symbol)
	default:
		w.buy(o, client, symbol)
	}
	w.samePositions(o, client)
}

// buy places an order that fills.
func (w *ownersWorld) buy(o *pairedOwner, client, symbol string) {
	w.t.Helper()
	o.notes++
	text := w.same(o, client, "place_order", fmt.Sprintf(`{"symbol":%q,"side":"buy","type":"market","quantity":0.01,"idempotency_key":"key-%d"}`, symbol, o.notes))
	if strings.Contains(text, `"status":"filled"`) {
		o.fills++
	}
}

// sell closes a part of a position, if there is one, and compares the trades.
func (w *ownersWorld) sell(o *pairedOwner, client, symbol string) {
	w.t.Helper()
	o.notes++
	w.same(o, client, "place_order", fmt.Sprintf(`{"symbol":%q,"side":"sell","type":"market","quantity":0.01,"idempotency_key":"key-%d"}`, symbol, o.notes))
	if text := w.same(o, client, "get_trades", `{"reason":"exit"}`); strings.Contains(text, `"reason":"exit"`) {
		w.trades++
	}
}

// close closes something, and asks each replica and the command of the owner's server for the trades.
func (w *ownersWorld) close(o *pairedOwner) {
	w.t.Helper()
	w.buy(o, "polling", "BTCUSDT")
	w.sell(o, "polling", "BTCUSDT")
	shared := o.places[0]
	want := w.callAt(o, shared.home(), "polling", "get_trades", `{}`)
	for _, at := range shared.on.urls {
		if got := w.callAt(o, at, "polling", "get_trades", `{}`); got != want {
			w.t.Errorf("the trades of %s at one replica:\n%s\nat another:\n%s", o.name, want, got)
		}
	}
	some, reached, err := control.ListTrades(w.t.Context(), shared.on.home+"0", o.name, order.TradeQuery{Most: 500})
	if n := strings.Count(want, `"exit_price"`); err != nil || !reached || len(some.Page.Trades) != n || n == 0 {
		w.t.Errorf("the tool has %d trades of %s, the command %d: %v, %v", n, o.name, len(some.Page.Trades), reached, err)
	}
	if _, _, err := control.ListTrades(w.t.Context(), shared.on.home+"0", "", order.TradeQuery{Most: 500}); err == nil {
		w.t.Error("the command lists trades without an owner")
	}
}

// cancelOrder cancels something that the owner has or had.
func (w *ownersWorld) cancelOrder(o *pairedOwner, client string) {
	w.t.Helper()
	if n := min(len(o.places[0].ids), len(o.places[1].ids)); n > 0 {
		k := w.rng.IntN(n)
		w.sameWith(o, client, "cancel_order", func(p *ownerPlace) string { return fmt.Sprintf(`{"order_id":%q}`, p.ids[k]) })
	}
}

// haltAndResume halts the owner's trading, which denies an order, and resumes it.
func (w *ownersWorld) haltAndResume(o *pairedOwner, client, symbol string) {
	w.t.Helper()
	for _, p := range o.places {
		if state, err := p.on.side.ownerHalts().HaltOwner(w.t.Context(), o.name, "candela halt", "for a while", false); err != nil || state.Level() != guard.Halted {
			w.t.Fatalf("step %d: halt of %s: %+v, %v", w.step, o.name, state, err)
		}
	}
	text := w.same(o, client, "place_order", fmt.Sprintf(`{"symbol":%q,"side":"buy","type":"market","quantity":0.01,"idempotency_key":"halted-%d"}`, symbol, o.notes))
	if !strings.Contains(text, "for a while") {
		w.t.Fatalf("step %d: the halt of %s did not deny: %s", w.step, o.name, text)
	}
	for _, p := range o.places {
		waitFor(w.t, func() bool {
			return !strings.Contains(w.callAt(o, p.home(), client, "get_orders", `{}`), "pending_cancel")
		})
		if _, err := p.on.side.ownerHalts().ResumeOwner(w.t.Context(), o.name, "candela resume"); err != nil {
			w.t.Fatalf("step %d: resume of %s: %v", w.step, o.name, err)
		}
	}
	w.same(o, client, "get_orders", `{}`)
}

// samePositions compares the owner's positions, without what prices change.
func (w *ownersWorld) samePositions(o *pairedOwner, client string) {
	w.t.Helper()
	var held [2]string
	for i, p := range o.places {
		text := strings.ReplaceAll(w.call(o, p, client, "get_positions", `{}`), `\"`, `"`)
		fields := regexp.MustCompile(`"(symbol|side|quantity|mode|code)":[^,}]*`).FindAllString(text, -1)
		slices.Sort(fields)
		held[i] = strings.Join(fields, " ")
	}
	if held[0] != held[1] {
		w.t.Fatalf("step %d: the answer to get_positions differs for %s.\nBeside others:\n%s\nAlone:\n%s", w.step, o.name, held[0], held[1])
	}
}

// sameEvents compares the order events that the owner polls: their fields without numbers, in any order, since two
// events of one moment have none.
func (w *ownersWorld) sameEvents(o *pairedOwner) {
	w.t.Helper()
	var texts [2][]string
	waitFor(w.t, func() bool { // replicas publish them after the answer
		for i, p := range o.places {
			text := w.callAt(o, p.home(), "polling", "get_notifications", `{"events":["orders"]}`)
			for _, record := range regexp.MustCompile(`\{"event":.*?"at":"[^"]*"\}`).FindAllString(text, -1) {
				texts[i] = append(texts[i], p.rename(regexp.MustCompile(`"seq":\d+,`).ReplaceAllString(record, "")))
			}
			slices.Sort(texts[i])
		}
		return len(texts[0]) >= o.fills && len(texts[0]) == len(texts[1])
	})
	if !slices.Equal(texts[0], texts[1]) {
		w.t.Errorf("the order events of %s differ.\nBeside others:\n%s\nAlone:\n%s", o.name, strings.Join(texts[0], "\n"), strings.Join(texts[1], "\n"))
	}
	filled := 0
	for _, record := range texts[0] {
		if strings.HasPrefix(record, `{"event":"order_filled"`) {
			filled++
		}
	}
	if filled < o.fills {
		w.t.Errorf("%s heard of %d of %d orders that were filled", o.name, filled, o.fills)
	}
}
