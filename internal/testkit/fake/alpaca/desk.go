package alpaca

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake/tape"
	"candela/lib/market"
)

// desk is the trading side of the venue: the accounts, their orders and what
// fills them. Its lock guards everything below it.
type desk struct {
	server *Server

	mu       sync.Mutex
	accounts map[string]*account
	random   *rand.Rand
	last     time.Time // of the newest execution; no two have one millisecond
	looked   int64     // the second in which the orders were last looked at
	lag      time.Duration
	always   bool // stocks trade around the clock
	quotes   map[string]quote
	seen     map[string]seen
	hours    map[hoursOf]hours
	watches  []watch

	// How the venue behaves, see control.
	cancelDelay time.Duration // of cancels, which are pending for so long
	letGo       time.Duration // after which what a canceled order claimed is free
	rejects     string        // the role of legs that are rejected when their entry is filled
	flat        bool          // an entry with legs needs an account without the symbol
}

// hoursOf is what the hours of an order depend on.
type hoursOf struct{ pair, extended bool }

// hours is a session, and from when on it was the present or the next one.
type hours struct {
	from int64
	market.Span
}

// quote is the national best bid and offer.
type quote struct{ bid, ask decimal.Decimal }

// seen is a quote of the tape, which moves every few seconds.
type seen struct {
	at int64
	quote
}

// account is one customer's money, orders and trades.
type account struct {
	id     string
	cash   decimal.Decimal
	orders []*ticket // oldest first
	held   map[string]*position
	trades []execution
	events []event
	wake   map[*listener]struct{}
}

// position is what an account holds of a symbol. Of a short both are negative.
type position struct{ quantity, cost decimal.Decimal }

// closing is the side that makes a position smaller.
func (p *position) closing() string {
	if p.quantity.IsNegative() {
		return "buy"
	}
	return "sell"
}

// execution is one trade of an order.
type execution struct {
	id       string // unique; the history calls it by the time and this
	order    *ticket
	kind     string // fill or partial_fill
	quantity decimal.Decimal
	price    decimal.Decimal
	sofar    decimal.Decimal
	at       time.Time
}

func newDesk(s *Server) *desk {
	d := &desk{
		server: s, accounts: make(map[string]*account), quotes: make(map[string]quote), seen: make(map[string]seen), hours: make(map[hoursOf]hours),
		random: rand.New(rand.NewPCG(s.config.Seed, 0xa1)), //nolint:gosec // a seeded fake
	}
	d.open()
	return d
}

// open resets the accounts.
func (d *desk) open() {
	for _, key := range []string{KeyID, PaidKeyID} {
		d.accounts[key] = &account{id: d.uuid(), cash: decimal.NewFromInt(startCash), held: make(map[string]*position), wake: make(map[*listener]struct{})}
	}
}

// startCash is what a paper account begins with.
const startCash = 100_000

// uuid makes up an id.
func (d *desk) uuid() string {
	a, b := d.random.Uint64(), d.random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}

func (d *desk) now() time.Time { return d.server.config.Now().UTC() }

// stamp returns the time of an execution.
func (d *desk) stamp() time.Time {
	now := d.now()
	if next := d.last.Add(time.Millisecond); now.Before(next) && !d.server.config.Crowded {
		now = next
	}
	d.last = now
	return now
}

// quoteAt returns the best prices at a time: those that were set, or a tick around
// the price of the tape.
func (d *desk) quoteAt(symbol string, at int64) quote {
	if q, ok := d.quotes[symbol]; ok {
		return q
	}
	at -= at % 4 // which is how often the tape moves
	if s, ok := d.seen[symbol]; ok && s.at == at {
		return s.quote
	}
	st := d.server.list[symbol]
	tick := decimal.New(1, -int32(st.tape.Digits)) //nolint:gosec // a few
	price := decimal.RequireFromString(strconv.FormatFloat(st.tape.Price(at), 'f', st.tape.Digits, 64))
	q := quote{price.Sub(tick), price.Add(tick)}
	d.seen[symbol] = seen{at, q}
	return q
}

// session returns the hours in which an order trades: those that run at a time, or
// the next ones.
func (d *desk) session(t *ticket, at int64) market.Span {
	st := d.server.list[t.symbol]
	key := hoursOf{st.class == crypto || d.always, t.extended}
	if h, ok := d.hours[key]; ok && h.from <= at && at < h.Close {
		return h.Span
	}
	calendar := st.day.Calendar
	switch {
	case key.pair:
		calendar = market.Calendar{}
	case t.extended:
		calendar = st.tape.Calendar
	}
	span, ok := calendar.Bucket(market.Day1, at)
	for !ok || !key.pair && tape.Holiday(time.Unix(span.Open, 0).In(calendar.Zone())) {
		span, ok = calendar.Next(market.Day1, max(at, span.Open)), true
	}
	d.hours[key] = hours{at, span}
	return span
}

