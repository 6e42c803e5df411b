package brokertest

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Manner is how Memory handles the orders of a group. In each, legs are held until their
// entry is filled completely, the cancel of one order is that of its group, and a stop that
// is reached ends its target.
type Manner uint8

const (
	// LikeBinance expires the stop as soon as its target is filled in part. The answer to
	// a group shows the legs as they were before anything was filled.
	LikeBinance Manner = iota
	// LikeAlpaca makes up the IDs of legs; only the answers to SubmitGroup and Query have
	// ours. It makes a stop smaller as its target is filled.
	LikeAlpaca
	// Plain takes market and limit orders alone, as Alpaca does for parts of a share.
	Plain
)

// Behave sets the manner. Call it before the first order.
func (m *Memory) Behave(manner Manner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.manner = manner
}

// Expire ends an order as a venue does by itself, and the group that waits for it.
func (m *Memory) Expire(id, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.find(id); r != nil {
		m.end(r, order.Expired, reason)
	}
}

// Capabilities returns what Manner says.
func (m *Memory) Capabilities(context.Context, market.Symbol) (order.Capabilities, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.manner == Plain {
		return order.Capabilities{Times: []order.TimeInForce{order.GTC, order.IOC, order.FOK}}, nil
	}
	can := order.Capabilities{
		Stops: true, StopLimits: true, Times: []order.TimeInForce{order.GTC, order.IOC, order.FOK}, Pairs: true, OneLeg: true, TwoLegs: true,
		MarketEntry: m.manner == LikeAlpaca, CancelEndsGroup: true, Children: m.links != 0, Void: m.void,
	}
	if m.can != nil {
		m.can(&can)
	}
	return can, nil
}

// SubmitGroup takes an entry with its legs or a pair, unless a fault says otherwise.
func (m *Memory) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	return change(ctx, m, func() ([]order.Report, error) { return m.checkedGroup(orders) })
}

// checkedGroup accepts the orders of a group, or none of them.
func (m *Memory) checkedGroup(orders []order.Spec) ([]order.Report, error) {
	for i, o := range orders {
		if o.ID == "" || o.Group.Name != orders[0].ID || o.Group.Leg != (i > 0 && orders[0].Role == order.Entry) {
			return nil, fmt.Errorf("memory: %w: %+v is no order of a group", broker.ErrRejected, o)
		}
		if i == 0 || !o.Group.Leg {
			if err := m.check(o); err != nil {
				return nil, err
			}
		}
	}
	return m.takeGroup(orders), nil
}

// takeGroup accepts the orders of a group; the first works last, when the others are there.
func (m *Memory) takeGroup(orders []order.Spec) []order.Report {
	taken := make([]*order.Report, 0, len(orders))
	for _, o := range orders {
		r := &order.Report{Spec: o, VenueID: m.id(), Status: order.Accepted, At: time.Now()}
		r.Owner = ""
		if o.Group.Leg {
			r.Status = order.Held
		}
		m.orders = append(m.orders, r)
		taken = append(taken, r)
		m.publish(*r)
	}
	answers := make([]order.Report, len(taken))
	for i, r := range taken {
		answers[i] = *r
	}
	m.work(taken[0], m.price)
	answers[0] = m.answer(taken[0])
	return answers
}

// work fills an order that the price has reached, at another price if it is a limit order
// without a stop.
func (m *Memory) work(r *order.Report, limit decimal.Decimal) {
	if !open(r.Status) || r.Linked != "" {
		return
	}
	if r.StopPrice.IsPositive() && r.Triggered.IsZero() {
		if !m.stopReached(r.Spec) {
			return
		}
		r.Triggered = time.Now()
		r.At = r.Triggered
		if m.links != 0 {
			m.endOthers(r, order.Expired, "OCO_TRIGGER")
			m.makeChild(r)
			return
		}
		m.publish(*r)
		m.endOthers(r, order.Expired, "OCO_TRIGGER")
	}
	if !m.reached(r.Spec) {
		return
	}
	if r.Type == order.Market {
		limit = m.price
	}
	m.fill(r, r.Quantity.Sub(r.Filled), limit)
}

