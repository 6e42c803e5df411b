package binance

import (
	"fmt"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
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

// sideOf reads a side, without which a report is of no use.
func sideOf(j *strictjson.Reader) order.Side {
	switch word := j.Text(); word {
	case "BUY":
		return order.Buy
	case "SELL":
		return order.Sell
	default:
		j.Failf("%q is no side", word)
		return 0
	}
}

// typeOf reads how an order is priced, and whether it waits for a trigger. Those that wait
// are what they become; a word that is not known is neither.
func typeOf(word string) (kind order.Type, waits bool) {
	switch word {
	case typeLimit, typeMaker:
		return order.Limit, false
	case typeMarket:
		return order.Market, false
	case typeStopLimit, "TAKE_PROFIT_LIMIT":
		return order.Limit, true
	case typeStop, "TAKE_PROFIT":
		return order.Market, true
	}
	return 0, false
}

// statusPending is the status of an order that waits for another of its list.
const statusPending = "PENDING_NEW"

// statusOf reads a status. An unknown word means to ask again, never that it is over.
func statusOf(word string) order.Status {
	switch word {
	case "NEW":
		return order.Accepted
	case statusPending:
		return order.Held
	case "PARTIALLY_FILLED":
		return order.PartiallyFilled
	case "FILLED":
		return order.Filled
	case "PENDING_CANCEL":
		return order.PendingCancel
	case "CANCELED":
		return order.Canceled
	case "EXPIRED", "EXPIRED_IN_MATCH":
		return order.Expired
	case "REJECTED":
		return order.Rejected
	}
	return order.Uncertain
}

// instant reads a time in milliseconds.
func instant(j *strictjson.Reader) time.Time {
	ms := j.Int()
	if ms <= 0 {
		j.Failf("%d is no time", ms)
	}
	return time.UnixMilli(ms).UTC()
}

// trailPercent reads a trail, which the venue counts in hundredths of a per cent.
func trailPercent(j *strictjson.Reader) decimal.Decimal {
	n := j.Int()
	if n < 0 {
		j.Failf("%d is no trail", n)
	}
	return decimal.New(n, -trailDigits)
}

// The fields of an order that must be there.
const (
	hasSymbol = 1 << iota
	hasID
	hasVenueID
	hasStatus
	hasSide
	hasType
	hasQuantity
	hasFilled
	hasPrice
	hasTime
	hasAll = 1<<iota - 1
)

// parseReport reads an answer about one order, which must be the one asked for. Its
// quantity may be less by now: the account's owner can reduce it at the venue.
func parseReport(data []byte, o order.Handle, spelled string) (order.Report, error) {
	j := strictjson.NewReader(data)
	r := parseOrder(j)
	if err := j.End(); err != nil {
		return order.Report{}, err
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
	var all []order.Report
	j := strictjson.NewReader(data)
	j.Array(func(int) { all = append(all, parseOrder(j)) })
	if err := j.End(); err != nil {
		return nil, err
	}
	return all, nil
}

// parseOrder reads an order of a REST answer.
func parseOrder(j *strictjson.Reader) order.Report { return parseAnyOrder(j, "an order", false) }

// parseAnyOrder reads an order, in any of the shapes in which the venue sends one: with
// long names over REST, with single letters in the stream.
func parseAnyOrder(j *strictjson.Reader, what string, execution bool) order.Report {
	x := wireOrder{execution: execution, list: -1, r: order.Report{Spec: order.Spec{Symbol: market.Symbol{Venue: name}}}}
	j.Object(func(key []byte) { x.field(j, string(key)) })
	r := x.r
	if x.word == statusPending || x.list >= 0 && x.r.Filled.IsZero() && statusOf(x.word).Final() {
		x.has |= hasQuantity // which the entry decides when it is filled, if it ever is
	}
	if x.has != hasAll {
		j.Failf("%s that lacks something: %010b", what, x.has)
	}
	if x.original != "" {
		r.ID = x.original
	}
	r.Status, r.Reason = statusOf(x.word), x.reason()
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
	execution bool // it is an execution report
	r         order.Report
	fill      order.Fill // of an execution report
	original  string     // the order's id, when the other is that of its cancel
	word      string     // the status
	list      int64      // the id of the order's list, -1 for none
	happened  string     // in an execution report
	has       int        // which fields came
	waits     bool       // it is of a type that waits for a trigger
	onBook    bool       // it is on the book, or was
	working   time.Time  // since when, zero if it was not
	expired   string     // why
	rejected  string     // why
}

// reason returns why the order is over, or "".
func (x *wireOrder) reason() string {
	if x.expired != "" && x.rejected != "" {
		return x.expired + ": " + x.rejected
	}
	return x.expired + x.rejected
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

// field reads one field.
func (x *wireOrder) field(j *strictjson.Reader, key string) {
	r := &x.r
	switch key {
	case "symbol", "s":
		r.Symbol.Name, x.has = j.Text(), x.has|hasSymbol
	case "clientOrderId", "c":
		r.ID, x.has = j.Text(), x.has|hasID
	case "origClientOrderId", "C":
		x.original = j.Text()
	case "orderId", "i":
		r.VenueID, x.has = formatID(j.Int()), x.has|hasVenueID
	case "status", "X":
		x.word, x.has = j.Text(), x.has|hasStatus
	case "side", "S":
		r.Side, x.has = sideOf(j), x.has|hasSide
	case "type", "o":
		word := j.Text()
		r.Type, x.waits = typeOf(word)
		r.PostOnly, x.has = word == typeMaker, x.has|hasType
	case "timeInForce", "f":
		r.TimeInForce = forceOf(j.Text())
	case "origQty", "q":
		r.Quantity, x.has = j.Amount(), x.has|hasQuantity
	case "executedQty", "z":
		r.Filled, x.has = j.Amount(), x.has|hasFilled
	case "price", "p":
		r.Price, x.has = j.Amount(), x.has|hasPrice
	case "stopPrice", "P":
		r.StopPrice = j.Amount()
	case "trailingDelta", "d":
		r.TrailPercent = trailPercent(j)
	case "workingTime", "W":
		if ms := j.Int(); ms > 0 { // -1 before
			x.working = time.UnixMilli(ms).UTC()
		}
	case "orderListId", "g":
		x.list = j.Int()
	case "transactTime", "updateTime", "T":
		r.At, x.has = instant(j), x.has|hasTime
	case "expiryReason", "eR":
		x.expired = j.Text()
	case "fills":
		j.Array(func(int) { r.Fills = append(r.Fills, parseTrade(j)) })
	default:
		if x.execution {
			x.executionField(j, key)
		}
	}
}

// executionField reads one field that only execution reports have.
func (x *wireOrder) executionField(j *strictjson.Reader, key string) {
	f := &x.fill
	switch key {
	case "r":
		if word := j.Text(); word != "NONE" {
			x.rejected = word
		}
	case "w":
		x.onBook = j.Bool()
	case "x":
		x.happened = j.Text()
	case "t":
		f.TradeID = formatID(j.Int())
	case "l":
		f.Quantity = j.Amount()
	case "L":
		f.Price = j.Amount()
	case "n":
		f.Fee = j.Amount()
	case "N":
		if !j.Null() {
			f.FeeAsset = j.Text()
		}
	case "m":
		f.Maker = j.Bool()
	}
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