// advance lets time pass: orders that waited for the session are released, those
// that became marketable are filled, those whose day is over expire.
func (d *desk) advance() {
	now := d.now()
	if now.Unix() == d.looked { // prices have not moved
		return
	}
	d.looked = now.Unix()
	for _, a := range d.accounts {
		for _, t := range a.orders {
			if t.open() {
				d.step(a, t, now)
			}
		}
	}
}

func (d *desk) step(a *account, t *ticket, now time.Time) {
	if !t.cancelAt.IsZero() && !now.Before(t.cancelAt) {
		d.end(a, t, "canceled")
		return
	}
	if t.next != nil && !now.Before(t.replaceAt) {
		d.swap(a, t)
		return
	}
	if t.dormant {
		return
	}
	if t.status == "accepted" {
		span := d.session(t, t.created.Unix())
		if now.Unix() < span.Open {
			return
		}
		d.release(a, t)
		// Nobody may have looked since the open.
		d.look(a, t, d.quoteAt(t.symbol, max(span.Open, t.created.Unix())))
	}
	if t.open() && t.until != 0 && now.Unix() >= t.until {
		d.end(a, t, "expired")
		return
	}
	if d.session(t, now.Unix()).Holds(now.Unix()) {
		d.look(a, t, d.quoteAt(t.symbol, now.Unix()))
	}
}

// expiry is the end of the session of an order, 0 for none.
func (d *desk) expiry(t *ticket) int64 {
	if t.class == crypto || t.force == "gtc" {
		return 0
	}
	return d.session(t, t.created.Unix()).Close
}

// release hands an order on to the exchanges.
func (d *desk) release(a *account, t *ticket) {
	t.until = d.expiry(t)
	d.change(a, t, "new", "new")
}

// execute makes a trade, which the group of the order follows.
func (d *desk) execute(a *account, t *ticket, size, price decimal.Decimal) {
	d.fill(a, t, size, price)
	d.settle(a, t)
}

// fill makes a trade.
func (d *desk) fill(a *account, t *ticket, size, price decimal.Decimal) {
	t.filled, t.spent = t.filled.Add(size), t.spent.Add(size.Mul(price))
	e := execution{id: d.uuid(), order: t, kind: "partial_fill", quantity: size, price: price, sofar: t.filled, at: d.stamp()}
	signed := size
	if t.side == "sell" {
		signed = size.Neg()
	}
	a.cash = a.cash.Sub(signed.Mul(price))
	a.hold(t.symbol, signed, price)
	a.trades = append(a.trades, e)
	status := t.status
	if status == "new" || status == "held" {
		status = "partially_filled"
	}
	if t.left().IsZero() {
		e.kind, status = "fill", "filled"
		a.trades[len(a.trades)-1].kind = e.kind
		t.ended["filled_at"] = e.at
	}
	t.status, t.updated = status, e.at
	d.publish(a, t, e.kind, &e)
}

// hold changes a position.
func (a *account) hold(symbol string, signed, price decimal.Decimal) {
	p := a.held[symbol]
	if p == nil {
		p = &position{}
		a.held[symbol] = p
	}
	if p.quantity.Sign()*signed.Sign() >= 0 {
		p.cost = p.cost.Add(signed.Mul(price))
	} else {
		p.cost = p.cost.Mul(p.quantity.Add(signed)).Div(p.quantity)
	}
	if p.quantity = p.quantity.Add(signed); p.quantity.IsZero() {
		delete(a.held, symbol)
	}
}

// change moves an order on and reports it.
func (d *desk) change(a *account, t *ticket, status, event string) {
	t.status, t.updated = status, d.now()
	d.publish(a, t, event, nil)
}

// take fills an order out of turn, one with a trigger as if it had been reached.
func (d *desk) take(a *account, t *ticket, size decimal.Decimal) {
	if t.waits() {
		d.trigger(a, t)
	}
	d.execute(a, t, decimal.Min(size, t.left()), d.fair(t))
}

// fair is a price at which an order may be filled out of turn.
func (d *desk) fair(t *ticket) decimal.Decimal {
	switch q := d.quoteAt(t.symbol, d.now().Unix()); {
	case t.priced():
		return t.limit
	case t.stop.IsPositive():
		return t.stop
	case t.side == "sell":
		return q.bid
	default:
		return q.ask
	}
}

// touch makes open orders look changed, as one with another state has.
func (d *desk) touch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.accounts {
		for _, t := range a.orders {
			if t.open() {
				t.updated = d.now()
			}
		}
	}
}

// crypto is the class of pairs.
const crypto = "crypto"

// listed returns the name under which a symbol is listed: pairs are known without
// their slash, too.
func (s *Server) listed(symbol string) (string, bool) {
	if _, ok := s.list[symbol]; ok {
		return symbol, true
	}
	for name, st := range s.list {
		if st.class == crypto && strings.ReplaceAll(name, "/", "") == symbol {
			return name, true
		}
	}
	return "", false
}
