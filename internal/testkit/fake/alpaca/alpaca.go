// Package alpaca is a fake of Alpaca: the market data API and stream for US
// stocks, with seeded prices over regular and extended hours, pages that are
// shorter than asked for, one stream per account, JSON and MessagePack; and the
// trading API of paper accounts, with orders that are filled at the prices of the
// tape by the venue's rules, positions, activities and the stream of updates.
// Faults can be switched on for all of it.
//
// # Orders
//
// An order is a market, limit, stop, stop_limit or trailing_stop order for a stock, for
// the day or until canceled, the first two also ioc or fok; a pair takes market, limit and
// stop_limit, gtc or ioc. Fractions of a share are for the day, without legs and without a
// trail. Extended hours are for limit orders. Orders with opg, cls or notional are refused.
//
// A stop that sells triggers when the bid is at its price or below, one that buys when the
// ask is there or above, in regular hours alone, and is then a market or a limit order; a
// stop that buys takes no price that is 4 % above its trigger, or 2.5 % from 50 on. A stop
// that would trigger at once is refused. A trail keeps the best price that it has seen in
// hwm and its trigger in stop_price. No event reports a trigger or a trail that moves.
//
// # Orders of several
//
// A bracket is an entry with a target and a stop, an oto an entry with one of them, an oco
// a target, which is the parent, and a stop. Legs for an order without order_class are
// ignored in silence. The venue makes up the client_order_id of a leg, and a leg does not
// name its parent. All legs are held, and claim nothing, until the entry is completely
// filled. Then the target is new, and the stop of a bracket is still held although it
// works, as that of an oco is from the beginning; a leg on its own is new. What is held is
// not among the open orders of a list, and among the closed ones. With nested=true legs are
// under their parent alone, so that a list of open orders has nothing of a bracket whose
// entry is filled.
//
// An entry must not close what is held, an oco must. A stop is a cent or more from the
// price of the entry, or of the target of an oco, and from the middle of the market. The
// exits of a group claim what is held once, and after a cancel as long as SetRelease says. A target that is filled in part makes the stop
// smaller, reported by an event "held"; the end of one is that of the other. A cancel or the
// expiry of one order is that of its group, also when the entry is filled in part. A leg
// that is rejected ends alone.
//
// # Replacements
//
// An order is replaced by a new one, with an id of the client's, in the same place of its
// group; not while it is accepted or pending, not the quantity or the time in force of
// orders of several, not the quantity of a fraction. The quantity of a replacement has what
// was filled before as a part of it, and the new order is over the rest. If the old order
// is filled first, the new one is rejected.
//
// The venue does not document these, which are choices made here: the rejection of a leg
// leaves the other one, the event that reports a smaller stop, the quantity that a
// replacement shows, and the words of some refusals. TargetReplaced, QuietLegs and
// SetFlatEntries are behaviour that users of the venue have reported.
package alpaca

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"candela/internal/testkit/fake"
	"candela/internal/testkit/fake/tape"
	"candela/lib/market"
)

// The keys that the fake knows. The second account has the sip feed.
const (
	KeyID     = "FAKEKEY"
	Secret    = "fake-secret"
	PaidKeyID = "PAIDKEY"
)

// Fault is a way in which the venue misbehaves.
type Fault uint8

// The faults. The stream's begin at SlowClient; Mute and Garbage are of the stream
// of updates, too. Fake.Faults has those of single requests.
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
	Busy              // error 406 to every authenticated client
	Garbage           // a frame that is no JSON
	Mute              // no greeting
	Silent            // nothing but pongs
	Doubled           // every message twice
	Reordered         // each minute's messages backwards, and corrections first
	Drop              // the connection is cut

	// The moods of the trading side.
	OddStatus     // orders have a state that nobody has heard of
	CancelRefused // cancels are taken and then refused by the exchanges
	CancelLoses   // cancels are taken, and a fill comes first
	CancelSlow    // cancels take two seconds

	ReplaceSlow    // replacements take two seconds
	ReplaceRefused // replacements are taken and then refused by the exchanges
	ReplaceLoses   // replacements are taken, and a fill of the old order comes first
	TargetReplaced // a target ends as replaced, not as canceled, when its stop is reached
	QuietLegs      // no event reports a leg with a trigger until it is reached
)

// Config says what the fake trades.
type Config struct {
	Now  func() time.Time // required; the stream follows it by real or virtual timers
	Seed uint64
	// PageRows is the most rows of one page whatever the limit; 0 means the limit.
	PageRows int
	// Partial is the share of fills, from 0 to 1, that are of a part of what could be
	// filled. The venue's paper accounts have 0.1.
	Partial float64
	// Crowded lets executions share a millisecond, as busy markets do.
	Crowded bool
}

