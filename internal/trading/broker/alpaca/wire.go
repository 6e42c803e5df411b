package alpaca

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
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
// foreign to us, such as a trail by an amount, is left out.
func orderAt(j *strictjson.Reader) ticket { return orderWith(j, true) }

// orderWith is orderAt with or without its legs, which have none.
func orderWith(j *strictjson.Reader, legs bool) ticket {
	var t ticket
	var symbol, class string
	counted := false
	plain := fields{
		"client_order_id": &t.clientID, "symbol": &symbol, "asset_class": &class, "replaced_by": &t.replacedBy, "replaces": &t.replaces, "order_class": &t.class,
		"qty": &t.quantity, "limit_price": &t.limit, "stop_price": &t.stop, "trail_percent": &t.trail, "hwm": &t.best, // high water mark, also of a purchase
		"submitted_at": &t.submitted, "filled_at": &t.filledAt,
	}
	j.Object(func(key []byte) {
		switch string(key) {
		case "id":
			t.id = j.Text()
		case "side":
			t.side = sideOf(text(j))
		case "type":
			t.word = text(j)
			t.kind = typeOf(t.word)
		case "time_in_force":
			t.force, _ = order.ParseTimeInForce(text(j))
		case "status":
			t.status = j.Text()
		case "filled_qty":
			if !j.Null() {
				t.filled, counted = amount(j), true
			}
		case "legs":
			if legs && !j.Null() {
				j.Array(func(int) { t.legs = append(t.legs, orderWith(j, false)) })
			}
		case "created_at", "updated_at":
			// The newest of them: an order that never changed has one alone.
			if at := instant(j); at.After(t.changed) {
				t.changed = at
			}
		default:
			plain.read(j, key)
		}
	})
	if t.id == "" || t.status == "" || !counted || t.changed.IsZero() {
		j.Failf("an order without id, status, filled_qty or updated_at")
	}
	if t.quantity.IsNegative() || t.filled.IsNegative() || t.limit.IsNegative() || t.stop.IsNegative() || t.trail.IsNegative() || t.best.IsNegative() {
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
	case typeMarket, typeStop, typeTrailing:
		return order.Market
	case typeLimit, typeStopLimit:
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

// fields says where members of an object go by their names: to texts, amounts and times.
type fields map[string]any

// read reads a member that is one of the fields.
func (f fields) read(j *strictjson.Reader, key []byte) {
	switch to := f[string(key)].(type) {
	case *string:
		*to = text(j)
	case *decimal.Decimal:
		*to = amount(j)
	case *time.Time:
		*to = instant(j)
	}
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
