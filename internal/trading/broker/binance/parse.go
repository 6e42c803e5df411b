package binance

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/kit/strictjson"
	"candela/internal/market"
	"candela/internal/trading/order"
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

// typeOf reads how an order is priced. Those that wait for a trigger are what they
// become, and have a stop price; a word that is not known is neither.
func typeOf(word string) order.Type {
	switch word {
	case "LIMIT", "LIMIT_MAKER", "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT":
		return order.Limit
	case "MARKET", "STOP_LOSS", "TAKE_PROFIT":
		return order.Market
	}
	return 0
}

// statusPending is the status of an order that waits for another of its list.
const statusPending = "PENDING_NEW"

// statusOf reads a status. An unknown word means to ask again, never that it is over.
func statusOf(word string) order.Status {
	switch word {
	case "NEW", statusPending:
		return order.Accepted
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
	if !o.Names(r) || r.Symbol.Name != spelled || r.Side != o.Side {
		return order.Report{}, fmt.Errorf("it is about another order: %s in %s", r.ID, r.Symbol.Name)
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
	if x.has != hasAll {
		j.Failf("%s that lacks something: %010b", what, x.has)
	}
	if x.original != "" {
		r.ID = x.original
	}
	r.Status = statusOf(x.word)
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
		r.Type, x.has = typeOf(j.Text()), x.has|hasType
	case "origQty", "q":
		r.Quantity, x.has = j.Amount(), x.has|hasQuantity
	case "executedQty", "z":
		r.Filled, x.has = j.Amount(), x.has|hasFilled
	case "price", "p":
		r.Price, x.has = j.Amount(), x.has|hasPrice
	case "stopPrice", "P":
		r.StopPrice = j.Amount()
	case "orderListId", "g":
		x.list = j.Int()
	case "transactTime", "updateTime", "T":
		r.At, x.has = instant(j), x.has|hasTime
	case "expiryReason":
		r.Reason = j.Text()
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
	case "r", "eR":
		if word := j.Text(); word != "NONE" {
			x.r.Reason = word
		}
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

// parseTrade reads a trade, in the answer to an order or in a list.
func parseTrade(j *strictjson.Reader) order.Fill {
	var f order.Fill
	j.Object(func(key []byte) {
		switch string(key) {
		case "tradeId", "id":
			f.TradeID = formatID(j.Int())
		case "orderId":
			f.VenueID = formatID(j.Int())
		case "symbol":
			f.Symbol = market.Symbol{Venue: name, Name: j.Text()}
		case "price":
			f.Price = j.Amount()
		case "qty":
			f.Quantity = j.Amount()
		case "commission":
			f.Fee = j.Amount()
		case "commissionAsset":
			f.FeeAsset = j.Text()
		case "time":
			f.At = instant(j)
		case "isBuyer":
			f.Side = order.Sell
			if j.Bool() {
				f.Side = order.Buy
			}
		case "isMaker":
			f.Maker = j.Bool()
		}
	})
	return f
}

// parseTrades reads a page of trades of one symbol, which must ascend.
func parseTrades(data []byte, spelled string) ([]order.Fill, error) {
	var all []order.Fill
	last := int64(-1)
	j := strictjson.NewReader(data)
	j.Array(func(int) {
		f := parseTrade(j)
		id, err := parseID(f.TradeID)
		switch {
		case !j.OK():
		case err != nil || id <= last:
			j.Failf("trade %q after %d", f.TradeID, last)
		case f.Symbol.Name != spelled || f.VenueID == "" || f.Side == 0 || f.At.IsZero() || !f.Quantity.IsPositive() || !f.Price.IsPositive():
			j.Failf("trade %s lacks something", f.TradeID)
		}
		last = id
		all = append(all, f)
	})
	if err := j.End(); err != nil {
		return nil, err
	}
	return all, nil
}

// parseAccount reads the balances.
func parseAccount(data []byte) ([]order.Holding, error) {
	var all []order.Holding
	found := false
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		if string(key) != "balances" {
			return
		}
		found = true
		j.Array(func(int) {
			var h order.Holding
			var locked decimal.Decimal
			fields := 0
			j.Object(func(key []byte) {
				switch string(key) {
				case "asset":
					h.Asset = j.Text()
				case "free":
					h.Available = j.Amount()
				case "locked":
					locked = j.Amount()
				default:
					return
				}
				fields++
			})
			if fields != 3 || h.Asset == "" {
				j.Failf("a balance of %q with %d of 3 fields", h.Asset, fields)
			}
			h.Quantity = h.Available.Add(locked)
			all = append(all, h)
		})
	})
	if err := j.End(); err != nil {
		return nil, err
	}
	if !found {
		return nil, errors.New("there are no balances in it")
	}
	return all, nil
}

// parseTime reads the venue's clock.
func parseTime(data []byte) (time.Time, error) {
	var at time.Time
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		if string(key) == "serverTime" {
			at = instant(j)
		}
	})
	if err := j.End(); err != nil {
		return at, err
	}
	if at.IsZero() {
		return at, errors.New("there is no time in it")
	}
	return at, nil
}
