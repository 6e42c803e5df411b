package alpaca

import (
	"encoding/base64"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/lib/market"
)

// bar is the wire form.
type bar struct {
	T  string  `json:"t"`
	O  float64 `json:"o"`
	H  float64 `json:"h"`
	L  float64 `json:"l"`
	C  float64 `json:"c"`
	V  float64 `json:"v"`
	N  int     `json:"n"`
	VW float64 `json:"vw"`
}

func wire(b market.Bar, label int64) bar {
	return bar{
		T: time.Unix(label, 0).UTC().Format(time.RFC3339), O: b.O, H: b.H, L: b.L, C: b.C, V: b.V, N: int(b.V)/100 + 1,
		VW: math.Round((b.H+b.L+b.C)/3*1e6) / 1e6,
	}
}

// frames are the intervals served, of which those of hours count from the hour.
func frames() map[string]market.Interval {
	return map[string]market.Interval{
		"1Min": market.Minute1, "3Min": market.Minute3, "5Min": market.Minute5, "15Min": market.Minute15, "30Min": market.Minute30,
		"1Hour": market.Hour1, "1Day": market.Day1,
	}
}

func (s *Server) bars(q url.Values, paid bool) (any, *refusal) {
	i, ok := frames()[q.Get("timeframe")]
	limit, err := strconv.Atoi(q.Get("limit"))
	if q.Get("limit") == "" {
		limit, err = 1000, nil
	}
	switch {
	case !ok:
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid timeframe: " + q.Get("timeframe"), nil}
	case err != nil || limit < 1 || limit > 10000:
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid limit: " + q.Get("limit"), nil}
	case !slices.Contains([]string{"", "raw", "split", "dividend", "all"}, q.Get("adjustment")):
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid adjustment: " + q.Get("adjustment"), nil}
	case !slices.Contains([]string{"", "iex", "sip"}, q.Get("feed")):
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid feed: " + q.Get("feed"), nil}
	}
	now := s.now()
	from, errFrom := instant(q.Get("start"), s.hours.Midnight(market.Day1, now))
	to, errTo := instant(q.Get("end"), now)
	if errFrom != nil || errTo != nil || to < from {
		return nil, &refusal{http.StatusBadRequest, 40010001, "end should not be before start", nil}
	}
	if q.Get("feed") == "sip" && !paid {
		if q.Get("end") != "" && to > now-15*60 {
			return nil, &refusal{http.StatusForbidden, 42210000, "subscription does not permit querying recent SIP data", nil}
		}
		to = min(to, now-15*60)
	}
	if s.config.PageRows > 0 {
		limit = min(limit, s.config.PageRows)
	}
	return s.page(strings.Split(q.Get("symbols"), ","), i, from, to, limit, q.Get("sort") == "desc", q.Get("page_token"))
}

// page returns the rows after the token. The venue goes through the symbols one
// after the other.
func (s *Server) page(symbols []string, i market.Interval, from, to int64, limit int, desc bool, token string) (any, *refusal) {
	slices.Sort(symbols)
	after, at, err := readToken(token)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid page_token", nil}
	}
	out := map[string][]bar{}
	for _, symbol := range symbols {
		st, ok := s.list[symbol]
		if !ok || symbol < after {
			continue
		}
		lo, hi := from, to
		if symbol == after && desc {
			hi = at - 1
		} else if symbol == after {
			lo = at + 1
		}
		rows := s.rows(st, i, lo, hi, limit, desc)
		if len(rows) > limit {
			last := rows[limit-1]
			out[symbol] = rows[:limit]
			return map[string]any{"bars": out, "next_page_token": writeToken(symbol, last.T)}, nil
		}
		if len(rows) > 0 {
			out[symbol] = rows
		}
		limit -= len(rows)
	}
	return map[string]any{"bars": out, "next_page_token": nil}, nil
}

// rows returns the bars whose label is in [from, to], with extended hours, in
// the order asked for and until there are more than limit.
func (s *Server) rows(st stock, i market.Interval, from, to int64, limit int, desc bool) []bar {
	var rows []bar
	from = max(from, st.tape.First)
	cal := st.tape.Calendar
	day, next := cal.Next(market.Day1, s.hours.Midnight(market.Day1, from)-1), cal.Next
	if desc {
		day, next = cal.Prev(market.Day1, min(to, s.now())+86400), cal.Prev
	}
	for ; day.Close > from && day.Open <= min(to, s.now())+86400 && len(rows) <= limit; day = next(market.Day1, day.Open) {
		traded, label := st.tape.Bars(i, day.Open, day.Close, s.now()), func(t int64) int64 { return t }
		if i >= market.Day1 {
			// A day is its regular hours, under the midnight of New York.
			traded = st.day.Bars(i, day.Open, day.Close, s.now())
			label = func(t int64) int64 { return s.hours.Midnight(i, t) }
		}
		some := make([]bar, 0, traded.Len())
		for k := range traded.T {
			if at := label(traded.T[k]); at >= from && at <= to {
				some = append(some, wire(traded.At(k), at))
			}
		}
		if desc {
			slices.Reverse(some)
		}
		rows = append(rows, some...)
	}
	return rows
}

func (s *Server) latest(q url.Values) any {
	out := map[string]bar{}
	for symbol := range strings.SplitSeq(q.Get("symbols"), ",") {
		if st, ok := s.list[symbol]; ok {
			if bars := st.tape.Bars(market.Minute1, s.now()-5*86400, s.now(), s.now()); bars.Len() > 1 {
				k := bars.Len() - 2 // the newest that is over
				out[symbol] = wire(bars.At(k), bars.T[k])
			}
		}
	}
	return map[string]any{"bars": out}
}

func instant(text string, missing int64) (int64, error) {
	if text == "" {
		return missing, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.Unix(), err
}

func writeToken(symbol, label string) string {
	return base64.StdEncoding.EncodeToString([]byte(symbol + "|M|" + label))
}

func readToken(token string) (symbol string, at int64, err error) {
	if token == "" {
		return "", 0, nil
	}
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return "", 0, err
	}
	symbol, label, _ := strings.Cut(string(raw), "|M|")
	at, err = instant(label, 0)
	return symbol, at, err
}
