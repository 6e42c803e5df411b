package alpaca

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/market"
)

// ticket is an order as the venue describes it.
type ticket struct {
	id, clientID string
	symbol       market.Symbol // zero for an order of several legs
	side         order.Side    // 0 for what only others use
	word         string        // the venue's type
	kind         order.Type    // likewise; what an order becomes that waits for a trigger
	force        order.TimeInForce
	status       string
	replacedBy   string
	replaces     string
	quantity     decimal.Decimal // 0 for an order by its worth
	filled       decimal.Decimal
	limit        decimal.Decimal
	stop         decimal.Decimal // trigger, of a trail that of now; 0 for none
	trail        decimal.Decimal // per cent, 0 for none
	best         decimal.Decimal // the best price that a trail has seen, 0 for none
	class        string          // of several orders in one: bracket, oco, oto
	legs         []ticket        // of a request for nested orders
	submitted    time.Time
	changed      time.Time
	filledAt     time.Time // when it was filled completely
}

// form is how the venue writes values.
const form = venue.Nulls | venue.Signed

// readTicket reads the answer to an order or a query.
func readTicket(body []byte) (ticket, error) { return venue.Parse(body, "an order", orderAt) }

// orderAt reads an order. What must be right in every order fails; what is
// foreign to us, such as a trail by an amount, is left out.
func orderAt(j *strictjson.Reader) ticket { return orderWith(j, true) }

// orderWith is orderAt with or without its legs, which have none.
func orderWith(j *strictjson.Reader, legs bool) (t ticket) {
	var symbol, class, side, force string
	var created, updated time.Time
	form.Object(j, "an order", venue.Members{
		"id": &t.id, "client_order_id": &t.clientID, "symbol": &symbol, "asset_class": &class, "side": &side, "type": &t.word, "time_in_force": &force, "status": &t.status,
		"replaced_by": &t.replacedBy, "replaces": &t.replaces, "order_class": &t.class, "qty": &t.quantity, "filled_qty": &t.filled, "limit_price": &t.limit, "stop_price": &t.stop,
		"trail_percent": &t.trail, "hwm": &t.best, // high water mark, also of a purchase
		"created_at": &created, "updated_at": &updated, "submitted_at": &t.submitted, "filled_at": &t.filledAt,
		"legs": func() {
			if legs {
				t.legs = venue.Items(j, func(j *strictjson.Reader) ticket { return orderWith(j, false) })
			}
		},
	}, "filled_qty")
	t.side, t.kind = sides()[side], kinds()[t.word].Type
	t.force, _ = order.ParseTimeInForce(force)
	if t.changed = updated; created.After(updated) { // the newest of them: an order that never changed has one alone
		t.changed = created
	}
	if t.id == "" || t.status == "" || t.changed.IsZero() {
		j.Failf("an order without id, status or updated_at")
	}
	if t.quantity.IsNegative() || t.filled.IsNegative() || t.limit.IsNegative() || t.stop.IsNegative() || t.trail.IsNegative() || t.best.IsNegative() {
		j.Failf("an order with an amount below zero")
	}
	if symbol != "" {
		t.symbol = symbolOf(j, symbol, class)
	}
	return t
}

// symbolOf spells a symbol in one way: the venue omits the slash of a pair in positions.
func symbolOf(j *strictjson.Reader, text, class string) market.Symbol {
	if class == "crypto" && !strings.Contains(text, "/") {
		base, quote, ok := splitPair(text)
		if !ok {
			j.Failf("the pair %q is in no known currency", text)
			return market.Symbol{}
		}
		text = base + "/" + quote
	}
	s, err := market.ParseSymbol(name + ":" + text)
	if err != nil {
		j.Failf("%q is no symbol", text)
	}
	return s
}

// splitPair parts the name of a pair by its slash or by the currencies of the venue.
func splitPair(text string) (base, quote string, ok bool) {
	if base, quote, ok = strings.Cut(text, "/"); ok {
		return base, quote, base != "" && quote != ""
	}
	for _, quote := range []string{"USDT", "USDC", "USD", "BTC"} {
		if base, ok := strings.CutSuffix(text, quote); ok && base != "" {
			return base, quote, true
		}
	}
	return "", "", false
}

// joinPair returns the name of a pair without its slash.
func joinPair(text string) string { return strings.ReplaceAll(text, "/", "") }
