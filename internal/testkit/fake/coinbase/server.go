// Package coinbase is a fake Coinbase Exchange: products, candles, and the
// matches and heartbeat channels, with the quirks and faults that the venue
// documents. The trades it streams add up to the candles it serves.
package coinbase

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// Config describes the venue. The zero value has BTC-USD, ETH-USD and ETH-BTC.
type Config struct {
	Now      func() time.Time // time.Now when nil
	Seed     uint64
	Variety  int // see fake.NewPrices
	Products []string
	Step     time.Duration // between looks at the market; 1 s when 0
}

// Server is the venue. It is safe for concurrent use.
type Server struct {
	fake.Faults
	Feed   fake.Feed
	config Config
	prices *fake.Prices
	tapes  tapes
	mux    *http.ServeMux
}

// maxCandles is the most that one answer holds; more is an error.
const maxCandles = 300

// New returns a venue.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Products == nil {
		c.Products = []string{"BTC-USD", "ETH-USD", "ETH-BTC"}
	}
	if c.Step == 0 {
		c.Step = time.Second
	}
	s := &Server{
		config: c, prices: fake.NewPrices(c.Seed, c.Variety, c.Now), mux: http.NewServeMux(),
		Feed: fake.Feed{Step: c.Step, PingWait: time.Minute, MaxAge: 1000 * time.Hour, Seed: c.Seed},
	}
	s.tapes = tapes{prices: s.prices, now: c.Now, byProduct: make(map[string]*tape)}
	s.mux.HandleFunc("GET /products/{id}", s.product)
	s.mux.HandleFunc("GET /products/{id}/candles", s.candles)
	return s
}

// ServeHTTP answers requests, and streams where a WebSocket is asked for.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.Feed.Serve(w, r, &session{server: s, sent: make(map[string]int64)})
		return
	}
	s.Wrap(s.mux).ServeHTTP(w, r)
}

// Message is an answer with the venue's error object.
func Message(status int, text string) fake.Fault {
	body, _ := json.Marshal(map[string]string{"message": text})
	return fake.Fault{Status: status, Body: string(body)}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]string{"message": text})
}

func (s *Server) product(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !slices.Contains(s.config.Products, id) {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	base, quote, _ := strings.Cut(id, "-")
	answer(w, http.StatusOK, map[string]any{
		"id": id, "base_currency": base, "quote_currency": quote, "quote_increment": "0.0001", "base_increment": "0.00000001",
		"display_name": base + "/" + quote, "min_market_funds": "1", "margin_enabled": false, "post_only": false, "limit_only": false,
		"cancel_only": false, "status": "online", "status_message": "", "trading_disabled": false, "fx_stablecoin": false, "auction_mode": false,
	})
}

// moment reads a time in seconds or RFC 3339.
func moment(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at.Unix(), err == nil
}

func (s *Server) candles(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id := r.PathValue("id")
	seconds, err := strconv.ParseInt(q.Get("granularity"), 10, 64)
	i, native := interval(seconds)
	now := s.config.Now().Unix()
	start, end := now-maxCandles*seconds, now
	if q.Get("start") != "" || q.Get("end") != "" {
		var startOK, endOK bool
		start, startOK = moment(q.Get("start"))
		end, endOK = moment(q.Get("end"))
		if !startOK || !endOK {
			refuse(w, http.StatusBadRequest, "Invalid start or end")
			return
		}
	}
	switch {
	case !slices.Contains(s.config.Products, id):
		refuse(w, http.StatusNotFound, "NotFound")
	case err != nil || !native:
		refuse(w, http.StatusBadRequest, "Unsupported granularity")
	case (end-start)/seconds > maxCandles:
		refuse(w, http.StatusBadRequest, "granularity too small for the requested time range. Count of aggregations requested exceeds 300")
	default:
		bars, _ := s.prices.Bars(id, provider.BarQuery{Interval: i, From: max(start, 1), To: end + 1, Limit: maxCandles})
		rows := make([][]json.Number, 0, bars.Len())
		for k := bars.Len() - 1; k >= 0; k-- {
			b := bars.At(k)
			rows = append(rows, []json.Number{json.Number(strconv.FormatInt(b.T, 10)), number(b.L), number(b.H), number(b.O), number(b.C), number(b.V)})
		}
		answer(w, http.StatusOK, rows)
	}
}

func number(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'f', -1, 64)) }

// interval returns the interval of a number of seconds, when the venue has it.
func interval(seconds int64) (market.Interval, bool) {
	for _, i := range []market.Interval{market.Minute1, market.Minute5, market.Minute15, market.Hour1, market.Hour6, market.Day1} {
		if i.Seconds() == seconds {
			return i, true
		}
	}
	return 0, false
}
