package binance

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
)

// form is how the venue writes values.
const form = venue.Millis

// parseTrade reads a trade, in the answer to an order or in a list.
func parseTrade(j *strictjson.Reader) (f order.Fill) {
	f.Symbol.Venue = name
	buyer := func() {
		f.Side = order.Sell
		if j.Bool() {
			f.Side = order.Buy
		}
	}
	form.Object(j, "a trade", venue.Members{
		"tradeId": number(j, &f.TradeID), "id": number(j, &f.TradeID), "orderId": number(j, &f.VenueID), "symbol": &f.Symbol.Name,
		"price": &f.Price, "qty": &f.Quantity, "commission": &f.Fee, "commissionAsset": &f.FeeAsset, "time": &f.At, "isBuyer": buyer, "isMaker": &f.Maker,
	})
	return f
}

// parseTrades reads a page of trades of one symbol, which must ascend.
func parseTrades(data []byte, spelled string) ([]order.Fill, error) {
	last := int64(-1)
	return venue.List("a page of trades", func(j *strictjson.Reader) order.Fill {
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
		return f
	})(data)
}

// parseAccount reads the balances.
func parseAccount(data []byte) ([]order.Holding, error) {
	return venue.Parse(data, "an account", func(j *strictjson.Reader) (all []order.Holding) {
		form.Object(j, "an account", venue.Members{"balances": func() { all = venue.Items(j, parseBalance) }}, "balances")
		return all
	})
}

func parseBalance(j *strictjson.Reader) (h order.Holding) {
	var locked decimal.Decimal
	form.Object(j, "a balance", venue.Members{"asset": &h.Asset, "free": &h.Available, "locked": &locked}, "asset", "free", "locked")
	if h.Asset == "" {
		j.Failf("a balance of nothing")
	}
	h.Quantity = h.Available.Add(locked)
	return h
}

// parseTime reads the venue's clock.
func parseTime(data []byte) (time.Time, error) {
	return venue.Parse(data, "a time", func(j *strictjson.Reader) (at time.Time) {
		form.Object(j, "a time", venue.Members{"serverTime": &at}, "serverTime")
		return at
	})
}
