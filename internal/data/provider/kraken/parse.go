package kraken

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

// pair is a pair as the venue describes it.
type pair struct {
	id         string // the code under which it answers, such as XXBTZUSD
	symbol     string // the name in streams, such as BTC/USD
	instrument provider.Instrument
}

// directory holds the pairs under each of their spellings, see plain.
type directory map[string]*pair

// modern returns a currency as the streams call it: the older codes are used by
// the other endpoints alone.
func modern(currency string) string {
	switch currency {
	case "XBT":
		return "BTC"
	case "XDG":
		return "DOGE"
	default:
		return currency
	}
}

// parsePairs reads the result of AssetPairs.
func parsePairs(j *strictjson.Reader) (directory, error) {
	all := directory{}
	j.Object(func(key []byte) {
		one := &pair{id: string(key)}
		alt, ws := parsePair(j, one)
		if ws == "" {
			return // pairs that are not streamed have no other name; none is traded
		}
		base, quote, ok := strings.Cut(ws, "/")
		if !ok {
			j.Failf("a pair is called %q", ws)
			return
		}
		base, quote = modern(base), modern(quote)
		one.symbol = base + "/" + quote
		one.instrument.Class, one.instrument.Base, one.instrument.Quote = provider.Crypto, base, quote
		one.instrument.Symbol = market.Symbol{Venue: name, Name: one.symbol}
		for _, spelled := range []string{one.id, alt, ws, one.symbol} {
			all[plain(spelled)] = one
		}
	})
	if j.OK() && len(all) == 0 {
		return nil, errors.New("no pair is listed")
	}
	return all, nil
}

// parsePair reads one entry and returns its other names.
func parsePair(j *strictjson.Reader, one *pair) (alt, ws string) {
	inst := &one.instrument
	j.Object(func(key []byte) {
		switch string(key) {
		case "altname":
			alt = j.Text()
		case "wsname":
			ws = j.Text()
		case "tick_size":
			inst.Tick = j.Amount()
		case "lot_decimals":
			if n := j.Int(); n >= 0 && n <= 18 {
				inst.Step = decimal.New(1, -int32(n))
			} else {
				j.Failf("%d lot decimals", n)
			}
		case "ordermin":
			inst.MinQuantity = j.Amount()
		case "costmin":
			inst.MinNotional = j.Amount()
		}
	})
	return alt, ws
}

// parseOHLC reads the result of OHLC, which must be that of the pair asked for.
func parseOHLC(j *strictjson.Reader, id string, i market.Interval) (market.Bars, error) {
	bars := market.MakeBars(0, false)
	found := false
	j.Object(func(key []byte) {
		switch string(key) {
		case "last":
		case id:
			found = true
			j.Array(func(int) { bars.Append(provider.ReadBar(j, "tohlc-v", (*strictjson.Reader).Quoted, nil)) }) // - is the average price; a count follows
		default:
			j.Failf("bars of %q, asked for %q", key, id)
		}
	})
	if !j.OK() {
		return market.Bars{}, nil // the reader reports it
	}
	if !found {
		return market.Bars{}, errors.New("there are no bars in it")
	}
	return bars, provider.CheckAligned(&bars, i)
}

// message is anything that comes over a stream.
type message struct {
	channel string
	method  string
	success bool
	refused string
	at      time.Time
	candles []candle
}

// candle is the state of one bar.
type candle struct {
	symbol  string
	minutes int64
	bar     market.Bar
	fields  int
}

// candleFields is how many fields of a candle must be there.
const candleFields = 8

// parseMessage reads a message of the stream.
func parseMessage(data []byte) (message, error) {
	var m message
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		switch string(key) {
		case "channel":
			m.channel = j.Text()
		case "method":
			m.method = j.Text()
		case "success":
			m.success = j.Bool()
		case "error":
			m.refused = j.Text()
		case "timestamp":
			m.at = stamp(j)
		case "data":
			if m.channel == "ohlc" || m.channel == "" {
				j.Array(func(int) { m.candles = append(m.candles, parseCandle(j)) })
			}
		}
	})
	if err := j.End(); err != nil {
		return m, err
	}
	return m, m.check()
}

func parseCandle(j *strictjson.Reader) candle {
	c := candle{bar: market.Bar{TakerBuy: math.NaN()}}
	j.Object(func(key []byte) {
		c.fields++
		switch string(key) {
		case "symbol":
			c.symbol = j.Text()
		case "open":
			c.bar.O = j.Number()
		case "high":
			c.bar.H = j.Number()
		case "low":
			c.bar.L = j.Number()
		case "close":
			c.bar.C = j.Number()
		case "volume":
			c.bar.V = j.Number()
		case "interval":
			c.minutes = j.Int()
		case "interval_begin":
			at := stamp(j)
			if c.bar.T = at.Unix(); at.Nanosecond() != 0 {
				j.Failf("a bar opens at %v", at)
			}
		default:
			c.fields--
		}
	})
	return c
}

func stamp(j *strictjson.Reader) time.Time {
	text := j.Text()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && j.OK() {
		j.Failf("%q is no time", text)
	}
	return at
}

// check returns what a message lacks to be used.
func (m *message) check() error {
	if m.refused != "" || m.method != "" && !m.success && m.method != "pong" {
		return fmt.Errorf("the venue refused %s: %s", m.method, m.refused)
	}
	if m.channel != "ohlc" {
		return nil
	}
	if m.at.IsZero() {
		return errors.New("bars without a time")
	}
	for _, c := range m.candles {
		if c.fields != candleFields {
			return fmt.Errorf("a bar with %d of the %d fields", c.fields, candleFields)
		}
		if err := c.bar.Check(); err != nil {
			return fmt.Errorf("%s: %w", c.symbol, err)
		}
	}
	return nil
}
