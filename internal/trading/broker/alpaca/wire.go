package alpaca

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/market"
	"candela/internal/trading/order"
)

// ticket is an order as the venue describes it.
type ticket struct {
	id, clientID string
	symbol       market.Symbol // zero for an order of several legs
	side         order.Side    // 0 for what only others use
	kind         order.Type    // likewise; what an order becomes that waits for a trigger
	status       string
	replacedBy   string
	quantity     decimal.Decimal // 0 for an order by its worth
	filled       decimal.Decimal
	limit        decimal.Decimal
	stop         decimal.Decimal // trigger, 0 for none
	class        string          // of several orders in one: bracket, oco, oto
	legs         []ticket        // of a request for nested orders
	submitted    time.Time
	changed      time.Time
}

// readTicket reads the answer to an order or a query.
func readTicket(body []byte) (ticket, error) { return decode(body, "an order", orderAt) }

// decode reads a whole document. what names it in the error.
func decode[T any](body []byte, what string, read func(*strictjson.Reader) T) (T, error) {
	j := strictjson.NewReader(body)
	v := read(j)
	if err := j.End(); err != nil {
		var none T
		return none, fmt.Errorf("not %s: %w", what, err)
	}
	return v, nil
}

// listOf returns a function that reads an array of items. what names it in the error.
func listOf[T any](what string, item func(*strictjson.Reader) T) func(body []byte) ([]T, error) {
	return func(body []byte) ([]T, error) {
		return decode(body, what, func(j *strictjson.Reader) (all []T) {
			j.Array(func(int) { all = append(all, item(j)) })
			return all
		})
	}
}

// orderAt reads an order. What must be right in every order fails; what is
// foreign to us, such as a trail, is left out.
func orderAt(j *strictjson.Reader) ticket { return orderWith(j, true) }

// orderWith is orderAt with or without its legs, which have none.
func orderWith(j *strictjson.Reader, legs bool) ticket {
	var t ticket
	var symbol, class string
	counted := false
	j.Object(func(key []byte) {
		switch string(key) {
		case "id":
			t.id = j.Text()
		case "client_order_id":
			t.clientID = text(j)
		case "symbol":
			symbol = text(j)
		case "asset_class":
			class = text(j)
		case "side":
			t.side = sideOf(text(j))
		case "type":
			t.kind = typeOf(text(j))
		case "status":
			t.status = j.Text()
		case "replaced_by":
			t.replacedBy = text(j)
		case "qty":
			t.quantity = amount(j)
		case "filled_qty":
			if !j.Null() {
				t.filled, counted = amount(j), true
			}
		case "limit_price":
			t.limit = amount(j)
		case "stop_price":
			t.stop = amount(j)
		case "order_class":
			t.class = text(j)
		case "legs":
			if legs && !j.Null() {
				j.Array(func(int) { t.legs = append(t.legs, orderWith(j, false)) })
			}
		case "submitted_at":
			t.submitted = instant(j)
		case "created_at", "updated_at":
			// The newest of them: an order that never changed has one alone.
			if at := instant(j); at.After(t.changed) {
				t.changed = at
			}
		}
	})
	if t.id == "" || t.status == "" || !counted || t.changed.IsZero() {
		j.Failf("an order without id, status, filled_qty or updated_at")
	}
	if t.quantity.IsNegative() || t.filled.IsNegative() || t.limit.IsNegative() || t.stop.IsNegative() {
		j.Failf("an order with an amount below zero")
	}
	if symbol != "" {
		t.symbol = symbolOf(j, symbol, class)
	}
	return t
}

func sideOf(word string) order.Side {
	switch word {
	case "buy":
		return order.Buy
	case "sell", "sell_short": // a fill of a short sale is marked so
		return order.Sell
	}
	return 0
}

// typeOf reads how an order is priced. Those that wait for a trigger are what they become.
func typeOf(word string) order.Type {
	switch word {
	case "market", "stop", "trailing_stop":
		return order.Market
	case "limit", "stop_limit":
		return order.Limit
	}
	return 0
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

// text reads a string, and null as none.
func text(j *strictjson.Reader) string {
	if j.Null() {
		return ""
	}
	return j.Text()
}

// amount reads an exact number, and null as zero. The bounds are far beyond any
// money: a number of a billion digits in few bytes would exhaust the memory of
// the caller that adds it up.
func amount(j *strictjson.Reader) decimal.Decimal {
	const mostDigits, mostExponent = 60, 30
	if j.Null() {
		return decimal.Decimal{}
	}
	text := j.Exact()
	if j.OK() && len(text) <= mostDigits {
		if d, err := decimal.NewFromString(text); err == nil && d.Exponent() <= mostExponent && d.Exponent() >= -mostExponent {
			return d
		}
	}
	j.Failf("%.60s is not an amount we can hold", text) // keeps an earlier error
	return decimal.Decimal{}
}

// instant reads a time, and null as none.
func instant(j *strictjson.Reader) time.Time {
	text := text(j)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		j.Failf("want a time, found %q", text)
	}
	return at.UTC()
}

