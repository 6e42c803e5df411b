package coinbase

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

// parseCandles reads rows of time, low, high, open, close and volume, newest
// first, and returns them oldest first.
func parseCandles(data []byte, i market.Interval) (market.Bars, error) {
	var rows []market.Bar
	j := strictjson.NewReader(data)
	j.Array(func(int) {
		rows = append(rows, provider.ReadBar(j, "tlhocv", (*strictjson.Reader).Number, nil))
	})
	if err := j.End(); err != nil {
		return market.Bars{}, err
	}
	bars := market.MakeBars(len(rows), false)
	for _, b := range slices.Backward(rows) {
		bars.Append(b)
	}
	return bars, provider.CheckAligned(&bars, i)
}

// parseProduct reads the rules of a product, which must be the one asked for.
func parseProduct(data []byte, spelled string) (provider.Instrument, error) {
	inst := provider.Instrument{Symbol: market.Symbol{Venue: name, Name: spelled}, Class: provider.Crypto}
	id := ""
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		switch string(key) {
		case "id":
			id = j.Text()
		case "base_currency":
			inst.Base = j.Text()
		case "quote_currency":
			inst.Quote = j.Text()
		case "quote_increment":
			inst.Tick = j.Amount()
		case "base_increment":
			inst.Step = j.Amount()
		case "min_market_funds":
			inst.MinNotional = j.Amount()
		}
	})
	if err := j.End(); err != nil {
		return inst, err
	}
	if id != spelled {
		return inst, fmt.Errorf("it is about %q", id)
	}
	inst.MinQuantity = inst.Step
	return inst, nil
}

// message is anything that comes over a stream.
type message struct {
	kind    string
	product string
	at      time.Time
	id      int64 // of the trade, or of the last one for a heartbeat
	price   float64
	size    decimal.Decimal
	fields  int
}

// parseMessage reads a message of the stream.
func parseMessage(data []byte) (message, error) {
	var m message
	reason := ""
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		m.fields++
		switch string(key) {
		case "type":
			m.kind = j.Text()
		case "product_id":
			m.product = j.Text()
		case "trade_id", "last_trade_id":
			m.id = j.Int()
		case "time":
			text := j.Text()
			at, err := time.Parse(time.RFC3339Nano, text)
			if m.at = at.UTC(); err != nil {
				j.Failf("%q is no time", text)
			}
		case "price":
			m.price = j.Quoted()
		case "size":
			m.size = j.Amount()
		case "message", "reason":
			reason += j.Text() + " "
			m.fields--
		default:
			m.fields--
		}
	})
	if err := j.End(); err != nil {
		return m, err
	}
	return m, m.check(reason)
}

// check returns what a message lacks to be used.
func (m *message) check(reason string) error {
	switch m.kind {
	case "error":
		return fmt.Errorf("the venue refused: %s", reason)
	case "match", "last_match":
		if m.fields != 6 || m.id <= 0 || m.at.IsZero() || m.product == "" {
			return errors.New("a match that lacks a field")
		}
	case "heartbeat":
		if m.fields != 4 || m.at.IsZero() || m.product == "" {
			return errors.New("a heartbeat that lacks a field")
		}
	}
	return nil
}