// Server is the fake venue, an http.Handler for all three hosts. It is safe for
// concurrent use.
type Server struct {
	fake.Faults            // of single requests, websockets included
	Updates     *fake.Feed // of trade_updates

	config  Config
	handler http.Handler
	hours   market.Calendar // regular
	list    map[string]stock
	desk    *desk

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
	always := &tape.Tape{Symbol: "BTC/USD", First: 1451606400, Scale: 500, Digits: 2, Seed: c.Seed}
	s.list["BTC/USD"] = stock{class: crypto, fractionable: true, tape: always, day: always}
	s.desk, s.Updates = newDesk(s), updates(c.Seed)
	s.handler = s.Wrap(http.HandlerFunc(s.serve))
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
	was := s.fault
	s.fault = f
	s.mu.Unlock()
	if (was == OddStatus) != (f == OddStatus) {
		s.desk.touch()
	}
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

// ServeHTTP answers all three hosts: /v2/stocks/bars, /v2/stocks/bars/latest and
// the streams /v2/iex, /v2/sip and /v2/delayed_sip; /v2/assets, /v2/orders,
// /v2/positions, /v2/account, /v2/clock, /stream and /v2/events/trades.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/fake/") {
		s.control(w, r)
		return
	}
	switch feed := strings.TrimPrefix(r.URL.Path, "/v2/"); feed {
	case "iex", "sip", "delayed_sip":
		s.stream(w, r, feed)
		return
	case "/stream":
		s.serveUpdates(w, r)
		return
	}
	key := r.Header.Get("Apca-Api-Key-Id")
	if status, body := s.gate(w, key, r.Header.Get("Apca-Api-Secret-Key")); status != 0 {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return
	}
	if r.URL.Path == "/v2/events/trades" {
		s.serveEvents(w, r, key)
		return
	}
	out, bad, ok := s.trade(r, key) //nolint:contextcheck // prices are made up at once
	if !ok {
		out.body, bad = s.data(r, key) //nolint:contextcheck // prices are made up at once
	}
	w.Header().Set("Content-Type", "application/json")
	if bad != nil {
		out.status, out.body = bad.status, map[string]any{"code": bad.code, "message": bad.message}
		maps.Copy(out.body.(map[string]any), bad.more) //nolint:errcheck // made in the line before
	}
	if out.status != 0 {
		w.WriteHeader(out.status)
	}
	if out.body == nil {
		return
	}
	data, err := json.Marshal(out.body)
	if err != nil {
		panic("fake alpaca: " + err.Error())
	}
	_, _ = w.Write(s.bend(data))
}

// data answers what is about the market and no account.
func (s *Server) data(r *http.Request, key string) (any, *refusal) {
	symbol, isAsset := strings.CutPrefix(r.URL.Path, "/v2/assets/")
	switch {
	case r.Method != http.MethodGet:
		return nil, &refusal{http.StatusMethodNotAllowed, 40510000, "method not allowed", nil}
	case isAsset:
		return s.asset(symbol)
	case r.URL.Path == "/v2/assets":
		return s.assets(r.URL.Query()), nil
	case r.URL.Path == "/v2/stocks/bars":
		return s.bars(r.URL.Query(), key == PaidKeyID)
	case r.URL.Path == "/v2/stocks/bars/latest":
		return s.latest(r.URL.Query()), nil
	}
	return nil, &refusal{http.StatusNotFound, 40410000, "endpoint not found.", nil}
}

type refusal struct {
	status  int
	code    int
	message string
	more    map[string]any // fields beside the two
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
	name, ok := s.listed(symbol)
	if !ok {
		return nil, &refusal{http.StatusNotFound, 40410000, "asset not found for " + symbol, nil}
	}
	st := s.list[name]
	out := map[string]any{
		"id": assetID(name), "class": st.class, "exchange": "NASDAQ", "symbol": name, "name": name + " Common Stock",
		"status": "active", "tradable": true, "marginable": st.class != crypto, "shortable": st.class != crypto, //nolint:misspell // the venue's word
		"easy_to_borrow": st.class != crypto, "fractionable": st.fractionable, "attributes": []string{},
	}
	if st.class == crypto {
		out["exchange"], out["name"] = "CRYPTO", name+" pair"
		out["min_order_size"], out["min_trade_increment"], out["price_increment"] = pairMinimum, pairStep, pairTick
	}
	return out, nil
}

func (s *Server) assets(q url.Values) any {
	all := []any{}
	for _, name := range slices.Sorted(maps.Keys(s.list)) {
		if class := q.Get("asset_class"); class == "" || class == s.list[name].class {
			one, _ := s.asset(name)
			all = append(all, one)
		}
	}
	return all
}
