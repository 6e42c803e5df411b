package coinbase

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/market"
)

const (
	perCall = 100
	spacing = 200 * time.Millisecond
	// beats is how many heartbeats, which each product sends every second, make
	// one Alive.
	beats = 20
)

// Stream sends bars built from the trades of the subscriptions. They come from the
// first one that was seen whole; until then there are prices alone.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	wire := provider.StreamRunner{
		Venue: name, Caps: p.Capabilities(), Hosts: p.hosts, Now: p.config.Now,
		Socket: upstream.SocketConfig{URL: p.config.StreamURL, Spacing: spacing},
	}
	return wire.Run(ctx, &dialect{products: make(map[string]*product)}, subs, changes, emit)
}

// dialect is the matches and heartbeat channels. See provider.StreamProtocol.
type dialect struct {
	products map[string]*product
	beats    int
}

// Key returns the product and the interval, such as "BTC-USD 5m".
func (d *dialect) Key(_ context.Context, sub provider.Sub) (string, error) {
	spelled, err := spell(sub.Symbol)
	return spelled + " " + sub.Interval.String(), err
}

// Requests subscribes to a product with its first interval, and ends it with its
// last. Every message is confirmed.
func (d *dialect) Requests(keys []string, begin bool) (messages [][]byte, confirmations int) {
	method := "unsubscribe"
	if begin {
		method = "subscribe"
	}
	var ids []string
	for _, key := range keys {
		id, _, _ := strings.Cut(key, " ")
		p := d.products[id]
		if begin {
			if p == nil {
				p = &product{}
				d.products[id] = p
				ids = append(ids, id)
			}
			p.builders = append(p.builders, &builder{key: key, interval: intervalOf(key), from: p.now})
			continue
		}
		if p == nil {
			continue
		}
		p.builders = slices.DeleteFunc(p.builders, func(b *builder) bool { return b.key == key })
		if len(p.builders) == 0 {
			delete(d.products, id)
			ids = append(ids, id)
		}
	}
	for part := range slices.Chunk(ids, perCall) {
		text, err := json.Marshal(map[string]any{"type": method, "product_ids": part, "channels": []string{"matches", "heartbeat"}})
		if err != nil {
			panic(err) // strings always can be written
		}
		messages = append(messages, text)
	}
	return messages, len(messages)
}

// Handle takes a message.
func (d *dialect) Handle(c *provider.StreamConn, data []byte) error {
	m, err := parseMessage(data)
	if err != nil {
		return upstream.MalformedResponse(name, "stream "+m.product, err)
	}
	if m.kind == "subscriptions" {
		return c.Confirm()
	}
	p := d.products[m.product]
	if p == nil {
		return nil
	}
	var events []keyedEvent
	switch m.kind {
	case "last_match":
		p.begin(m)
	case "match":
		events = p.match(m)
	case "heartbeat":
		if d.beats++; d.beats%beats == 0 {
			c.Alive()
		}
		events = p.beat(m)
	}
	for _, e := range events {
		sub, ok := c.Sub(e.key)
		if !ok {
			continue
		}
		e.Sub = sub
		if err := c.Emit(e.Event); err != nil {
			return err
		}
	}
	return nil
}

// intervalOf returns the interval of a key.
func intervalOf(key string) market.Interval {
	_, text, _ := strings.Cut(key, " ")
	i, err := market.ParseInterval(text)
	if err != nil {
		panic("coinbase: " + err.Error()) // Key wrote it
	}
	return i
}
