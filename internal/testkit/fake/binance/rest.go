package binance

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// price writes a number as the venue does: eight decimals in a string.
func price(f float64) string { return strconv.FormatFloat(f, 'f', 8, 64) }

// milliseconds returns a time parameter in seconds, rounded as asked, and whether
// it was given well or not at all.
func milliseconds(q url.Values, name string, up bool) (seconds int64, given, ok bool) {
	text := q.Get(name)
	if text == "" {
		return 0, false, true
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 {
		return 0, true, false
	}
	if up {
		ms += 999
	}
	return ms / 1000, true, true
}

// window reads limit, startTime and endTime, the last as the first second after.
func window(q url.Values, standard, most int) (out provider.BarQuery, ok bool) {
	from, fromGiven, fromOK := milliseconds(q, "startTime", true)
	to, toGiven, toOK := milliseconds(q, "endTime", false)
	limit := standard
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return out, false
		}
		limit = min(n, most)
	}
	if fromGiven {
		out.From = max(from, 1)
	}
	if toGiven {
		out.To = to + 1
	}
	out.Limit = limit
	return out, fromOK && toOK
}

func (s *Server) klines(w http.ResponseWriter, r *http.Request) {
	query, ok := window(r.URL.Query(), 500, 1000)
	s.answerKlines(w, r, 2, query, ok, func(symbol string) string { return symbol })
}

// answerKlines answers with the bars of a symbol, whose prices have a name of their own.
func (s *Server) answerKlines(w http.ResponseWriter, r *http.Request, weight int, query provider.BarQuery, ok bool, prices func(symbol string) string) {
	q := r.URL.Query()
	i, known := interval(q.Get("interval"))
	switch {
	case q.Get("symbol") == "":
		s.wrong(w, weight, -1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
	case !s.config.Knows(q.Get("symbol")):
		s.wrong(w, weight, -1121, "Invalid symbol.")
	case !known:
		s.wrong(w, weight, -1120, "Invalid interval.")
	case !ok:
		s.wrong(w, weight, -1100, "Illegal characters found in a parameter.")
	default:
		query.Interval = i
		if s.admit(w, weight) {
			writeJSON(w, http.StatusOK, s.page(prices(q.Get("symbol")), query))
		}
	}
}

// page returns the klines that answer a query. It keeps some answers until prices move, because a
// scan asks the same of many symbols: a venue elsewhere uses no processor of the machine either.
func (s *Server) page(symbol string, query provider.BarQuery) []byte {
	const most = 64
	name, step, shared := s.prices.Same(symbol)
	query.Symbol.Name = name
	s.mu.Lock()
	if s.step != step || len(s.pages) >= most {
		s.step, s.pages = step, map[provider.BarQuery][]byte{}
	}
	body, known := s.pages[query]
	s.mu.Unlock()
	if known && shared {
		return body
	}
	bars, _ := s.prices.Bars(symbol, query)
	rows := make([][]any, 0, bars.Len())
	for k := range bars.T {
		rows = append(rows, row(bars.At(k), query.Interval))
	}
	body = marshal(rows)
	s.mu.Lock()
	defer s.mu.Unlock()
	if shared && s.step == step {
		s.pages[query] = body
	}
	return body
}

// row is a kline: open time, open, high, low, close, volume, close time, quote
// volume, trades, taker volumes and a field without use.
func row(b market.Bar, i market.Interval) []any {
	return []any{
		b.T * 1000, price(b.O), price(b.H), price(b.L), price(b.C), price(b.V), closeTime(b.T, i),
		price(b.V * b.C), trades(b), price(b.TakerBuy), price(b.TakerBuy * b.C), "0",
	}
}

func closeTime(open int64, i market.Interval) int64 {
	span, _ := market.Calendar{}.Bucket(i, open)
	return span.Close*1000 - 1
}

func trades(b market.Bar) int64 { return int64(math.Sqrt(b.V)) + 1 }

func (s *Server) exchangeInfo(w http.ResponseWriter, r *http.Request) {
	const weight = 20
	var names []string
	if one := r.URL.Query().Get("symbol"); one != "" {
		names = []string{one}
	} else if list := r.URL.Query().Get("symbols"); list != "" {
		names = strings.FieldsFunc(list, func(c rune) bool { return strings.ContainsRune(`[]", `, c) })
	} else {
		names = []string{"BTCUSDT", "ETHUSDT", "ETHBTC"}
	}
	symbols := make([]any, 0, len(names))
	for _, name := range names {
		if !s.config.Knows(name) {
			s.wrong(w, weight, -1121, "Invalid symbol.")
			return
		}
		symbols = append(symbols, symbol(name, s.exchange.features(name)))
	}
	s.answer(w, weight, map[string]any{
		"timezone": "UTC", "serverTime": s.config.Now().UnixMilli(),
		"rateLimits": []any{
			map[string]any{"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": s.config.Limit},
			map[string]any{"rateLimitType": "ORDERS", "interval": "SECOND", "intervalNum": 10, "limit": 100},
			map[string]any{"rateLimitType": "RAW_REQUESTS", "interval": "MINUTE", "intervalNum": 5, "limit": 61000},
		},
		"exchangeFilters": []any{}, "symbols": symbols,
	})
}

func symbol(name string, f Features) map[string]any {
	base, quote := split(name)
	return map[string]any{
		"symbol": name, "status": "TRADING", "baseAsset": base, "baseAssetPrecision": 8, "quoteAsset": quote,
		"quotePrecision": 8, "quoteAssetPrecision": 8, "baseCommissionPrecision": 8, "quoteCommissionPrecision": 8,
		"orderTypes":     f.types(),
		"icebergAllowed": true, "ocoAllowed": !f.NoOCO, "otoAllowed": !f.NoOTO, "opoAllowed": !f.NoOPO, "quoteOrderQtyMarketAllowed": true,
		"allowTrailingStop": !f.NoTrailing, "cancelReplaceAllowed": !f.NoReplace, "amendAllowed": false, "pegInstructionsAllowed": true,
		"isSpotTradingAllowed": true, "isMarginTradingAllowed": true,
		"filters":     standard().filters(),
		"permissions": []string{}, "permissionSets": [][]string{{"SPOT", "MARGIN"}},
		"defaultSelfTradePreventionMode": "NONE", "allowedSelfTradePreventionModes": []string{"NONE"},
	}
}
