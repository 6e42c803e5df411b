package binance

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
	"candela/lib/market"
)

func formatID(n int64) string { return strconv.FormatInt(n, 10) }

// parseID reads a trade id that we gave out.
func parseID(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.Field("after", text, "the id of a trade")
	}
	return n, nil
}

// number returns what reads a whole number that is an id.
func number(j *strictjson.Reader, to *string) func() { return func() { *to = formatID(j.Int()) } }

// statusPending is the status of an order that waits for another of its list.
const statusPending = "PENDING_NEW"

// statuses are the venue's words for what became of an order. An unknown word means to ask again, never that
// it is over.
func statuses() venue.Words[order.Status] {
	return venue.Words[order.Status]{
		"NEW": order.Accepted, statusPending: order.Held, "PARTIALLY_FILLED": order.PartiallyFilled, "FILLED": order.Filled, "PENDING_CANCEL": order.PendingCancel,
		"CANCELED": order.Canceled, "EXPIRED": order.Expired, "EXPIRED_IN_MATCH": order.Expired, "REJECTED": order.Rejected,
	}
}

// trailPercent reads a trail, which the venue counts in hundredths of a per cent.
func trailPercent(j *strictjson.Reader) decimal.Decimal {
	n := j.Int()
	if n < 0 {
		j.Failf("%d is no trail", n)
	}
	return decimal.New(n, -trailDigits)
}

// parseReport reads an answer about one order, which must be the one asked for. Its
// quantity may be less by now: the account's owner can reduce it at the venue.
func parseReport(data []byte, o order.Handle, spelled string) (order.Report, error) {
	r, err := venue.Parse(data, "an order", parseOrder)
	if err != nil {
		return r, err
	}
	return matched(r, o, spelled)
}

// matched returns a report of the order asked for, with the group that we know it in.
func matched(r order.Report, o order.Handle, spelled string) (order.Report, error) {
	if !o.Names(r) || r.Symbol.Name != spelled || r.Side != o.Side {
		return order.Report{}, fmt.Errorf("it is about another order: %s in %s", r.ID, r.Symbol.Name)
	}
	if o.Group.Name != "" {
		r.Group = o.Group
	}
	if o.Type == order.Market && r.Type == order.Limit && !r.IsStop() {
		r.SentAs = sentAs(r.Spec)
	}
	return r, nil
}

// parseOrders reads a list of orders.
func parseOrders(data []byte) ([]order.Report, error) {
	return venue.List("a list of orders", parseOrder)(data)
}

// parseOrder reads an order of a REST answer.
func parseOrder(j *strictjson.Reader) order.Report { return parseAnyOrder(j, "an order", false) }

// parseAnyOrder reads an order, in any of the shapes in which the venue sends one: with
// long names over REST, with single letters in the stream.
func parseAnyOrder(j *strictjson.Reader, what string, execution bool) order.Report {
	x := wireOrder{list: -1, r: order.Report{Spec: order.Spec{Symbol: market.Symbol{Venue: name}}}}
	x.read(j, what, execution)
	r := x.r
	r.Status = order.Uncertain
	if status, known := statuses()[x.word]; known {
		r.Status = status
	}
	// The entry decides the quantity of its legs when it is filled, if it ever is.
	if !x.counted && x.word != statusPending && (x.list < 0 || !r.Filled.IsZero() || !r.Status.Final()) {
		j.Failf("%s that lacks its quantity", what)
	}
	if x.original != "" {
		r.ID = x.original
	}
	r.Reason = strings.Trim(x.expired+": "+x.rejected, ": ")
	r.Triggered = x.triggered()
	if x.list >= 0 {
		r.Group = order.Group{Name: formatID(x.list), Leg: x.word == statusPending}
	}
	if x.happened == "TRADE" {
		r.Fills = []order.Fill{x.fill}
	}
	for i := range r.Fills {
		f := &r.Fills[i]
		f.OrderID, f.VenueID, f.Symbol, f.Side, f.At = r.ID, r.VenueID, r.Symbol, r.Side, r.At
	}
	checkReport(j, &r)
	return r
}

