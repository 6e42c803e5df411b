package binance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// maxStreams is the most one connection may carry.
const maxStreams = 1024

// session is one client's connection. See fake.Session.
type session struct {
	server   *Server
	combined bool // messages are wrapped with the name of their stream
	futures  bool // its symbols are perpetual futures
	names    []string
	tracks   map[string]*fake.Track

	marked map[string]int64 // seconds of the newest marks
	second int64            // messages are counted by the second
	count  int
}

// stream serves /ws, /ws/<name>, /stream?streams=<name>/<name> and the same for futures.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	futures := r.URL.Path == perpetualStream
	c := &session{server: s, combined: futures || r.URL.Path == "/stream", futures: futures, tracks: make(map[string]*fake.Track), marked: make(map[string]int64)}
	var names []string
	if c.combined {
		names = strings.FieldsFunc(r.URL.Query().Get("streams"), func(c rune) bool { return c == '/' })
	} else {
		names = strings.FieldsFunc(strings.TrimPrefix(r.URL.Path, "/ws"), func(c rune) bool { return c == '/' })
	}
	for _, name := range names {
		c.add(name)
	}
	if len(c.names) > maxStreams {
		http.Error(w, "too many streams", http.StatusBadRequest)
		return
	}
	s.Feed.Serve(w, r, c)
}

// add subscribes. The venue takes any name, and is silent about those it does not
// know.
func (c *session) add(name string) {
	if slices.Contains(c.names, name) {
		return
	}
	c.names = append(c.names, name)
	symbol, kind, _ := strings.Cut(name, "@")
	i, ok := interval(strings.TrimPrefix(kind, "kline_"))
	if c.futures && kind == markKind {
		i, ok = market.Minute1, true
	}
	if upper := strings.ToUpper(symbol); ok && strings.ToLower(symbol) == symbol && c.server.config.Knows(upper) {
		if c.futures {
			upper = market.PerpetualOf(upper)
		}
		c.tracks[name] = c.server.prices.Follow(upper, i)
	}
}

func (c *session) drop(name string) {
	c.names = slices.DeleteFunc(c.names, func(have string) bool { return have == name })
	delete(c.tracks, name)
}

// Receive answers the control messages.
func (c *session) Receive(message []byte) [][]byte {
	if now := c.server.config.Now().Unix(); now != c.second {
		c.second, c.count = now, 0
	}
	if c.count++; c.count > 5 {
		return [][]byte{[]byte(`{"code":3,"msg":"Invalid request: too many messages"}`)}
	}
	var in struct {
		Method string          `json:"method"`
		Params []string        `json:"params"`
		ID     json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(message, &in); err != nil {
		return [][]byte{[]byte(`{"code":3,"msg":"Invalid JSON: ` + "expected value" + `"}`)}
	}
	result := "null"
	switch in.Method {
	case "SUBSCRIBE":
		for _, name := range in.Params {
			c.add(name)
		}
		if len(c.names) > maxStreams {
			return [][]byte{[]byte(`{"code":2,"msg":"Invalid request: too many parameters"}`)}
		}
	case "UNSUBSCRIBE":
		for _, name := range in.Params {
			c.drop(name)
		}
	case "LIST_SUBSCRIPTIONS":
		list, _ := json.Marshal(c.names)
		result = string(list)
	default:
		return [][]byte{[]byte(`{"code":2,"msg":"Invalid request: unknown variant"}`)}
	}
	return [][]byte{[]byte(`{"result":` + result + `,"id":` + string(in.ID) + `}`)}
}

// Tick sends the bars of all streams.
func (c *session) Tick() [][]byte {
	now := c.server.config.Now()
	var out [][]byte
	for _, name := range c.names {
		track, ok := c.tracks[name]
		if !ok {
			continue
		}
		bars, running := c.server.prices.Advance(track)
		if strings.HasSuffix(name, "@"+markKind) {
			if n := bars.Len(); n > 0 && c.marked[name] != now.Unix() {
				c.marked[name] = now.Unix()
				out = append(out, c.wrap(name, markPrice(track, bars.C[n-1], now)))
			}
			continue
		}
		for k := range bars.T {
			closed := !running || k < bars.Len()-1
			out = append(out, c.wrap(name, kline(track, bars.At(k), closed, now)))
		}
	}
	return out
}

func (c *session) wrap(name, data string) []byte {
	if !c.combined {
		return []byte(data)
	}
	return []byte(`{"stream":"` + name + `","data":` + data + `}`)
}

// markKind is the stream of the mark prices of a future.
const markKind = "markPrice@1s"

// markPrice is a mark, which is a little beside the last price.
func markPrice(t *fake.Track, last float64, now time.Time) string {
	symbol, _ := (market.Symbol{Name: t.Symbol}).Pair()
	return fmt.Sprintf(`{"e":"markPriceUpdate","E":%d,"s":%q,"p":%q,"ap":%q,"P":%q,"i":%q,"r":"0.00010000","T":%d}`,
		now.UnixMilli(), symbol, price(MarkOf(last)), price(last), price(last), price(last), (now.Unix()/fundingPeriod+1)*fundingPeriod*1000)
}

// MarkOf returns the mark price while a future trades at a price.
func MarkOf(last float64) float64 { return last * 1.0001 }

func kline(t *fake.Track, b market.Bar, closed bool, now time.Time) string {
	symbol, _ := (market.Symbol{Name: t.Symbol}).Pair()
	return fmt.Sprintf(`{"e":"kline","E":%d,"s":%q,"k":{"t":%d,"T":%d,"s":%q,"i":%q,"f":100,"L":200,`+
		`"o":%q,"c":%q,"h":%q,"l":%q,"v":%q,"n":%d,"x":%v,"q":%q,"V":%q,"Q":%q,"B":"0"}}`,
		now.UnixMilli(), symbol, b.T*1000, closeTime(b.T, t.Interval), symbol, t.Interval.String(),
		price(b.O), price(b.C), price(b.H), price(b.L), price(b.V), trades(b), closed,
		price(b.V*b.C), price(b.TakerBuy), price(b.TakerBuy*b.C))
}
