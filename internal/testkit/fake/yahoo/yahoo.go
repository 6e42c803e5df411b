// Package yahoo is a fake of Yahoo's chart API with its quirks: 32-bit prices, a
// "now" tick behind the last bar, today apart from its week, ranges that are
// refused, and faults that can be switched on.
package yahoo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"candela/internal/testkit/fake/tape"
	"candela/lib/market"
)

// Fault is a way in which the venue misbehaves.
type Fault uint8

// The faults.
const (
	None        Fault = iota
	Throttled         // 429, plain text
	HTML              // a page with status 200
	Truncated         // half of the JSON
	WrongTypes        // prices in quotes
	Nulls             // holes in every array
	OtherSymbol       // the chart of another symbol
	OtherBars         // bars of another interval
	Broken            // 500
	Unwanted          // 401
)

// Config says what the fake trades.
type Config struct {
	Now  func() time.Time // required
	Seed uint64
}

// Server is the fake venue, an http.Handler. It is safe for concurrent use.
type Server struct {
	config Config
	list   map[string]listing

	mu       sync.Mutex
	fault    Fault
	requests int
}

// listing is one symbol.
type listing struct {
	tape     *tape.Tape
	kind     string
	exchange string
	currency string
	hint     int
	whole    bool // trades from 00:00 to 23:59 local time
	noVolume bool
}

// New returns a fake with a dozen symbols.
func New(c Config) *Server {
	s := &Server{config: c, list: make(map[string]listing)}
	newYork := calendar(market.USEquities())
	first := time.Date(2019, time.March, 6, 14, 30, 0, 0, time.UTC).Unix() // a Wednesday
	stock := func(name, kind string) {
		s.list[name] = listing{kind: kind, exchange: "NMS", currency: "USD", hint: 2, noVolume: kind == "INDEX", tape: &tape.Tape{
			Symbol: name, Calendar: newYork, First: first, Scale: 1, Digits: 2, Shut: tape.Holiday, Seed: c.Seed,
		}}
	}
	for _, name := range []string{"AAPL", "MSFT", "NVDA", "BRK-B", "TSLA"} {
		stock(name, "EQUITY")
	}
	stock("SPY", "ETF")
	stock("^GSPC", "INDEX")
	s.list["VOD.L"] = listing{kind: "EQUITY", exchange: "LSE", currency: "GBp", hint: 2, tape: &tape.Tape{
		Symbol: "VOD.L", First: first, Scale: 1, Digits: 2, Shut: tape.Holiday, Seed: c.Seed,
		Calendar: calendar(market.Hours{Zone: "Europe/London", Open: 8 * time.Hour, Close: 16*time.Hour + 30*time.Minute}),
	}}
	s.list["EURUSD=X"] = listing{kind: "CURRENCY", exchange: "CCY", currency: "USD", hint: 4, whole: true, noVolume: true, tape: &tape.Tape{
		Symbol: "EURUSD=X", First: first, Scale: 0.01, Digits: 4, Seed: c.Seed, Shut: weekend,
		Calendar: calendar(market.Hours{Zone: "Europe/London", Close: 24 * time.Hour, Days: []time.Weekday{0, 1, 2, 3, 4, 5}}),
	}}
	s.list["BTC-USD"] = listing{kind: "CRYPTOCURRENCY", exchange: "CCC", currency: "USD", hint: 2, whole: true, tape: &tape.Tape{
		Symbol: "BTC-USD", First: first, Scale: 500, Digits: 2, Seed: c.Seed,
	}}
	return s
}

// weekend is when currencies rest: from Friday to Sunday, 21:00 UTC.
func weekend(at time.Time) bool {
	at = at.UTC()
	switch at.Weekday() {
	case time.Friday:
		return at.Hour() >= 21
	case time.Saturday:
		return true
	case time.Sunday:
		return at.Hour() < 21
	default:
		return false
	}
}

func calendar(h market.Hours) market.Calendar {
	c, err := market.NewCalendar(h)
	if err != nil {
		panic("fake yahoo: " + err.Error())
	}
	return c
}

// Tape returns what a symbol really traded, for tests, or nil.
func (s *Server) Tape(symbol string) *tape.Tape { return s.list[symbol].tape }

