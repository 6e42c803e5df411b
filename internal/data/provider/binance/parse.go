package binance

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

// parseKlines reads an answer of the klines endpoint: rows of open time, open, high, low,
// close, volume, close time, two values that we do not use, and taker-buy volume. Bars
// that do not ascend, are not sound or not on the grid are an error.
func parseKlines(data []byte, i market.Interval) (market.Bars, error) {
	bars := market.MakeBars(min(bytes.Count(data, []byte{'['}), pageSize), true)
	j := strictjson.NewReader(data)
	j.Array(func(int) {
		bars.Append(provider.ReadBar(j, "-ohlcv---b", (*strictjson.Reader).Quoted, func(column int, b *market.Bar) {
			switch column {
			case 0:
				b.T = seconds(j, j.Int())
			case 6:
				checkClose(j, b.T, j.Int(), i)
			}
		}))
	})
	if err := j.End(); err != nil {
		return market.Bars{}, err
	}
	return bars, provider.CheckAligned(&bars, i)
}

// seconds returns milliseconds as seconds, and fails when they are not whole.
func seconds(j *strictjson.Reader, ms int64) int64 {
	if ms%1000 != 0 {
		j.Failf("open time %d is not in whole seconds", ms)
	}
	return ms / 1000
}

// checkClose compares a close time with the interval asked for, so that bars of
// another one are not taken for it.
func checkClose(j *strictjson.Reader, open, closeMS int64, i market.Interval) {
	if span, ok := (market.Calendar{}).Bucket(i, open); !ok || span.Close*1000-1 != closeMS {
		j.Failf("a bar from %d to %d ms is not one of %v", open*1000, closeMS, i)
	}
}

// parseInfo reads the rules of one symbol out of exchangeInfo.
func parseInfo(data []byte, spelled string) (inst provider.Instrument, err error) {
	err = parseSymbols(data, func(one provider.Instrument, _ string) {
		if one.Symbol.Name == spelled {
			inst = one
		}
	})
	if err == nil && inst.Symbol.Name == "" {
		err = errors.New("the symbol is not in it")
	}
	return inst, err
}

// parsePerpetuals reads the rules of all perpetual futures, by their names on the wire. Futures that end are
// left out.
func parsePerpetuals(data []byte) (map[string]provider.Instrument, error) {
	all := make(map[string]provider.Instrument)
	err := parseSymbols(data, func(one provider.Instrument, contract string) {
		if !strings.HasSuffix(contract, "PERPETUAL") {
			return
		}
		wire := one.Symbol.Name
		one.Symbol.Name, one.Class = market.PerpetualOf(wire), provider.Perpetual
		all[wire] = one
	})
	if err == nil && len(all) == 0 {
		err = errors.New("no perpetual is in it")
	}
	return all, err
}

// parseSymbols reads the symbols of exchangeInfo, each with its type of contract.
func parseSymbols(data []byte, yield func(one provider.Instrument, contract string)) error {
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		if string(key) == "symbols" {
			j.Array(func(int) { yield(parseSymbol(j)) })
		}
	})
	return j.End()
}

func parseSymbol(j *strictjson.Reader) (inst provider.Instrument, contract string) {
	inst = provider.Instrument{Symbol: market.Symbol{Venue: name}, Class: provider.Crypto}
	j.Object(func(key []byte) {
		switch string(key) {
		case "symbol":
			inst.Symbol.Name = j.Text()
		case "baseAsset":
			inst.Base = j.Text()
		case "quoteAsset":
			inst.Quote = j.Text()
		case "marginAsset":
			inst.Settle = j.Text()
		case "contractType":
			contract = j.Text()
		case "filters":
			j.Array(func(int) { parseFilter(j, &inst) })
		}
	})
	return inst, contract
}

// parseFilter reads a filter. Which of its amounts count depends on its type, which may
// come last.
func parseFilter(j *strictjson.Reader, inst *provider.Instrument) {
	kind, amounts := "", map[string]decimal.Decimal{}
	j.Object(func(key []byte) {
		switch string(key) {
		case "filterType":
			kind = j.Text()
		case "tickSize", "stepSize", "minQty", "maxQty", "minPrice", "maxPrice", "minNotional", "maxNotional", "notional":
			amounts[string(key)] = j.Amount()
		}
	})
	switch kind {
	case "PRICE_FILTER":
		inst.Tick, inst.MinPrice, inst.MaxPrice = amounts["tickSize"], amounts["minPrice"], amounts["maxPrice"]
	case "LOT_SIZE":
		inst.Step, inst.MinQuantity, inst.MaxQuantity = amounts["stepSize"], amounts["minQty"], amounts["maxQty"]
	case "MARKET_LOT_SIZE":
		inst.MaxMarket = amounts["maxQty"]
	case "NOTIONAL", "MIN_NOTIONAL":
		inst.MinNotional = decimal.Max(inst.MinNotional, amounts["minNotional"], amounts["notional"]) // the futures call it so
		inst.MaxNotional = decimal.Max(inst.MaxNotional, amounts["maxNotional"])
	}
}

// parsePoints reads a series: objects with a time in milliseconds and a value in
// quotes.
func parsePoints(data []byte, timeKey, valueKey string) ([]provider.Point, error) {
	var points []provider.Point
	j := strictjson.NewReader(data)
	j.Array(func(int) {
		var p provider.Point
		var hasTime, hasValue bool
		j.Object(func(key []byte) {
			switch string(key) {
			case timeKey:
				p.T, hasTime = j.Int()/1000, true
			case valueKey:
				p.V, hasValue = j.Quoted(), true
			}
		})
		if !hasTime || !hasValue {
			j.Failf("an entry without %s or %s", timeKey, valueKey)
		}
		points = append(points, p)
	})
	if err := j.End(); err != nil {
		return nil, err
	}
	for k := range points {
		if k > 0 && points[k].T <= points[k-1].T {
			return nil, fmt.Errorf("entries at %d and %d do not ascend", points[k-1].T, points[k].T)
		}
	}
	return points, nil
}
