package coinbase

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// patience is how long a trade that skips a number waits for those before it.
// Then they count as lost, and the bars that lack them are left out.
const patience = 3 * time.Second

// maxHeld bounds the trades that wait.
const maxHeld = 1000

// keyed is an event for the subscription with a key.
type keyedEvent struct {
	provider.Event
	key string
}

// product puts the trades of one product in order and builds the bars of its
// subscriptions. Trades are numbered without gaps, so that a missing one shows.
type product struct {
	builders []*builder
	last     int64     // the number of the last trade in order, 0 before the first
	whole    time.Time // nothing is missing after this time
	held     []message // trades beyond a gap, ascending
	now      time.Time // the latest time of the venue's
}

// builder builds the bars of one subscription.
type builder struct {
	key      string
	interval market.Interval
	span     market.Span
	bar      market.Bar
	volume   decimal.Decimal // exact, so that the sum is the one that is read
	has      bool            // a bar is being built
	from     time.Time       // the subscription sees everything after this time
}

// begin takes the last trade before the subscription.
func (p *product) begin(m message) {
	if p.last == 0 {
		p.last, p.whole = m.id, m.at
	}
	p.see(m.at)
}

func (p *product) see(at time.Time) {
	if at.After(p.now) {
		p.now = at
	}
}

// match takes a trade.
func (p *product) match(m message) []keyedEvent {
	p.see(m.at)
	switch {
	case p.last == 0:
		p.last, p.whole = m.id-1, m.at
	case m.id <= p.last:
		return nil // sent already
	}
	k, have := slices.BinarySearchFunc(p.held, m, func(a, b message) int { return cmp.Compare(a.id, b.id) })
	if !have {
		p.held = slices.Insert(p.held, k, m)
	}
	return p.release()
}

// release takes the held trades that are in order, and gives up on missing ones
// that do not come.
func (p *product) release() []keyedEvent {
	var out []keyedEvent
	for len(p.held) > 0 {
		next := p.held[0]
		if next.id != p.last+1 {
			if p.now.Sub(next.at) < patience && len(p.held) < maxHeld {
				break
			}
			p.lose(next.at)
		}
		p.held = p.held[1:]
		p.last = next.id
		for _, b := range p.builders {
			out = append(out, b.trade(next, p.whole)...)
		}
	}
	return out
}

// lose forgets the bars that lack a trade: the ones being built, and the one in
// which the next trade is.
func (p *product) lose(at time.Time) {
	p.whole = at
	for _, b := range p.builders {
		b.has = false
	}
}

// beat takes a heartbeat. When it knows of no trade that we do not have, bars
// whose time is over close.
func (p *product) beat(m message) []keyedEvent {
	p.see(m.at)
	if p.last == 0 {
		p.last, p.whole = m.id, m.at
		return nil
	}
	out := p.release()
	if m.id != p.last || len(p.held) > 0 {
		return out
	}
	for _, b := range p.builders {
		if b.has && m.at.Unix() >= b.span.Close {
			out = append(out, b.close(m.at))
		}
	}
	return out
}

// trade adds a trade to the bar it belongs to.
func (b *builder) trade(m message, whole time.Time) []keyedEvent {
	var out []keyedEvent
	if b.has && !b.span.Holds(m.at.Unix()) {
		out = append(out, b.close(m.at))
	}
	if !b.has {
		b.span, _ = market.Calendar{}.Bucket(b.interval, m.at.Unix())
		open := time.Unix(b.span.Open, 0)
		if !open.After(whole) || !open.After(b.from) {
			return append(out, keyedEvent{key: b.key, Event: provider.Event{Kind: provider.Traded, Price: m.price, At: m.at}})
		}
		b.has, b.volume = true, decimal.Decimal{}
		b.bar = market.Bar{T: b.span.Open, O: m.price, H: m.price, L: m.price, TakerBuy: math.NaN()}
	}
	b.bar.H, b.bar.L, b.bar.C = max(b.bar.H, m.price), min(b.bar.L, m.price), m.price
	b.volume = b.volume.Add(m.size)
	b.bar.V, _ = b.volume.Float64()
	return append(out, keyedEvent{key: b.key, Event: provider.Event{Kind: provider.Forming, Bar: b.bar, Price: m.price, At: m.at}})
}

func (b *builder) close(at time.Time) keyedEvent {
	b.has = false
	return keyedEvent{key: b.key, Event: provider.Event{Kind: provider.Closed, Bar: b.bar, Price: b.bar.C, At: at}}
}
