package binance

import (
	"math"
	"net/http"
	"strconv"

	"candela/internal/data/provider"
	"candela/lib/market"
)

const fundingPeriod = 8 * 3600

// wave is a value between -1 and 1 that depends on the time alone.
func wave(t int64, period float64) float64 { return math.Sin(float64(t) / period) }

// grid returns the multiples of step that a query asks for, ascending: the oldest
// from its start on, or the newest.
func (s *Server) grid(q provider.BarQuery, step, oldest int64) []int64 {
	now := s.config.Now().Unix()
	to := now + 1
	if q.To != 0 {
		to = min(to, q.To)
	}
	last := (to - 1) / step
	first := last - int64(q.Limit) + 1
	if q.From != 0 {
		first = (q.From + step - 1) / step
		last = min(last, first+int64(q.Limit)-1)
	}
	var times []int64
	for k := max(first, (oldest+step-1)/step); k <= last; k++ {
		times = append(times, k*step)
	}
	return times
}

// perpetualStream is where the streams of klines of futures are.
const perpetualStream = "/market/stream"

// perpetualKlines answers with the bars of a perpetual future, whose prices are not those of the pair.
func (s *Server) perpetualKlines(w http.ResponseWriter, r *http.Request) {
	query, ok := window(r.URL.Query(), 500, 1500)
	weight := 10
	switch {
	case query.Limit < 100:
		weight = 1
	case query.Limit < 500:
		weight = 2
	case query.Limit <= 1000:
		weight = 5
	}
	s.answerKlines(w, r, weight, query, ok, market.PerpetualOf)
}

// perpetuals lists the rules of all futures: the venue takes no symbol there. One of them ends.
func (s *Server) perpetuals(w http.ResponseWriter, _ *http.Request) {
	all := []any{}
	for _, pair := range []string{"BTCUSDT", "ETHUSDT", "SOLUSDT", "BTCUSDC"} {
		if s.config.Knows(pair) {
			all = append(all, contract(pair, pair, "PERPETUAL", 4133404800000))
		}
	}
	all = append(all, contract("BTCUSDT_270326", "BTCUSDT", "CURRENT_QUARTER", 1806134400000))
	s.answer(w, 1, map[string]any{
		"timezone": "UTC", "serverTime": s.config.Now().UnixMilli(), "futuresType": "U_MARGINED",
		"rateLimits": []any{map[string]any{"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 2400}},
		"symbols":    all,
	})
}

// contract is a future in the list.
func contract(name, pair, kind string, delivered int64) map[string]any {
	base, quote := split(pair)
	return map[string]any{
		"symbol": name, "pair": pair, "contractType": kind, "deliveryDate": delivered, "onboardDate": 1569398400000, "status": "TRADING",
		"maintMarginPercent": "2.5000", "requiredMarginPercent": "5.0000", "baseAsset": base, "quoteAsset": quote, "marginAsset": quote,
		"pricePrecision": 2, "quantityPrecision": 3, "baseAssetPrecision": 8, "quotePrecision": 8, "underlyingType": "COIN",
		"triggerProtect": "0.0500", "liquidationFee": "0.012500", "marketTakeBound": "0.05",
		"filters": []any{
			map[string]any{"filterType": "PRICE_FILTER", "minPrice": "556.80", "maxPrice": "4529764", "tickSize": "0.10"},
			map[string]any{"filterType": "LOT_SIZE", "stepSize": "0.001", "maxQty": "1000", "minQty": "0.001"},
			map[string]any{"filterType": "MARKET_LOT_SIZE", "stepSize": "0.001", "maxQty": "120", "minQty": "0.001"},
			map[string]any{"filterType": "MAX_NUM_ORDERS", "limit": 200},
			map[string]any{"filterType": "MIN_NOTIONAL", "notional": "100"},
			map[string]any{"filterType": "PERCENT_PRICE", "multiplierDown": "0.9500", "multiplierUp": "1.0500", "multiplierDecimal": "4"},
		},
		"orderTypes":  []string{"LIMIT", "MARKET", "STOP", "STOP_MARKET", "TAKE_PROFIT", "TAKE_PROFIT_MARKET", "TRAILING_STOP_MARKET"},
		"timeInForce": []string{"GTC", "IOC", "FOK", "GTX", "GTD"},
	}
}

// futures checks what the three endpoints have in common.
func (s *Server) futures(w http.ResponseWriter, r *http.Request, standard, most int) (name string, q provider.BarQuery, ok bool) {
	name = r.URL.Query().Get("symbol")
	q, ok = window(r.URL.Query(), standard, most)
	switch {
	case !s.config.Knows(name):
		s.wrong(w, 1, -1121, "Invalid symbol.")
		return name, q, false
	case !ok:
		s.wrong(w, 1, -1102, "Mandatory parameter was malformed.")
	}
	return name, q, ok
}

func (s *Server) fundingRate(w http.ResponseWriter, r *http.Request) {
	name, q, ok := s.futures(w, r, 100, 1000)
	if !ok {
		return
	}
	rows := []map[string]any{}
	for _, t := range s.grid(q, fundingPeriod, 0) {
		rows = append(rows, map[string]any{
			"symbol": name, "fundingTime": t*1000 + 3, // the venue's own times are a few milliseconds off
			"fundingRate": price(0.0001 * (1 + wave(t, 70_000))), "markPrice": price(1000),
		})
	}
	s.answer(w, 1, rows)
}

// data answers one of the statistics, of which the last thirty days are kept.
func (s *Server) data(w http.ResponseWriter, r *http.Request, values func(t int64) map[string]any) {
	name, q, ok := s.futures(w, r, 30, 500)
	if !ok {
		return
	}
	period, known := interval(r.URL.Query().Get("period"))
	if !known || period < market.Minute5 || period > market.Day1 {
		s.wrong(w, 1, -1130, "parameter 'period' is invalid.")
		return
	}
	keeps := s.config.Now().Unix() - 30*86400
	if q.From != 0 && q.From < keeps {
		s.wrong(w, 1, -1130, "parameter 'startTime' is invalid.")
		return
	}
	rows := []map[string]any{}
	for _, t := range s.grid(q, period.Seconds(), keeps) {
		row := values(t)
		row["symbol"], row["timestamp"] = name, t*1000
		rows = append(rows, row)
	}
	s.answer(w, 1, rows)
}

func (s *Server) openInterest(w http.ResponseWriter, r *http.Request) {
	s.data(w, r, func(t int64) map[string]any {
		units := 20_000 * (1 + 0.1*wave(t, 50_000))
		return map[string]any{"sumOpenInterest": price(units), "sumOpenInterestValue": price(units * 1000)}
	})
}

func (s *Server) longShort(w http.ResponseWriter, r *http.Request) {
	s.data(w, r, func(t int64) map[string]any {
		long := 0.5 + 0.2*wave(t, 90_000)
		four := func(f float64) string { return strconv.FormatFloat(f, 'f', 4, 64) }
		return map[string]any{"longAccount": four(long), "shortAccount": four(1 - long), "longShortRatio": four(long / (1 - long))}
	})
}
