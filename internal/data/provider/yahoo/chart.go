package yahoo

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// chart is one answer of /v8/finance/chart, checked as far as that can be done
// without a calendar.
type chart struct {
	meta meta
	rows []market.Bar // not descending in T, as the venue labels them, without holes
}

// meta describes the instrument in every chart.
type meta struct {
	Symbol             string          `json:"symbol"`
	Currency           string          `json:"currency"`
	Type               string          `json:"instrumentType"`
	Zone               string          `json:"exchangeTimezoneName"`
	PriceHint          *int            `json:"priceHint"`
	FirstTradeDate     *int64          `json:"firstTradeDate"`
	RegularMarketTime  int64           `json:"regularMarketTime"`
	DataGranularity    string          `json:"dataGranularity"`
	CurrentPeriod      periods         `json:"currentTradingPeriod"`
	RawTradingPeriods  json.RawMessage `json:"tradingPeriods"`
	tradingPeriodsRead []period
}

type periods struct {
	Regular *period `json:"regular"`
}

// period is one session in unix seconds.
type period struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// answer is the wire form. Arrays hold pointers because encoding/json leaves a
// number at zero where the text has null, and a price of zero is not a hole.
type answer struct {
	Chart *struct {
		Result []struct {
			Meta       *meta    `json:"meta"`
			Timestamp  []*int64 `json:"timestamp"`
			Indicators struct {
				Quote []quote `json:"quote"`
			} `json:"indicators"`
		} `json:"result"`
		Error *refusal `json:"error"`
	} `json:"chart"`
}

type quote struct {
	Open   []*float64 `json:"open"`
	High   []*float64 `json:"high"`
	Low    []*float64 `json:"low"`
	Close  []*float64 `json:"close"`
	Volume []*float64 `json:"volume"`
}

type refusal struct {
	Code        string `json:"code"`
	Description string `json:"description"`
}

// readRefusal reads the venue's words out of an answer that is no success.
func readRefusal(body []byte) (code, message string) {
	var a answer
	if json.Unmarshal(body, &a) != nil || a.Chart == nil || a.Chart.Error == nil {
		return "", ""
	}
	return a.Chart.Error.Code, a.Chart.Error.Description
}

// parse reads an answer about a symbol. granularity is the spelling of the
// interval that was asked for: the venue has been seen to answer with another
// one where it dislikes a range, and with another symbol for one it renamed, and
// neither may pass for what was asked.
func parse(body []byte, symbol, granularity string) (*chart, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("not a chart: %w", err)
	}
	switch {
	case a.Chart == nil:
		return nil, errors.New("not a chart: no chart in it")
	case a.Chart.Error != nil:
		return nil, fmt.Errorf("%s: %s", a.Chart.Error.Code, a.Chart.Error.Description)
	case len(a.Chart.Result) != 1 || a.Chart.Result[0].Meta == nil:
		return nil, fmt.Errorf("%d results where one with meta is due", len(a.Chart.Result))
	}
	r := a.Chart.Result[0]
	c := &chart{meta: *r.Meta}
	if !strings.EqualFold(c.meta.Symbol, symbol) {
		return nil, fmt.Errorf("it is about %q", c.meta.Symbol)
	}
	if c.meta.DataGranularity != granularity {
		return nil, fmt.Errorf("its bars are of %q instead of %q", c.meta.DataGranularity, granularity)
	}
	if hint := c.meta.PriceHint; hint != nil && (*hint < 0 || *hint > maxHint) {
		return nil, fmt.Errorf("priceHint is %d", *hint)
	}
	var err error
	if c.meta.tradingPeriodsRead, err = readTradingPeriods(c.meta.RawTradingPeriods); err != nil {
		return nil, err
	}
	if len(r.Timestamp) == 0 {
		return c, nil
	}
	if len(r.Indicators.Quote) != 1 {
		return nil, fmt.Errorf("%d quotes where one is due", len(r.Indicators.Quote))
	}
	c.rows, err = readRows(r.Timestamp, r.Indicators.Quote[0], rounder(c.meta.PriceHint))
	return c, err
}

// readTradingPeriods reads the sessions of an intraday range: a list per day, or
// an object with such lists when pre and post market were asked for.
func readTradingPeriods(raw json.RawMessage) ([]period, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var days [][]period
	if raw[0] == '{' {
		var split struct {
			Regular [][]period `json:"regular"`
		}
		if err := json.Unmarshal(raw, &split); err != nil {
			return nil, fmt.Errorf("tradingPeriods: %w", err)
		}
		days = split.Regular
	} else if err := json.Unmarshal(raw, &days); err != nil {
		return nil, fmt.Errorf("tradingPeriods: %w", err)
	}
	return slices.Concat(days...), nil
}

// readRows puts the columns together. A row with a hole in it is left out, and
// so is the odd row that contradicts itself: both are missing bars to a caller that
// reads them. When more than one row in twenty contradicts itself the answer as
// a whole is not believed.
func readRows(times []*int64, q quote, round func(float64) float64) ([]market.Bar, error) {
	n := len(times)
	volumes := q.Volume
	if !slices.ContainsFunc(volumes, func(v *float64) bool { return v != nil }) {
		volumes = nil // an index has no volume, and the venue says so in two ways
	}
	for name, column := range map[string][]*float64{"open": q.Open, "high": q.High, "low": q.Low, "close": q.Close, "volume": volumes} {
		if len(column) != n && (name != "volume" || volumes != nil) {
			return nil, fmt.Errorf("%d values of %s for %d times", len(column), name, n)
		}
	}
	rows := make([]market.Bar, 0, n)
	unsound := 0
	before := int64(math.MinInt64)
	for i, t := range times {
		if t == nil || *t < before {
			return nil, fmt.Errorf("time %d is missing or runs back", i)
		}
		before = *t
		if q.Open[i] == nil || q.High[i] == nil || q.Low[i] == nil || q.Close[i] == nil || volumes != nil && volumes[i] == nil {
			continue
		}
		bar := market.Bar{T: *t, O: round(*q.Open[i]), H: round(*q.High[i]), L: round(*q.Low[i]), C: round(*q.Close[i]), TakerBuy: math.NaN()}
		if volumes != nil {
			bar.V = *volumes[i]
		}
		if bar.Check() != nil {
			unsound++
			continue
		}
		rows = append(rows, bar)
	}
	if unsound > 1 && 20*unsound > n {
		return nil, fmt.Errorf("%d of %d rows contradict themselves", unsound, n)
	}
	return rows, nil
}

// maxHint is more decimals than any price here has.
const maxHint = 12

// rounder returns what undoes the venue's detour over 32-bit floats, which turns
// 889.47 into 889.469970703125: rounding to the decimals that the venue shows,
// or to the shortest number that makes the same 32-bit float when it does not say.
func rounder(hint *int) func(float64) float64 {
	if hint == nil {
		return shortest
	}
	scale := math.Pow10(*hint)
	return func(x float64) float64 {
		if y := math.Round(x * scale); !math.IsInf(y, 0) {
			return y / scale
		}
		return x
	}
}

// class returns what the instrument is, "" for a type that has no class.
func (m *meta) class() provider.Class {
	switch m.Type {
	case "EQUITY":
		return provider.Stock
	case "ETF", "MUTUALFUND":
		return provider.Fund
	case "INDEX":
		return provider.Index
	case "FUTURE":
		return provider.Future
	case "CURRENCY":
		return provider.Currency
	case "CRYPTOCURRENCY":
		return provider.Crypto
	}
	return ""
}
