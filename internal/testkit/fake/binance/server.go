// Package binance is a fake Binance: the public spot endpoints that candela uses,
// the series of the futures, the kline streams, and an account with its orders,
// order lists, trades, balances and reports, with the weights, limits, filters and
// faults that the venue documents.
//
// # Orders that wait
//
// STOP_LOSS, TAKE_PROFIT and their forms with a limit wait until the last price meets
// their stop price, then they meet the book: without a limit as a market order, of which
// the rest expires, with one as its timeInForce says. A stop price on the wrong side of
// the last price is refused, and so is a LIMIT_MAKER that would trade. An order with
// trailingDelta follows the best price from the order on, or from the price that meets its
// stop price, and triggers at that distance from it. A waiting order locks what it would
// give; a purchase that lacks the money when it triggers expires as REJECTED. Answers are
// FULL for LIMIT and MARKET and ACK for the other types, unless newOrderRespType says
// otherwise.
//
// # Order lists
//
// A pair (OCO) locks once what the larger of its orders needs. Activation of one order,
// its trigger or its first fill, expires the other as OCO_TRIGGER. The legs of OTO, OTOCO,
// OPO and OPOCO are PENDING_NEW until the working order is filled completely; the answer
// to a list whose working order is filled at once still has them so. Then:
//
//   - The legs of OTO and OTOCO have the quantity of the request, and what they need is
//     locked only now. Where it is missing they expire as REJECTED.
//   - The legs of OPO and OPOCO have what the working order brought, down to the step, and
//     what is left of it is free again. It is locked from the first fill on. The fee is
//     taken from what is free of the asset where that is enough, as the venue's page on
//     OPO has it, and otherwise from what was brought.
//   - Prices are judged again. A leg that would trigger or trade at once, or breaks a
//     filter, expires as REJECTED, and the other one of a pair as OCO_TRIGGER.
//
// A working order that expires takes its legs along, as OTO_PHASE_ONE_EXPIRED. Cancelling
// one order of a list cancels all of them. A list is ALL_DONE when none of its orders is
// open. The orders of a list are numbered as the venue does it: the working order, the
// stop, the target.
//
// # What the documents leave open
//
// Assumptions has what the fake cannot know, each with the reading that the documents
// suggest as its zero value. Beside them, these are guesses: a list is answered with
// RESULT when newOrderRespType is missing, its first event comes before those of its
// orders, an order reports NEW again when it is triggered, with w and W, and an order type
// that a symbol lacks is refused with -1013. Others saw on the testnet, and the documents
// do not have: a list that ends in the call that places it is answered with
// listClientOrderId null, and a working order of another type is refused with -1159.
package binance

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// Config describes the venue. The zero value has BTCUSDT, ETHUSDT and ETHBTC.
type Config struct {
	Now     func() time.Time // time.Now when nil
	Seed    uint64
	Variety int                 // see fake.NewPrices
	Knows   func(s string) bool // which symbols exist
	Limit   int                 // of weight a minute for one address; 6000 when 0
	// Addresses is how many its clients come from, which are taken to ask equally
	// much; 1 when 0.
	Addresses int
	Step      time.Duration // between updates of a stream; 2 s when 0
	// Funds are what the account has; 100,000 USDT and USDC, 2 BTC and 20 ETH when
	// nil. Its keys are Key and Secret, or Key and a private key to Ed25519.
	Funds   map[string]decimal.Decimal
	Ed25519 ed25519.PublicKey
	// Depth is how much each of the five levels of a book holds, refilled every four
	// seconds; what is traded in that time when 0.
	Depth decimal.Decimal
	// Symbols is what orders of a symbol cannot have; see features for those not in it.
	Symbols map[string]Features
}

// Server is the venue. It is safe for concurrent use.
type Server struct {
	fake.Faults
	Feed     fake.Feed // of the market
	User     fake.Feed // of the account
	config   Config
	prices   *fake.Prices
	exchange *exchange
	mux      *http.ServeMux
	methods  map[string]endpoint // of the WebSocket API
	skew     atomic.Int64        // of the venue's clock
	late     atomic.Bool         // see AllowLate

	mu     sync.Mutex
	minute int64
	used   int // weight in this minute
	peak   int // the most in any minute
	over   int // requests in this minute after the limit
	banned time.Time
	step   int64                        // of the prices in pages
	pages  map[provider.BarQuery][]byte // answers to requests for klines
}

