package yahoo

import (
	"encoding/json"
	"net/http"
	"time"

	"candela/lib/market"
)

// write answers a question, bent by a fault.
func write(w http.ResponseWriter, l listing, q question, fault Fault) {
	rows := l.rows(q)
	meta := l.meta(q)
	switch fault {
	case OtherSymbol:
		meta["symbol"] = "ZZZZ"
	case OtherBars:
		meta["dataGranularity"] = "3mo"
	default:
	}
	result := map[string]any{"meta": meta, "indicators": map[string]any{"quote": []any{map[string]any{}}}}
	if rows.Len() > 0 {
		result["timestamp"] = rows.T
		result["indicators"] = map[string]any{"quote": []any{map[string]any{
			"open": column(rows.O, fault, 0), "high": column(rows.H, fault, 1), "low": column(rows.L, fault, 2),
			"close": column(rows.C, fault, 3), "volume": column(rows.V, fault, 4),
		}}}
	}
	body, err := json.Marshal(map[string]any{"chart": map[string]any{"result": []any{result}, "error": nil}})
	if err != nil {
		panic("fake yahoo: " + err.Error())
	}
	if fault == Truncated {
		body = body[:len(body)/2]
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	_, _ = w.Write(body)
}

// column bends one array. Nulls hit a different row of every eleven in each.
func column(values []float64, fault Fault, n int) []any {
	out := make([]any, len(values))
	for i, v := range values {
		switch {
		case fault == Nulls && i%11 == 2*n:
			out[i] = nil
		case fault == WrongTypes && i == len(values)/2:
			out[i] = "n/a"
		default:
			out[i] = v
		}
	}
	return out
}

// rows returns the bars under the venue's own labels.
func (l listing) rows(q question) market.Bars {
	cal := l.tape.Calendar
	var out market.Bars
	add := func(t int64, b market.Bar) {
		if t < q.from || t >= q.to {
			return
		}
		b.T = t
		if l.noVolume {
			b.V = 0
		}
		for _, p := range []*float64{&b.O, &b.H, &b.L, &b.C} {
			*p = float64(float32(*p))
		}
		out.Append(b)
	}
	if q.interval < market.Day1 {
		bars := l.tape.Bars(q.interval, q.from, q.to, q.now)
		for k := range bars.T {
			add(bars.T[k], bars.At(k))
		}
		if at := l.marketTime(q.now, false); out.Len() > 0 && at > out.T[out.Len()-1] {
			price := l.tape.Price(q.now)
			add(at, market.Bar{O: price, H: price, L: price, C: price})
		}
		return out
	}
	// A week or month is asked for from its first midnight on; its bar then opens later.
	bars := l.tape.Bars(q.interval, q.from, q.to, q.now)
	today, trading := cal.Bucket(market.Day1, q.now)
	for k := range bars.T {
		bar := bars.At(k)
		span, _ := cal.Bucket(q.interval, bar.T)
		running := trading && span.Holds(today.Open)
		switch {
		case q.interval == market.Day1 && running:
			add(l.marketTime(q.now, true), bar)
		case q.interval == market.Day1:
			add(bar.T, bar)
		case !running || cal.RoundTheClock():
			add(cal.Midnight(q.interval, bar.T), bar)
		default:
			// The venue lists today apart from the days before it.
			if before := l.tape.Bars(market.Day1, bar.T, today.Open, q.now); before.Len() > 0 {
				add(cal.Midnight(q.interval, bar.T), sum(before))
			}
			if now := l.tape.Bars(market.Day1, today.Open, today.Close, q.now); now.Len() > 0 {
				add(l.marketTime(q.now, true), now.At(0))
			}
		}
	}
	return out
}

func sum(b market.Bars) market.Bar {
	out := b.At(0)
	for i := range b.T {
		out.H, out.L, out.C = max(out.H, b.H[i]), min(out.L, b.L[i]), b.C[i]
		if i > 0 {
			out.V += b.V[i]
		}
	}
	return out
}

// marketTime is the time of the last trade. After a session it is the session's
// end, or some seconds later when the closing auction counts.
func (l listing) marketTime(now int64, auction bool) int64 {
	if l.tape.Trades(now) {
		return now
	}
	last := l.tape.Calendar.Prev(market.Minute1, now)
	for range 10_000 {
		if l.tape.Trades(last.Open) {
			break
		}
		last = l.tape.Calendar.Prev(market.Minute1, last.Open)
	}
	if auction {
		return min(now, last.Close+7)
	}
	return last.Close
}

// meta describes the listing as the venue does with every chart.
func (l listing) meta(q question) map[string]any {
	cal := l.tape.Calendar
	zone, offset := time.Unix(q.now, 0).In(cal.Zone()).Zone()
	period := func(s market.Span) map[string]any {
		end := s.Close
		if l.whole {
			end -= 60
		}
		return map[string]any{"timezone": zone, "start": s.Open, "end": end, "gmtoffset": offset}
	}
	current, ok := cal.Bucket(market.Day1, q.now)
	if !ok {
		current = cal.Next(market.Day1, q.now)
	}
	m := map[string]any{
		"currency": l.currency, "symbol": l.tape.Symbol, "exchangeName": l.exchange, "instrumentType": l.kind,
		"firstTradeDate": l.tape.First, "regularMarketTime": l.marketTime(q.now, true), "gmtoffset": offset, "timezone": zone,
		"exchangeTimezoneName": cal.Zone().String(), "regularMarketPrice": l.tape.Price(q.now), "priceHint": l.hint,
		"currentTradingPeriod": map[string]any{"regular": period(current)},
		"dataGranularity":      q.name, "range": q.rangeName,
	}
	if q.interval < market.Day1 {
		var days []any
		for s := cal.Next(market.Day1, q.from-1); s.Open < q.to; s = cal.Next(market.Day1, s.Open) {
			if l.tape.Trades(s.Open) {
				days = append(days, []any{period(s)})
			}
		}
		m["tradingPeriods"] = days
	}
	return m
}
