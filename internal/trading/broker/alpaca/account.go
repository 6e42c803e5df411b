package alpaca

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/market"
)

// fillPage is the most activities of one answer.
const fillPage = 100

// maxKnown is how many executions of its millisecond a cursor names. Others would come again.
const maxKnown = 100

// Fills lists the account's trades in a symbol. The venue's history cannot be asked
// from an execution on, so it is read backwards until one of the cursor's shows.
//
// Executions of one millisecond are listed in the order of their ids, which is
// chance: one that is new may stand before one that is known. So a cursor names all
// that are known of the newest millisecond. Of one that names a single execution, as
// they were once, those of its millisecond come again unless they are of the same
// order with less filled.
func (b *Broker) Fills(ctx context.Context, s market.Symbol, after broker.Cursor) ([]order.Fill, broker.Cursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, after, err
	}
	known := strings.Fields(string(after))
	found, stamp, err := b.since(ctx, s, known)
	if err != nil || len(found) == 0 {
		return nil, after, err
	}
	slices.SortStableFunc(found, func(x, y activity) int {
		return cmp.Or(x.at.Compare(y.at), strings.Compare(x.orderID, y.orderID), x.sofar.Cmp(y.sofar))
	})
	fills := make([]order.Fill, 0, len(found))
	for _, a := range found {
		f, err := a.fill(s)
		if err != nil {
			return nil, after, upstream.MalformedResponse(name, s.Name, err)
		}
		if a.stamp() != stamp {
			stamp, known = a.stamp(), nil
		}
		fills, known = append(fills, f), append(known, f.TradeID)
	}
	return fills, broker.Cursor(strings.Join(known[max(0, len(known)-maxKnown):], " ")), nil
}

// since returns the trades of a symbol that may be newer than those named, which are of one millisecond, and that
// millisecond.
func (b *Broker) since(ctx context.Context, s market.Symbol, known []string) (found []activity, stamp string, err error) {
	var cursor *activity
	q := url.Values{"direction": {"desc"}, "page_size": {strconv.Itoa(fillPage)}}
	all, err := venue.Pages(fillPage, func(a activity) string { return a.id }, func(last *activity) ([]activity, error) {
		if last != nil {
			q.Set("page_token", last.id)
		}
		page, err := fetch(ctx, b, upstream.Request{Path: "/v2/account/activities/FILL", Query: q, Subject: s.Name}, venue.List("a page of activities", activityAt))
		for i, a := range page {
			switch {
			case cursor != nil && a.stamp() != cursor.stamp():
				return page[:i], err // and no page after it
			case cursor == nil && slices.Contains(known, a.tradeID()) && joinPair(a.symbol) == joinPair(s.Name):
				cursor, stamp = &a, a.stamp()
			}
		}
		return page, err
	})
	all = slices.DeleteFunc(all, func(a activity) bool {
		return joinPair(a.symbol) != joinPair(s.Name) || cursor != nil && slices.Contains(known, a.tradeID())
	})
	return oldest(all, cursor), stamp, err
}

// oldest reverses what was read backwards, without what is known to precede the cursor.
func oldest(found []activity, cursor *activity) []activity {
	slices.Reverse(found)
	if cursor == nil {
		return found
	}
	return slices.DeleteFunc(found, func(a activity) bool {
		return a.stamp() == cursor.stamp() && a.orderID == cursor.orderID && a.sofar.LessThan(cursor.sofar)
	})
}

// Holdings lists the positions and the money of the account.
func (b *Broker) Holdings(ctx context.Context) ([]order.Holding, error) {
	all, err := fetch(ctx, b, upstream.Request{Path: "/v2/positions", Subject: "positions"}, venue.List("a list of positions", positionAt))
	if err != nil {
		return nil, err
	}
	cash, err := fetch(ctx, b, upstream.Request{Path: "/v2/account", Subject: "account"}, readCash)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y order.Holding) int { return strings.Compare(x.Symbol.Name, y.Symbol.Name) })
	return append(all, cash), nil
}

// activity is a trade of the venue's history.
type activity struct {
	id       string // time, "::", and the id of the execution, as in the stream
	orderID  string
	kind     string
	symbol   string // of a pair with or without its slash
	side     order.Side
	quantity decimal.Decimal
	sofar    decimal.Decimal // of the order, with this one
	price    decimal.Decimal
	at       time.Time
}