// New returns a venue.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Knows == nil {
		c.Knows = func(s string) bool { return s == "BTCUSDT" || s == "ETHUSDT" || s == "ETHBTC" }
	}
	if c.Limit == 0 {
		c.Limit = 6000
	}
	c.Addresses = max(1, c.Addresses)
	if c.Step == 0 {
		c.Step = 2 * time.Second
	}
	if c.Funds == nil {
		some := decimal.NewFromInt(100_000)
		c.Funds = map[string]decimal.Decimal{"USDT": some, "USDC": some, "BTC": decimal.NewFromInt(2), "ETH": decimal.NewFromInt(20)}
	}
	s := &Server{
		mux: http.NewServeMux(), methods: make(map[string]endpoint),
		Feed: fake.Feed{Step: c.Step, PingWait: 20 * time.Second, MaxAge: 24 * time.Hour, Seed: c.Seed},
		User: fake.Feed{Step: time.Second, PingWait: 20 * time.Second, MaxAge: 24 * time.Hour, Seed: c.Seed},
	}
	now := c.Now
	c.Now = func() time.Time { return now().Add(time.Duration(s.skew.Load())) }
	s.config, s.prices = c, fake.NewPrices(c.Seed, c.Variety, c.Now)
	s.exchange = newExchange(s.prices.At, c)
	s.mux.HandleFunc("GET /api/v3/ping", func(w http.ResponseWriter, _ *http.Request) { s.answer(w, 1, struct{}{}) })
	s.mux.HandleFunc("GET /api/v3/time", func(w http.ResponseWriter, _ *http.Request) {
		s.answer(w, 1, map[string]int64{"serverTime": s.config.Now().UnixMilli()})
	})
	s.mux.HandleFunc("GET /api/v3/klines", s.klines)
	s.mux.HandleFunc("GET /api/v3/exchangeInfo", s.exchangeInfo)
	s.mux.HandleFunc("GET /fapi/v1/klines", s.perpetualKlines)
	s.mux.HandleFunc("GET /fapi/v1/exchangeInfo", s.perpetuals)
	s.mux.HandleFunc("GET /fapi/v1/fundingRate", s.fundingRate)
	s.mux.HandleFunc("GET /futures/data/openInterestHist", s.openInterest)
	s.mux.HandleFunc("GET /futures/data/globalLongShortAccountRatio", s.longShort)
	s.routeOrders()
	return s
}

// ServeHTTP answers requests, under /ws, /stream and /market/stream streams, under /ws-api/v3 the
// account's, and under /fake what no venue offers: see control.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/stream" || path == perpetualStream || path == "/ws" || strings.HasPrefix(path, "/ws/"):
		s.stream(w, r)
	case path == "/ws-api/v3":
		s.userStream(w, r)
	case strings.HasPrefix(path, "/fake/"):
		s.control(w, r)
	default:
		s.Wrap(s.mux).ServeHTTP(w, r)
	}
}

// PeakWeight returns the most weight that any minute has seen.
func (s *Server) PeakWeight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Restricted is the answer to clients from a place that is not served.
func Restricted() fake.Fault {
	return fake.Fault{Status: http.StatusUnavailableForLegalReasons, Body: `{"code":0,"msg":"Service unavailable from a restricted location according to 'b. Eligibility' in https://www.binance.com/en/terms. Please contact customer service if you believe you received this message in error."}`}
}

// Coded is an answer with one of the venue's error codes.
func Coded(status, code int, message string) fake.Fault {
	body, _ := json.Marshal(map[string]any{"code": code, "msg": message})
	return fake.Fault{Status: status, Body: string(body)}
}

// TooMany is the answer to a client that is over its limit.
func TooMany(status int, retry time.Duration) fake.Fault {
	f := Coded(status, -1003, "Too much request weight used; current limit is 6000 request weight per 1 MINUTE. Please use WebSocket Streams for live updates to avoid polling the API.")
	f.RetryAfter = retry
	return f
}

// ShutdownNotice is what the streams say before a restart.
func (s *Server) ShutdownNotice() {
	event := fmt.Sprintf(`{"e":"serverShutdown","E":%d}`, s.config.Now().UnixMilli())
	s.Feed.Announce(`{"stream":"!serverShutdown","data":` + event + `}`)
	s.User.Announce(`{"event":` + event + `}`)
}

// admit counts a request and reports whether it is within the limit. One that is
// over is refused, and a client that goes on is banned.
func (s *Server) admit(w http.ResponseWriter, weight int) bool {
	now := s.config.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if minute := now.Unix() / 60; minute != s.minute {
		s.minute, s.used, s.over = minute, 0, 0
	}
	s.used += weight
	s.peak = max(s.peak, s.used)
	used := s.used / s.config.Addresses
	w.Header().Set("X-MBX-USED-WEIGHT", strconv.Itoa(used))
	w.Header().Set("X-MBX-USED-WEIGHT-1M", strconv.Itoa(used))
	switch {
	case now.Before(s.banned):
		refuse(w, http.StatusTeapot, s.banned.Sub(now))
		return false
	case used > s.config.Limit:
		if s.over++; s.over > 10 {
			s.banned = now.Add(2 * time.Minute)
			refuse(w, http.StatusTeapot, 2*time.Minute)
			return false
		}
		refuse(w, http.StatusTooManyRequests, time.Duration(60-now.Unix()%60)*time.Second)
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, status int, retry time.Duration) {
	f := TooMany(status, retry)
	w.Header().Set("Retry-After", strconv.Itoa(int((retry+time.Second-1)/time.Second)))
	writeJSON(w, f.Status, []byte(f.Body))
}

// answer counts the request and sends v.
func (s *Server) answer(w http.ResponseWriter, weight int, v any) {
	if !s.admit(w, weight) {
		return
	}
	writeJSON(w, http.StatusOK, marshal(v))
}

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// wrong counts the request and refuses it.
func (s *Server) wrong(w http.ResponseWriter, weight, code int, message string) {
	if s.admit(w, weight) {
		f := Coded(http.StatusBadRequest, code, message)
		writeJSON(w, f.Status, []byte(f.Body))
	}
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, for a test
}

// intervals maps the venue's spelling, in which case matters, to ours.
func interval(text string) (market.Interval, bool) {
	for _, i := range market.Intervals() {
		if i.String() == text {
			return i, true
		}
	}
	return 0, false
}
