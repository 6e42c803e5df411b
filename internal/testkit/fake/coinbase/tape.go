package coinbase

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// trade is a match.
type trade struct {
	id          int64
	at          time.Time
	price, size float64
}

// tape is the trades of one product, made so that they add up to its bars.
type tape struct {
	track *fake.Track // of minutes
	last  market.Bar  // the state up to which trades were made
	id    int64       // of the last trade
	log   []trade     // the newest, ascending
}

// keptTrades is how many trades a tape remembers for clients that lag.
const keptTrades = 4096

// tapes are those of all products. They are safe for concurrent use.
type tapes struct {
	prices *fake.Prices
	now    func() time.Time

	mu        sync.Mutex
	byProduct map[string]*tape
}

// since returns the trades of a product after one, and the number of the last.
func (t *tapes) since(product string, id int64) ([]trade, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byProduct[product]
	if one == nil {
		one = &tape{track: t.prices.Follow(product, market.Minute1), id: 1000}
		t.byProduct[product] = one
	}
	one.advance(t.prices, t.now())
	k, _ := slices.BinarySearchFunc(one.log, id+1, func(x trade, id int64) int { return int(x.id - id) })
	return slices.Clone(one.log[k:]), one.id
}

// advance makes the trades that turn the bars as they were into what they are.
func (t *tape) advance(prices *fake.Prices, now time.Time) {
	bars, _ := prices.Advance(t.track)
	for k := range bars.T {
		b := bars.At(k)
		if b.Equal(t.last) {
			continue
		}
		at := now
		if end := time.Unix(b.T+60, 0).Add(-time.Millisecond); end.Before(at) {
			at = end
		}
		before := t.last
		var path []float64
		if before.T != b.T {
			before = market.Bar{H: b.O, L: b.O}
			path = append(path, b.O)
		}
		if b.H > before.H {
			path = append(path, b.H)
		}
		if b.L < before.L {
			path = append(path, b.L)
		}
		path = append(path, b.C)
		t.make(path, b.V-before.V, at)
		t.last = b
	}
	if extra := len(t.log) - keptTrades; extra > 0 {
		t.log = slices.Delete(t.log, 0, extra)
	}
}

// make adds a trade at each price. All but the last are small.
func (t *tape) make(path []float64, volume float64, at time.Time) {
	const small = 0.25
	for k, price := range path {
		size := volume
		if k < len(path)-1 {
			if size = small; volume < 2*small*float64(len(path)) {
				size = 0
			}
			volume -= size
		}
		t.id++
		t.log = append(t.log, trade{id: t.id, at: at, price: price, size: size})
	}
}

// session is one client's connection. See fake.Session.
type session struct {
	server   *Server
	products []string
	sent     map[string]int64 // the last trade that was sent
}

// Receive answers subscribe and unsubscribe.
func (c *session) Receive(message []byte) [][]byte {
	var in struct {
		Type       string   `json:"type"`
		ProductIDs []string `json:"product_ids"`
	}
	if err := json.Unmarshal(message, &in); err != nil || in.Type != "subscribe" && in.Type != "unsubscribe" {
		return [][]byte{[]byte(`{"type":"error","message":"Malformed JSON","reason":"cannot be read"}`)}
	}
	var out [][]byte
	for _, id := range in.ProductIDs {
		if !slices.Contains(c.server.config.Products, id) {
			return [][]byte{fmt.Appendf(nil, `{"type":"error","message":"Failed to subscribe","reason":"%s is not a valid product"}`, id)}
		}
		c.products = slices.DeleteFunc(c.products, func(have string) bool { return have == id })
		if in.Type == "subscribe" {
			c.products = append(c.products, id)
			trades, last := c.server.tapes.since(id, 0)
			c.sent[id] = last
			if len(trades) > 0 {
				out = append(out, match("last_match", id, trades[len(trades)-1]))
			}
		}
	}
	list, _ := json.Marshal(c.products)
	reply := fmt.Appendf(nil, `{"type":"subscriptions","channels":[{"name":"matches","product_ids":%s},{"name":"heartbeat","product_ids":%s}]}`, list, list)
	return append([][]byte{reply}, out...)
}

func match(kind, product string, t trade) []byte {
	decimal := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return fmt.Appendf(nil, `{"type":%q,"trade_id":%d,"maker_order_id":"ac928c66-ca53-498f-9c13-a110027a60e8","taker_order_id":"132fb6ae-456b-4654-b4e0-d681ac05cea1",`+
		`"side":"sell","size":%q,"price":%q,"product_id":%q,"sequence":%d,"time":%q}`,
		kind, t.id, decimal(t.size), decimal(t.price), product, t.id*2, t.at.UTC().Format("2006-01-02T15:04:05.000000Z"))
}

// Tick sends the new trades of each product and a heartbeat.
func (c *session) Tick() [][]byte {
	now := c.server.config.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	var out [][]byte
	for _, id := range c.products {
		trades, last := c.server.tapes.since(id, c.sent[id])
		for _, t := range trades {
			out = append(out, match("match", id, t))
		}
		c.sent[id] = last
		out = append(out, fmt.Appendf(nil, `{"type":"heartbeat","last_trade_id":%d,"product_id":%q,"sequence":%d,"time":%q}`, last, id, last*2, now))
	}
	return out
}
