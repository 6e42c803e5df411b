// Package alpaca is a fake of Alpaca's market data API and stream for US stocks,
// with the account check of the trading API: seeded prices over regular and
// extended hours, pages that are shorter than asked for, one stream per account,
// JSON and MessagePack, and faults that can be switched on.
package alpaca

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"candela/internal/fake/tape"
	"candela/internal/market"
)

// The keys that the fake knows. The second account has the sip feed.
const (
	KeyID     = "FAKEKEY"
	Secret    = "fake-secret"
	PaidKeyID = "PAIDKEY"
)

// Fault is a way in which the venue misbehaves.
type Fault uint8

// The faults. The stream's begin at SlowClient.
const (
	None        Fault = iota
	Throttled         // 429
	HTML              // a page with status 200
	Truncated         // half of the JSON
	WrongTypes        // prices in quotes
	OtherSymbol       // bars of another symbol
	OffGrid           // bars that begin between two
	Broken            // 500
	SlowClient        // error 407 instead of the next minute
	Busy              // error 406 to whoever proves itself
	Garbage           // a frame that is no JSON
	Mute              // no greeting
	Silent            // nothing but pongs
	Doubled           // every message twice
	Reordered         // each minute's messages backwards, and corrections first
	Drop              // the connection is cut
)

// Config says what the fake trades.
type Config struct {
	Now  func() time.Time // required; the stream follows it by real or virtual timers
	Seed uint64
	// PageRows is the most rows of one page whatever the limit; 0 means the limit.
	PageRows int
}

// Server is the fake venue, an http.Handler for all three hosts. It is safe for
// concurrent use.
type Server struct {
	config Config
	hours  market.Calendar // regular
	list   map[string]stock

	mu       sync.Mutex
	fault    Fault
	requests int
	live     map[string]int // open streams by key
	streams  int            // ever
	minute   int64          // of the rate limit
	used     map[string]int // requests of a key in it

	unlimited bool
}

type stock struct {
	tape         *tape.Tape // 04:00 to 20:00
	day          *tape.Tape // the same from 09:30 to 16:00
	fractionable bool
	class        string
}

// New returns a fake with some stocks, one below a dollar.
func New(c Config) *Server {
	s := &Server{config: c, hours: calendar(market.USEquities()), list: make(map[string]stock), live: make(map[string]int), used: make(map[string]int)}
	extended := calendar(market.Hours{Zone: "America/New_York", Open: 4 * time.Hour, Close: 20 * time.Hour})
	add := func(name, class string, scale float64, digits int, fractionable bool) {
		in := func(hours market.Calendar) *tape.Tape {
			return &tape.Tape{Symbol: name, Calendar: hours, First: 1451606400, Scale: scale, Digits: digits, Seed: c.Seed, Shut: tape.Holiday}
		}
		s.list[name] = stock{class: class, fractionable: fractionable, tape: in(extended), day: in(s.hours)}
	}
	for _, name := range []string{"AAPL", "MSFT", "NVDA", "TSLA", "SPY"} {
		add(name, "us_equity", 1, 2, true)
	}
	for i := range 40 {
		add("ZZ"+string(rune('A'+i/26))+string(rune('A'+i%26)), "us_equity", 1, 2, true)
	}
	add("BRK.B", "us_equity", 4, 2, false)
	add("PENNY", "us_equity", 0.001, 4, false)
	add("BTCUSD", "crypto", 500, 2, true)
	return s
}

func calendar(h market.Hours) market.Calendar {
	c, err := market.NewCalendar(h)
	if err != nil {
		panic("fake alpaca: " + err.Error())
	}
	return c
}

// SetFault switches a fault on until the next call.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// SetUnlimited lets every account ask as often as it likes.
func (s *Server) SetUnlimited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlimited = true
}

func (s *Server) getFault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// Requests returns how many REST requests came.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Streams returns how many streams are open, and were ever.
func (s *Server) Streams() (open, ever int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.live {
		open += n
	}
	return open, s.streams
}

// Bars returns what a symbol really traded in regular hours, for tests.
func (s *Server) Bars(symbol string, i market.Interval, from, to int64) market.Bars {
	return s.list[symbol].day.Bars(i, from, to, s.now())
}

func (s *Server) now() int64 { return s.config.Now().Unix() }