// SetFault switches a fault on for all requests until the next call.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Requests returns how many requests came.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// ServeHTTP answers GET /v8/finance/chart/{symbol}.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	fault := s.fault
	s.mu.Unlock()
	switch {
	case fault == Throttled || !strings.HasPrefix(r.UserAgent(), "Mozilla/"):
		plain(w, http.StatusTooManyRequests, "Too Many Requests\r\n")
		return
	case fault == HTML:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><html><head><title>Before you continue</title></head><body>consent</body></html>")
		return
	case fault == Broken:
		plain(w, http.StatusInternalServerError, "Internal Server Error")
		return
	case fault == Unwanted:
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Invalid Crumb")
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/v8/finance/chart/")
	if !ok || r.Method != http.MethodGet {
		refuse(w, http.StatusNotFound, "Not Found", "HTTP 404 Not Found")
		return
	}
	l, ok := s.list[name]
	if !ok {
		refuse(w, http.StatusNotFound, "Not Found", "No data found, symbol may be delisted")
		return
	}
	q, problem := s.read(r.URL.Query())
	if problem != "" {
		refuse(w, http.StatusUnprocessableEntity, "Unprocessable Entity", problem)
		return
	}
	if q.to <= l.tape.First {
		refuse(w, http.StatusBadRequest, "Bad Request", fmt.Sprintf("Data doesn't exist for startDate = %d, endDate = %d", q.from, q.to))
		return
	}
	write(w, l, q, fault)
}

// question is a chart request.
type question struct {
	form
	from, to, now int64
	rangeName     string
}

type form struct {
	interval market.Interval
	name     string
	reach    int64 // seconds back from now
	most     int64 // seconds in one request
}

const day = 86400

func (s *Server) read(v url.Values) (question, string) {
	q := question{now: s.config.Now().Unix(), rangeName: v.Get("range")}
	for _, f := range []form{
		{market.Minute1, "1m", 30 * day, 8 * day},
		{market.Minute5, "5m", 60 * day, 60 * day},
		{market.Minute15, "15m", 60 * day, 60 * day},
		{market.Minute30, "30m", 60 * day, 60 * day},
		{market.Hour1, "1h", 730 * day, 730 * day},
		{market.Day1, "1d", 0, 0},
		{market.Week1, "1wk", 0, 0},
		{market.Month1, "1mo", 0, 0},
	} {
		if f.name == v.Get("interval") {
			q.form = f
		}
	}
	if q.name == "" {
		return q, "Invalid input - interval=" + v.Get("interval") + " is not supported."
	}
	q.to = q.now + 1
	if days, ok := map[string]int64{"1d": 1, "5d": 7, "1mo": 31, "3mo": 92, "6mo": 183, "1y": 366, "2y": 731, "5y": 1827, "max": 20000}[q.rangeName]; ok {
		q.from = q.now - days*day
		return q, ""
	}
	var err1, err2 error
	q.from, err1 = strconv.ParseInt(v.Get("period1"), 10, 64)
	q.to, err2 = strconv.ParseInt(v.Get("period2"), 10, 64)
	switch {
	case err1 != nil || err2 != nil || q.from >= q.to:
		return q, fmt.Sprintf("Invalid input - start date cannot be after end date. startDate = %d, endDate = %d", q.from, q.to)
	case q.most > 0 && q.to-q.from > q.most:
		return q, fmt.Sprintf("%s data not available for startTime=%d and endTime=%d. Only %d days worth of %s granularity data are allowed to be fetched per request.",
			q.name, q.from, q.to, q.most/day, q.name)
	case q.reach > 0 && q.from < q.now-q.reach:
		return q, fmt.Sprintf("%s data not available for startTime=%d and endTime=%d. The requested range must be within the last %d days.",
			q.name, q.from, q.to, q.reach/day)
	}
	return q, ""
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

func refuse(w http.ResponseWriter, status int, code, description string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body, err := json.Marshal(map[string]any{"chart": map[string]any{"result": nil, "error": map[string]string{"code": code, "description": description}}})
	if err != nil {
		panic("fake yahoo: " + err.Error())
	}
	_, _ = w.Write(body)
}
