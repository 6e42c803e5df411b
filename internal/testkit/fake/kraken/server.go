// Package kraken is a fake Kraken: the public endpoints of pairs and OHLC bars,
// and the ohlc channel of the second WebSocket API, with the quirks and faults
// that the venue documents.
package kraken

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// Config describes the venue. The zero value has BTC/USD, ETH/USD and ETH/BTC.
type Config struct {
	Now     func() time.Time // time.Now when nil
	Seed    uint64
	Variety int // see fake.NewPrices
	Pairs   []string
	Calls   int           // how many may come at once, one more each second; 15 when 0
	Step    time.Duration // between looks at the market; 1 s when 0
}

// Server is the venue. It is safe for concurrent use.
type Server struct {
	fake.Faults
	Feed   fake.Feed
	config Config
	prices *fake.Prices
	mux    *http.ServeMux

	mu      sync.Mutex
	counter float64 // rises with every call and falls by one a second
	counted time.Time
}

// maxRows is how many bars there are, the newest ones.
const maxRows = 720

// New returns a venue.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Pairs == nil {
		c.Pairs = []string{"BTC/USD", "ETH/USD", "ETH/BTC"}
	}
	if c.Calls == 0 {
		c.Calls = 15
	}
	if c.Step == 0 {
		c.Step = time.Second
	}
	s := &Server{
		config: c, prices: fake.NewPrices(c.Seed, c.Variety, c.Now), mux: http.NewServeMux(),
		Feed: fake.Feed{Step: c.Step, PingWait: time.Minute, MaxAge: 1000 * time.Hour, Seed: c.Seed},
	}
	s.mux.HandleFunc("GET /0/public/AssetPairs", s.assetPairs)
	s.mux.HandleFunc("GET /0/public/OHLC", s.ohlc)
	return s
}

// ServeHTTP answers requests and, under /v2, streams.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v2" {
		s.Feed.Serve(w, r, &session{server: s, tracks: make(map[key]*sentTrack)})
		return
	}
	s.Wrap(s.mux).ServeHTTP(w, r)
}

// Errors is an answer with status 200 and the venue's errors.
func Errors(codes ...string) fake.Fault {
	body, _ := json.Marshal(map[string]any{"error": codes})
	return fake.Fault{Status: http.StatusOK, Body: string(body)}
}

// names returns what the venue calls a pair besides its name: the code and the
// old spelling, in which bitcoin is XBT and dogecoin XDG.
func names(pair string) (id, alt, ws string) {
	ws = strings.NewReplacer("BTC", "XBT", "DOGE", "XDG").Replace(pair)
	base, quote, _ := strings.Cut(ws, "/")
	alt = base + quote
	id = alt
	if len(base) == 3 && (quote == "USD" || quote == "EUR") {
		id = "X" + base + "Z" + quote
	} else if len(base) == 3 && quote == "XBT" {
		id = "X" + base + "X" + quote
	}
	return id, alt, ws
}

func (s *Server) find(asked string) (pair string, ok bool) {
	for _, pair := range s.config.Pairs {
		id, alt, ws := names(pair)
		if slices.Contains([]string{id, alt, ws, pair}, asked) {
			return pair, true
		}
	}
	return "", false
}

// allowed counts a call and reports whether it is within the limit.
func (s *Server) allowed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	s.counter = max(0, s.counter-now.Sub(s.counted).Seconds()) + 1
	s.counted = now
	return s.counter <= float64(s.config.Calls)
}

// answer writes a result, or errors with status 200, as the venue does.
func (s *Server) answer(w http.ResponseWriter, result any, errors ...string) {
	if !s.allowed() {
		result, errors = nil, []string{"EGeneral:Too many requests"}
	}
	body := map[string]any{"error": append([]string{}, errors...)}
	if result != nil {
		body["result"] = result
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) assetPairs(w http.ResponseWriter, r *http.Request) {
	pairs := s.config.Pairs
	if asked := r.URL.Query().Get("pair"); asked != "" {
		pair, ok := s.find(asked)
		if !ok {
			s.answer(w, nil, "EQuery:Unknown asset pair")
			return
		}
		pairs = []string{pair}
	}
	result := map[string]any{}
	for _, pair := range pairs {
		id, alt, ws := names(pair)
		base, quote, _ := strings.Cut(ws, "/")
		result[id] = map[string]any{
			"altname": alt, "wsname": ws, "aclass_base": "currency", "base": base, "aclass_quote": "currency", "quote": quote,
			"lot": "unit", "cost_decimals": 5, "pair_decimals": 4, "lot_decimals": 8, "lot_multiplier": 1,
			"leverage_buy": []int{2, 3}, "fees": [][]float64{{0, 0.4}}, "fee_volume_currency": "ZUSD",
			"ordermin": "0.0001", "costmin": "0.5", "tick_size": "0.0001", "status": "online",
		}
	}
	s.answer(w, result)
}

// decimal writes a number as text.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (s *Server) ohlc(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	pair, known := s.find(q.Get("pair"))
	minutes, err := strconv.Atoi(cmpOr(q.Get("interval"), "1"))
	i, native := interval(minutes)
	since, sinceErr := strconv.ParseInt(cmpOr(q.Get("since"), "0"), 10, 64)
	switch {
	case !known:
		s.answer(w, nil, "EQuery:Unknown asset pair")
		return
	case err != nil || !native || sinceErr != nil:
		s.answer(w, nil, "EGeneral:Invalid arguments")
		return
	}
	bars, _ := s.prices.Bars(pair, provider.BarQuery{Interval: i, Limit: maxRows})
	rows, last := [][]any{}, int64(0)
	for k := range bars.T {
		b := bars.At(k)
		if b.T <= since {
			continue
		}
		rows = append(rows, []any{b.T, decimal(b.O), decimal(b.H), decimal(b.L), decimal(b.C), decimal((b.H + b.L) / 2), decimal(b.V), 7})
		if k < bars.Len()-1 {
			last = b.T
		}
	}
	id, _, _ := names(pair)
	s.answer(w, map[string]any{id: rows, "last": last})
}