// wireOrder is an order as it comes.
type wireOrder struct {
	r        order.Report
	fill     order.Fill // of an execution report
	original string     // the order's id, when the other is that of its cancel
	word     string     // the status
	list     int64      // the id of the order's list, -1 for none
	happened string     // in an execution report
	counted  bool       // its quantity came
	waits    bool       // it is of a type that waits for a trigger
	onBook   bool       // it is on the book, or was
	working  time.Time  // since when, zero if it was not
	expired  string     // why
	rejected string     // why
}

// triggered returns when an order that waits for a trigger was triggered: it is on the book
// then, or trades.
func (x *wireOrder) triggered() time.Time {
	switch {
	case !x.waits || x.word == statusPending:
		return time.Time{}
	case !x.working.IsZero():
		return x.working
	case x.onBook || x.r.Filled.IsPositive():
		return x.r.At
	}
	return time.Time{}
}

// read reads the fields.
func (x *wireOrder) read(j *strictjson.Reader, what string, execution bool) {
	r, f := &x.r, &x.fill
	kind := func() {
		k := kinds()[j.Text()]
		r.Type, r.PostOnly, x.waits = k.Type, k.Maker, k.Waits
	}
	side := func() {
		if r.Side = sides()[j.Text()]; r.Side == 0 {
			j.Failf("it has no side")
		}
	}
	counted := func() { r.Quantity, x.counted = j.Amount(), true }
	working := func() {
		if ms := j.Int(); ms > 0 { // -1 before
			x.working = time.UnixMilli(ms).UTC()
		}
	}
	members := venue.Members{
		"symbol": &r.Symbol.Name, "clientOrderId": &r.ID, "origClientOrderId": &x.original, "orderId": number(j, &r.VenueID), "status": &x.word, "side": side,
		"type": kind, "timeInForce": func() { r.TimeInForce = forces()[j.Text()] }, "origQty": counted, "executedQty": &r.Filled, "price": &r.Price, "stopPrice": &r.StopPrice,
		"trailingDelta": func() { r.TrailPercent = trailPercent(j) }, "workingTime": working, "orderListId": &x.list, "transactTime": &r.At, "updateTime": &r.At,
		"expiryReason": &x.expired, "fills": func() { r.Fills = append(r.Fills, venue.Items(j, parseTrade)...) },
	}
	if execution {
		asset := func() {
			if !j.Null() {
				f.FeeAsset = j.Text()
			}
		}
		reason := func() {
			if x.rejected = j.Text(); x.rejected == "NONE" {
				x.rejected = ""
			}
		}
		for short, long := range map[string]string{
			"s": "symbol", "c": "clientOrderId", "C": "origClientOrderId", "i": "orderId", "X": "status", "S": "side", "o": "type", "f": "timeInForce", "q": "origQty",
			"z": "executedQty", "p": "price", "P": "stopPrice", "d": "trailingDelta", "W": "workingTime", "g": "orderListId", "T": "transactTime", "eR": "expiryReason",
		} {
			members[short] = members[long]
		}
		maps.Copy(members, venue.Members{
			"r": reason, "w": &x.onBook, "x": &x.happened, "t": number(j, &f.TradeID), "l": &f.Quantity, "L": &f.Price, "n": &f.Fee, "N": asset, "m": &f.Maker,
		})
	}
	form.Object(j, what, members, "symbol s", "clientOrderId c", "orderId i", "status X", "side S", "type o", "executedQty z", "price p", "transactTime updateTime T")
}

// checkReport fails when the amounts of a report cannot be.
func checkReport(j *strictjson.Reader, r *order.Report) {
	// An order by quote has no quantity until it traded.
	if r.Filled.GreaterThan(r.Quantity) && !r.Quantity.IsZero() {
		j.Failf("%s of %s are filled", r.Filled, r.Quantity)
	}
	sum := decimal.Zero
	for i := range r.Fills {
		f := &r.Fills[i]
		if f.TradeID == "" || !f.Quantity.IsPositive() || !f.Price.IsPositive() {
			j.Failf("a fill %q of %s at %s", f.TradeID, f.Quantity, f.Price)
		}
		sum = sum.Add(f.Quantity)
	}
	if sum.GreaterThan(r.Filled) {
		j.Failf("fills of %s, and %s in all", sum, r.Filled)
	}
}