// stamp is the millisecond of the activity, as its id begins.
func (a activity) stamp() string {
	stamp, _, _ := strings.Cut(a.id, "::")
	return stamp
}

// tradeID is what names the execution in the history and in the stream.
func (a activity) tradeID() string {
	_, id, _ := strings.Cut(a.id, "::")
	return id
}

func activityAt(j *strictjson.Reader) (a activity) {
	var side string
	form.Object(j, "an activity", venue.Members{
		"id": &a.id, "order_id": &a.orderID, "type": &a.kind, "symbol": &a.symbol, "side": &side, "qty": &a.quantity, "cum_qty": &a.sofar, "price": &a.price,
		"transaction_time": &a.at,
	})
	if a.side = sides()[side]; a.stamp() == "" || a.tradeID() == "" {
		j.Failf("an activity with the id %q", a.id)
	}
	return a
}

// fill returns the trade of a symbol. Anything but a trade among the trades is an
// error: what is not understood here would be missing from a position.
func (a activity) fill(s market.Symbol) (order.Fill, error) {
	if a.kind != "fill" && a.kind != "partial_fill" {
		return order.Fill{}, fmt.Errorf("activity %s is of the kind %q", a.id, a.kind)
	}
	if a.side == 0 || !a.quantity.IsPositive() || a.price.IsNegative() || a.at.IsZero() || a.orderID == "" {
		return order.Fill{}, fmt.Errorf("activity %s lacks side, qty, price, transaction_time or order_id", a.id)
	}
	return order.Fill{
		TradeID: a.tradeID(), VenueID: a.orderID, Symbol: s, Side: a.side, Quantity: a.quantity, Price: a.price, At: a.at,
	}, nil
}

func positionAt(j *strictjson.Reader) (h order.Holding) {
	var symbol, class, side string
	form.Object(j, "a position", venue.Members{"symbol": &symbol, "asset_class": &class, "qty": &h.Quantity, "qty_available": &h.Available, "side": &side}, "symbol", "qty", "side")
	if symbol == "" {
		j.Failf("a position without symbol")
		return h
	}
	// Of a short the venue has written the quantity with and without its sign.
	if side == "short" {
		h.Quantity, h.Available = h.Quantity.Abs().Neg(), h.Available.Abs().Neg()
	}
	h.Symbol = symbolOf(j, symbol, class)
	h.Asset, _, _ = strings.Cut(h.Symbol.Name, "/")
	return h
}

// readCash reads the money, of which as much is available as needs no borrowing.
func readCash(body []byte) (order.Holding, error) {
	return venue.Parse(body, "an account", func(j *strictjson.Reader) (h order.Holding) {
		const power = "non_marginable_buying_power" //nolint:misspell // the venue's word
		form.Object(j, "an account", venue.Members{"currency": &h.Asset, "cash": &h.Quantity, power: &h.Available}, "currency", "cash", power)
		if h.Asset == "" {
			j.Failf("an account in no currency")
		}
		return h
	})
}

// readPair reads the rules of a crypto pair, asked for without its slash, and nothing of any other asset.
func readPair(body []byte, joined string) (provider.Instrument, error) {
	return venue.Parse(body, "an asset", func(j *strictjson.Reader) (in provider.Instrument) {
		var symbol, class string
		form.Object(j, "an asset", venue.Members{
			"symbol": &symbol, "class": &class, "min_order_size": &in.MinQuantity, "min_trade_increment": &in.Step, "price_increment": &in.Tick,
		})
		if joinPair(symbol) != joined {
			j.Failf("it is about %q", symbol)
		}
		if class != "crypto" {
			return provider.Instrument{}
		}
		in.Symbol = symbolOf(j, symbol, class)
		in.Base, in.Quote, _ = splitPair(in.Symbol.Name)
		if !in.Tick.IsPositive() || !in.Step.IsPositive() || in.MinQuantity.IsNegative() {
			j.Failf("no price_increment or min_trade_increment in it")
		}
		return in
	})
}

// readClock reads the venue's time.
func readClock(body []byte) (time.Time, error) {
	return venue.Parse(body, "a clock", func(j *strictjson.Reader) (at time.Time) {
		if form.Object(j, "a clock", venue.Members{"timestamp": &at}, "timestamp"); at.IsZero() {
			j.Failf("no timestamp in it")
		}
		return at
	})
}