func cmpOr(text, standard string) string {
	if text == "" {
		return standard
	}
	return text
}

// interval returns the interval of a number of minutes. A week begins on
// Thursday here, and fifteen days are none of ours: both are left out.
func interval(minutes int) (market.Interval, bool) {
	for _, i := range market.Intervals() {
		if i.Seconds() == int64(minutes)*60 && slices.Contains([]int{1, 5, 15, 30, 60, 240, 1440}, minutes) {
			return i, true
		}
	}
	return 0, false
}

// key is a subscription: a pair and minutes.
type key struct {
	pair    string
	minutes int
}

// sent is a track with the bar that was sent last.
type sentTrack struct {
	*fake.Track
	last market.Bar
}

// session is one client's connection. See fake.Session.
type session struct {
	server *Server
	keys   []key
	tracks map[key]*sentTrack
}

// Receive answers subscribe, unsubscribe and ping.
func (c *session) Receive(message []byte) [][]byte {
	var in struct {
		Method string `json:"method"`
		Params struct {
			Channel  string   `json:"channel"`
			Symbol   []string `json:"symbol"`
			Interval int      `json:"interval"`
		} `json:"params"`
		ReqID int64 `json:"req_id"`
	}
	if err := json.Unmarshal(message, &in); err != nil {
		return [][]byte{[]byte(`{"error":"Malformed request","success":false}`)}
	}
	if in.Method == "ping" {
		return [][]byte{fmt.Appendf(nil, `{"method":"pong","req_id":%d}`, in.ReqID)}
	}
	var out [][]byte
	for _, symbol := range in.Params.Symbol {
		out = append(out, c.subscribe(in.Method, key{symbol, max(in.Params.Interval, 1)}, in.ReqID))
	}
	return out
}

func (c *session) subscribe(method string, k key, id int64) []byte {
	i, ok := interval(k.minutes)
	if !slices.Contains(c.server.config.Pairs, k.pair) || !ok {
		return fmt.Appendf(nil, `{"error":"Currency pair not supported %s","method":%q,"req_id":%d,"success":false,"symbol":%q}`, k.pair, method, id, k.pair)
	}
	c.keys = slices.DeleteFunc(c.keys, func(have key) bool { return have == k })
	delete(c.tracks, k)
	if method == "subscribe" {
		c.keys = append(c.keys, k)
		c.tracks[k] = &sentTrack{Track: c.server.prices.Follow(k.pair, i)}
	}
	return fmt.Appendf(nil, `{"method":%q,"req_id":%d,"result":{"channel":"ohlc","interval":%d,"snapshot":false,"symbol":%q},"success":true,"time_in":"2023-10-04T16:26:27.000000Z","time_out":"2023-10-04T16:26:27.000001Z"}`, method, id, k.minutes, k.pair)
}

// Tick sends the bars that changed, or that the venue is there.
func (c *session) Tick() [][]byte {
	out := [][]byte{[]byte(`{"channel":"heartbeat"}`)}
	stamp := c.server.config.Now().UTC().Format(time.RFC3339Nano)
	for _, k := range c.keys {
		t := c.tracks[k]
		bars, _ := c.server.prices.Advance(t.Track)
		for n := range bars.T {
			b := bars.At(n)
			if b.Equal(t.last) {
				continue
			}
			t.last = b
			begin := time.Unix(b.T, 0).UTC()
			out = append(out, fmt.Appendf(nil, `{"channel":"ohlc","type":"update","timestamp":%q,"data":[{"symbol":%q,"open":%s,"high":%s,"low":%s,"close":%s,`+
				`"trades":7,"volume":%s,"vwap":%s,"interval_begin":%q,"interval":%d,"timestamp":%q}]}`,
				stamp, k.pair, decimal(b.O), decimal(b.H), decimal(b.L), decimal(b.C), decimal(b.V), decimal((b.H+b.L)/2),
				begin.Format("2006-01-02T15:04:05.000000000Z"), k.minutes, begin.Add(t.Interval.Duration()).Format("2006-01-02T15:04:05.000000Z")))
		}
	}
	return out
}