// stopReached reports whether the price is at or beyond a stop price.
func (m *Memory) stopReached(o order.Spec) bool {
	if o.Side == order.Buy {
		return m.price.GreaterThanOrEqual(o.StopPrice)
	}
	return m.price.LessThanOrEqual(o.StopPrice)
}

// filled applies what a fill does to the others of a group.
func (m *Memory) filled(r *order.Report, quantity decimal.Decimal) {
	switch {
	case r.Group.Name == "":
	case r.Role == order.Entry:
		if r.Status == order.Filled {
			m.activate(r)
		}
	case m.manner == LikeBinance || r.Status == order.Filled:
		m.endOthers(r, order.Expired, "OCO_TRIGGER")
	default:
		m.shrinkOthers(r, quantity)
	}
}

// activate lets the legs of a filled entry work, for what it brought.
func (m *Memory) activate(entry *order.Report) {
	legs := m.others(entry)
	for _, leg := range legs {
		if m.inBase && entry.Side == order.Buy {
			leg.Quantity = entry.Filled.Mul(decimal.New(999, -3)).Truncate(5)
		}
		leg.Status, leg.At = order.Accepted, time.Now()
		m.publish(*leg)
	}
	for _, leg := range legs {
		m.work(leg, leg.Price)
	}
}

// others returns the open and held orders of the group beside one.
func (m *Memory) others(r *order.Report) []*order.Report {
	var found []*order.Report
	for _, other := range m.orders {
		if other != r && other.Group.Name != "" && other.Group.Name == r.Group.Name && (open(other.Status) || other.Status == order.Held) {
			found = append(found, other)
		}
	}
	return found
}

func (m *Memory) endOthers(r *order.Report, s order.Status, reason string) {
	for _, other := range m.others(r) {
		other.Status, other.Reason, other.At = s, reason, time.Now()
		m.publish(*other)
	}
}

func (m *Memory) shrinkOthers(r *order.Report, quantity decimal.Decimal) {
	for _, other := range m.others(r) {
		other.Quantity, other.At = other.Quantity.Sub(quantity), time.Now()
		m.publish(*other)
	}
}

// end ends an order that is open or held, and the others of its group.
func (m *Memory) end(r *order.Report, s order.Status, reason string) {
	if !open(r.Status) && r.Status != order.Held {
		return
	}
	r.Status, r.Reason, r.At = s, reason, time.Now()
	m.publish(*r)
	m.endOthers(r, s, reason)
}

// unnamed reports whether the venue makes up the ID of an order.
func (m *Memory) unnamed(o order.Spec) bool {
	return m.manner == LikeAlpaca && o.Group.Name != "" && o.Group.Name != o.ID
}

// shown returns a report as a stream or list has it.
func (m *Memory) shown(r order.Report) order.Report {
	if m.unnamed(r.Spec) {
		r.ID, r.Group = "", order.Group{}
	}
	return r
}

// names reports whether a handle names an order.
func (m *Memory) names(h order.Handle, r order.Report) bool {
	if h.VenueID == "" && m.unnamed(r.Spec) {
		return h.Group.Name == r.Group.Name && h.Role == r.Role
	}
	return h.Names(r)
}

// available returns what no resting order holds. The orders of a pair hold it once.
func (m *Memory) available(asset string) decimal.Decimal {
	free := m.balance[asset]
	claims := make(map[string]decimal.Decimal)
	for _, r := range m.orders {
		left := r.Quantity.Sub(r.Filled)
		switch {
		case !open(r.Status), r.Linked != "":
		case r.Side == order.Sell && asset == "BTC":
			group := r.Group.Name
			if group == "" {
				group = r.VenueID
			}
			claims[group] = decimal.Max(claims[group], left)
		case r.Side == order.Buy && asset == "USDT":
			free = free.Sub(left.Mul(r.Price))
		}
	}
	for _, left := range claims {
		free = free.Sub(left)
	}
	return free
}
