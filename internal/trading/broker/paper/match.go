package paper

import (
	"cmp"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// matching is what one event does to the orders of its symbol.
type matching struct {
	*plan
	way    way
	volume pool
	orders []*ticket                  // of the plan: limits by price, then by age
	room   map[string]decimal.Decimal // by id: what an order may fill of what it had before the event
	torn   map[order.Group]bool       // the way reaches stop and target, in an order that is a guess
	late   bool                       // the event came after newer prices, or long after its bar closed
	stake  stake                      // the position that the price may liquidate
}

// match returns what a way of the price does: to the orders that saw all of it, and to those
// that came on the way and know only its last price. It returns nil for nothing.
//
// At each turn the orders that the price has gone through fill: the best price first, then
// the oldest. Then the stops that it reached are triggered.
func (b *Broker) match(ready, arrived []*ticket, w way, volume pool, late bool, s stake) []entry {
	if !slices.ContainsFunc(ready, w.touches) && !slices.ContainsFunc(arrived, w.ends) && !b.book.endangered(s, w) {
		return nil
	}
	m := matching{plan: b.plan(), way: w, volume: volume, room: make(map[string]decimal.Decimal, len(ready)), torn: make(map[order.Group]bool), late: late, stake: s}
	for _, k := range ready {
		m.orders = append(m.orders, m.tickets[k.ID])
		m.room[k.ID] = k.left()
	}
	slices.SortStableFunc(m.orders, better)
	m.tear()
	for _, k := range m.orders {
		if !k.Triggered.IsZero() && !k.Rests {
			m.take(k, w.start)
		}
	}
	for i := range w.turns {
		m.turn(i)
	}
	last := w.turns[len(w.turns)-1]
	for _, k := range arrived {
		m.arrive(m.tickets[k.ID], decimal.NewFromFloat(last))
	}
	if s.arrived {
		m.judge(s.symbol, decimal.NewFromFloat(last))
	}
	return m.entries
}

// better puts buyers that pay more and sellers that ask less first.
func better(x, y *ticket) int {
	if x.Side != y.Side {
		return int(x.Side) - int(y.Side)
	}
	if x.Side == order.Buy {
		return y.Price.Cmp(x.Price)
	}
	return x.Price.Cmp(y.Price)
}

// sooner puts the stops first that a move of the price reaches first.
func sooner(x, y *ticket) int {
	return cmp.Or(int(x.Side)-int(y.Side), int(x.Side.Sign())*x.StopPrice.Cmp(y.StopPrice))
}

// tear finds the pairs of which the way reaches both orders, at extremes whose order within
// the bar nobody knows. The open and the last price are certain.
func (m *matching) tear() {
	for _, stop := range m.orders {
		j := slices.IndexFunc(m.way.turns, func(p float64) bool { return stop.reached(decimal.NewFromFloat(p)) })
		if !stop.waits() || !m.way.guess(j) {
			continue
		}
		for _, target := range m.others(stop, stop.Group) {
			i := slices.IndexFunc(m.way.turns, func(p float64) bool { return target.through(decimal.NewFromFloat(p)) })
			if target.Side == stop.Side && !target.waits() && m.way.guess(i) {
				m.torn[stop.Group] = true
			}
		}
	}
}

// turn handles the price at one turn of the way.
func (m *matching) turn(i int) {
	price := decimal.NewFromFloat(m.way.turns[i])
	for _, k := range m.orders {
		if k.Type == order.Limit && !k.waits() && k.through(price) && !m.torn[k.Group] {
			m.rest(k)
		}
	}
	stops := slices.SortedStableFunc(slices.Values(m.orders), sooner)
	for _, k := range stops {
		if !k.Status.Final() && k.waits() && k.reached(price) {
			at := k.StopPrice
			if m.way.gap(i) {
				at = price
			}
			m.trigger(k, m.rests(k, at))
			m.take(k, at)
		}
	}
	if m.stake.ready {
		m.judge(m.stake.symbol, price)
	}
	for _, k := range stops {
		if best, ok := m.way.seen(k.Side, i); ok {
			m.follow(k, best)
		}
	}
}

// rest fills an order at its limit.
func (m *matching) rest(k *ticket) {
	if quantity := m.volume.draw(m.wants(k), k.Step); quantity.IsPositive() {
		m.trade(k, order.Fill{Quantity: quantity, Price: k.Price, Maker: true})
	}
}

// wants returns how much an order may still fill in this event.
func (m *matching) wants(k *ticket) decimal.Decimal {
	if k.Status.Final() {
		return decimal.Zero
	}
	return decimal.Max(decimal.Min(k.left(), m.room[k.ID]), decimal.Zero)
}

func (m *matching) trade(k *ticket, f order.Fill) {
	m.room[k.ID] = m.room[k.ID].Sub(f.Quantity)
	f.AmbiguousBar, f.Late = m.torn[k.Group], m.late
	m.fill(k, f)
}

// rests reports whether a limit order that is triggered at a price must wait for a better one.
func (m *matching) rests(k *ticket, at decimal.Decimal) bool {
	return k.Type == order.Limit && k.Price.Sub(m.against(k.Side, at, k.Tick)).Sign() == -int(k.Side.Sign())
}

// take fills an order that was triggered, at a price and the slippage.
func (m *matching) take(k *ticket, at decimal.Decimal) {
	wants, atOnce := m.wants(k), k.TimeInForce == order.IOC || k.TimeInForce == order.FOK
	switch {
	case !wants.IsPositive():
		return
	case m.rests(k, at):
		if atOnce {
			m.end(k, order.Expired, reasonAtOnce)
		}
		return
	case !m.volume.endless && !m.volume.left.IsPositive():
		return
	}
	price := m.against(k.Side, at, k.Tick)
	pays := m.affordable(k, price)
	rest := m.volume
	quantity := m.volume.draw(decimal.Min(wants, pays), k.Step)
	if k.TimeInForce == order.FOK && quantity.LessThan(k.left()) {
		m.volume = rest
		m.end(k, order.Expired, reasonVolume)
		return
	}
	if quantity.IsPositive() {
		m.trade(k, order.Fill{Quantity: quantity, Price: price})
	}
	switch {
	case k.Status.Final():
	case atOnce:
		m.end(k, order.Expired, reasonTheRest)
	case pays.LessThan(wants):
		m.end(k, order.Expired, reasonCash)
	}
}

// affordable returns how much of an order the account can pay for.
func (m *matching) affordable(k *ticket, price decimal.Decimal) decimal.Decimal {
	if k.Perp {
		return m.marginFor(k, price)
	}
	if k.Side == order.Sell {
		return k.left()
	}
	cash := m.freeCash(k.Currency).Add(m.need(k))
	if m.cost(k.left(), price, m.rates.Taker).LessThanOrEqual(cash) {
		return k.left()
	}
	unit := m.cost(decimal.NewFromInt(1), price, m.rates.Taker)
	quantity, _ := cash.QuoRem(unit, anyStep)
	return decimal.Max(quantity, decimal.Zero)
}

// arrive handles the last price for an order that did not see the way to it: as after a gap.
// A stop that is triggered fills at that price, whatever was traded since, as an order that
// comes then would.
func (m *matching) arrive(k *ticket, price decimal.Decimal) {
	m.reach(k, price, price)
}

// reach is arrive for a stop that one price triggers, and that trades at another.
func (m *matching) reach(k *ticket, price, at decimal.Decimal) {
	if k.Status.Final() || !k.waits() {
		return
	}
	if k.reached(price) {
		m.trigger(k, m.rests(k, at))
		m.room[k.ID], m.volume = k.left(), pool{endless: true}
		m.take(k, at)
		return
	}
	m.follow(k, price)
}

// follow moves the stop of an order that trails.
func (m *matching) follow(k *ticket, price decimal.Decimal) {
	if k.Status.Final() || !k.waits() {
		return
	}
	if stop, moved := k.follows(price); moved {
		m.do(entry{Amended: &amended{ID: k.ID, StopPrice: stop, Best: price}})
	}
}

// through reports whether a trade at a price is beyond the order's limit.
func (t *ticket) through(price decimal.Decimal) bool {
	if t.Side == order.Buy {
		return price.LessThan(t.Price)
	}
	return price.GreaterThan(t.Price)
}

// reached reports whether a price is at the order's stop price or beyond it.
func (t *ticket) reached(price decimal.Decimal) bool {
	if t.Side == order.Buy {
		return price.GreaterThanOrEqual(t.StopPrice)
	}
	return price.LessThanOrEqual(t.StopPrice)
}
