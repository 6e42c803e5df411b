package binance

import (
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/lib/market"
)

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
