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