// statusOf folds the venue's word for the state of an order into ours. note is kept as
// the reason where the fold loses something. A word that is not here is not guessed at:
// the order is uncertain, with the word as the reason, and will be asked for.
//
//	new                   routed                                       accepted
//	accepted              waits here for the session                   accepted
//	pending_new           routed, not yet confirmed: it may fill       accepted
//	accepted_for_bidding  at the exchange, being priced                accepted
//	pending_review        at the venue, which looks at it              accepted
//	held                  a leg that waits for another                 accepted
//	stopped               a trade is promised and has not happened     accepted
//	suspended             may not trade now, may do so again           accepted
//	pending_replace       lives until its successor does               accepted
//	done_for_day          sleeps until the next session, if it has one accepted
//	calculated            over for the day, all filled or not          filled, or accepted
//	partially_filled                                                   partially filled
//	filled                                                             filled
//	pending_cancel                                                     pending cancel
//	canceled                                                           canceled
//	replaced              ended; what is left lives on in another      canceled
//	expired                                                            expired
//	rejected              after it was taken: by an exchange           rejected
//
// An accepted order counts as partially filled when a part of it is.
func statusOf(t ticket) (status order.Status, note string) {
	open := order.Accepted
	if t.filled.IsPositive() {
		open = order.PartiallyFilled
	}
	// An order by its worth has no quantity to compare with.
	whole := t.quantity.IsZero() || t.filled.Equal(t.quantity)
	switch t.status {
	case "new", "accepted", "pending_new", "accepted_for_bidding", "pending_review", "held":
		return open, ""
	case "stopped", "suspended", "pending_replace", "done_for_day":
		return open, t.status
	case "calculated":
		if whole && t.filled.IsPositive() {
			return order.Filled, ""
		}
		return open, t.status
	case "partially_filled":
		if !t.filled.IsPositive() {
			return order.Uncertain, "partially_filled with nothing filled"
		}
		return order.PartiallyFilled, ""
	case "filled":
		if !whole || !t.filled.IsPositive() {
			return order.Uncertain, fmt.Sprintf("filled with %s of %s filled", t.filled, t.quantity)
		}
		return order.Filled, ""
	case "pending_cancel":
		return order.PendingCancel, ""
	case "canceled":
		return order.Canceled, ""
	case "replaced":
		return order.Canceled, "replaced by the order " + t.replacedBy
	case "expired":
		return order.Expired, ""
	case "rejected":
		return order.Rejected, "rejected after the venue had taken it"
	}
	return order.Uncertain, t.status
}

// report returns the state of an order.
func (t ticket) report() order.Report {
	r := order.Report{
		Spec: order.Spec{
			ID: t.clientID, Symbol: t.symbol, Side: t.side, Type: t.kind, Quantity: t.quantity, Price: t.limit, StopPrice: t.stop,
		},
		VenueID: t.id, Filled: t.filled, At: t.changed,
	}
	r.Status, r.Reason = statusOf(t)
	return r
}

// reports returns the state of an order and of its legs, of which those that are over are
// left out. The legs of a pair exclude their parent; those of an entry wait for it.
func (t ticket) reports() []order.Report {
	all := []order.Report{t.report()}
	if len(t.legs) == 0 {
		return all
	}
	all[0].Group.Name = t.id
	for _, leg := range t.legs {
		r := leg.report()
		if r.Status.Final() {
			continue
		}
		r.Group = order.Group{Name: t.id, Leg: t.class != "oco"}
		all = append(all, r)
	}
	return all
}

// check holds that the venue's answer is about our order.
func (t ticket) check(o order.Handle) error {
	if !o.Names(t.report()) {
		return fmt.Errorf("it is about the order %q", t.clientID)
	}
	if t.symbol != o.Symbol || t.side != o.Side || t.kind != o.Type {
		return fmt.Errorf("it is about an order to %s %s (%s)", t.side, t.symbol, t.kind)
	}
	return nil
}