// ServeHTTP answers /v2/stocks/bars, /v2/stocks/bars/latest, /v2/assets/{symbol}
// and the streams /v2/iex, /v2/sip and /v2/delayed_sip.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch feed := strings.TrimPrefix(r.URL.Path, "/v2/"); feed {
	case "iex", "sip", "delayed_sip":
		s.stream(w, r, feed)
		return
	}
	key := r.Header.Get("Apca-Api-Key-Id")
	if status, body := s.gate(w, key, r.Header.Get("Apca-Api-Secret-Key")); status != 0 {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return
	}
	var body any
	var bad *refusal
	symbol, isAsset := strings.CutPrefix(r.URL.Path, "/v2/assets/")
	switch {
	case r.Method != http.MethodGet:
		bad = &refusal{http.StatusMethodNotAllowed, 40510000, "method not allowed"}
	case isAsset:
		body, bad = s.asset(symbol)
	case r.URL.Path == "/v2/stocks/bars":
		body, bad = s.bars(r.URL.Query(), key == PaidKeyID) //nolint:contextcheck // prices are made up at once
	case r.URL.Path == "/v2/stocks/bars/latest":
		body = s.latest(r.URL.Query()) //nolint:contextcheck // prices are made up at once
	default:
		bad = &refusal{http.StatusNotFound, 40410000, "endpoint not found."}
	}
	if bad != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(bad.status)
		body = map[string]any{"code": bad.code, "message": bad.message}
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic("fake alpaca: " + err.Error())
	}
	_, _ = w.Write(s.bend(data))
}

type refusal struct {
	status  int
	code    int
	message string
}

// gate counts the request and refuses it for its keys, its number or a fault.
func (s *Server) gate(w http.ResponseWriter, key, secret string) (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if m := s.now() / 60; m != s.minute {
		s.minute = m
		clear(s.used)
	}
	s.used[key]++
	left := 200 - s.used[key]
	w.Header().Set("X-Ratelimit-Limit", "200")
	w.Header().Set("X-Ratelimit-Remaining", strconv.Itoa(max(0, left)))
	w.Header().Set("X-Ratelimit-Reset", strconv.FormatInt((s.minute+1)*60, 10))
	switch {
	case s.fault == HTML:
		w.Header().Set("Content-Type", "text/html")
		return http.StatusOK, "<html><body>maintenance</body></html>"
	case s.fault == Broken:
		return http.StatusInternalServerError, `{"code":50010000,"message":"internal server error occurred"}`
	case s.fault == Throttled || left < 0 && !s.unlimited:
		return http.StatusTooManyRequests, `{"code":42910000,"message":"rate limit exceeded"}`
	case key == "" || secret == "":
		return http.StatusUnauthorized, `{"message":"unauthorized."}`
	case !known(key, secret):
		return http.StatusForbidden, `{"message":"forbidden."}`
	}
	return 0, ""
}

func known(key, secret string) bool { return (key == KeyID || key == PaidKeyID) && secret == Secret }

// bend applies the faults of a body.
func (s *Server) bend(data []byte) []byte {
	switch text := string(data); s.getFault() {
	case Truncated:
		return data[:len(data)/2]
	case WrongTypes:
		return []byte(strings.ReplaceAll(text, `"c":`, `"c":"x","cc":`))
	case OtherSymbol:
		return []byte(strings.NewReplacer(`{"AAPL":`, `{"AAPX":`, `"symbol":"AAPL"`, `"symbol":"AAPX"`).Replace(text))
	case OffGrid:
		return []byte(strings.ReplaceAll(text, `:00Z"`, `:07Z"`))
	default:
		return data
	}
}

func (s *Server) asset(symbol string) (any, *refusal) {
	st, ok := s.list[symbol]
	if !ok {
		return nil, &refusal{http.StatusNotFound, 40410000, "asset not found for " + symbol}
	}
	return map[string]any{
		"id": "b0b6dd9d-8b9b-48a9-ba46-b9d54906e415", "class": st.class, "exchange": "NASDAQ", "symbol": symbol, "name": symbol + " Common Stock",
		"status": "active", "tradable": true, "shortable": true, "easy_to_borrow": true,
		"fractionable": st.fractionable, "attributes": []string{},
	}, nil
}

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
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid timeframe: " + q.Get("timeframe")}
	case err != nil || limit < 1 || limit > 10000:
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid limit: " + q.Get("limit")}
	case !slices.Contains([]string{"", "raw", "split", "dividend", "all"}, q.Get("adjustment")):
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid adjustment: " + q.Get("adjustment")}
	case !slices.Contains([]string{"", "iex", "sip"}, q.Get("feed")):
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid feed: " + q.Get("feed")}
	}
	now := s.now()
	from, errFrom := instant(q.Get("start"), s.hours.Midnight(market.Day1, now))
	to, errTo := instant(q.Get("end"), now)
	if errFrom != nil || errTo != nil || to < from {
		return nil, &refusal{http.StatusBadRequest, 40010001, "end should not be before start"}
	}
	if q.Get("feed") == "sip" && !paid {
		if q.Get("end") != "" && to > now-15*60 {
			return nil, &refusal{http.StatusForbidden, 42210000, "subscription does not permit querying recent SIP data"}
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
		return nil, &refusal{http.StatusBadRequest, 40010001, "invalid page_token"}
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
