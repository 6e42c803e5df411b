package order

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Several deployments of strategies, and clients, may hold parts of one position. The book of a deployment is
// what the fills of its orders make. What no deployment holds is the position less all books, so that books and
// that rest are the account at any time.

// DeploymentBook is what the orders of a deployment made: what it holds, and what it earned.
type DeploymentBook struct {
	Deployment string     `json:"deployment"`
	Positions  []Position `json:"positions,omitempty"`   // by symbol, also those that are closed
	Trades     []Trade    `json:"trades,omitempty"`      // newest first; the last 500 of a symbol and those that late fills may change
	Since      time.Time  `json:"trades_since,omitzero"` // trades that were closed before it are forgotten
	Released   bool       `json:"released,omitempty"`    // its units belong to no deployment any more
	Currency   string     `json:"currency,omitempty"`    // of the price of the symbol that was asked for; "" when unknown
}

// Position returns what the book holds of a symbol.
func (d DeploymentBook) Position(s market.Symbol) Position {
	for _, p := range d.Positions {
		if p.Symbol == s {
			return p
		}
	}
	return Position{Symbol: s}
}

// Net returns what was earned after fees and funding in the currency of the price, and the fees in other assets.
func (p Position) Net(currency string) (decimal.Decimal, Fees) {
	beside := p.FeesBeside()
	return p.Realised.Sub(p.FeesWorth).Sub(p.Funding).Sub(beside[currency]), beside.add(currency, beside[currency].Neg())
}

// Bounds of what is kept.
const (
	keptBooks      = 100 // of deployments that hold nothing and have no open order, besides all others
	keptBookTrades = 500 // of a symbol in a book, besides those that late fills may change
)

// books are the books of deployments.
type books struct {
	in    map[market.Symbol]map[string]*track // by deployment
	freed map[string]bool                     // deployments whose units belong to none any more
}

func newBooks() books {
	return books{make(map[market.Symbol]map[string]*track), make(map[string]bool)}
}

func (k *books) clear() { clear(k.in) }

// DeploymentOf returns the deployment that an order belongs to: none after its book was released.
func (b *Book) DeploymentOf(o Order) string {
	if b.books.freed[o.Deployment] {
		return ""
	}
	return o.Deployment
}

// Of returns the book of a deployment, an empty one if none of its orders was filled.
func (b *Book) Of(deployment string) DeploymentBook {
	d := DeploymentBook{Deployment: deployment, Released: b.books.freed[deployment]}
	for _, of := range b.books.in {
		t := of[deployment]
		if t == nil {
			continue
		}
		d.Positions, d.Trades = append(d.Positions, t.position()), append(d.Trades, t.trades()...)
		if t.Since.After(d.Since) {
			d.Since = t.Since
		}
	}
	slices.SortFunc(d.Positions, func(x, y Position) int { return bySymbol(x.Symbol, y.Symbol) })
	slices.SortFunc(d.Trades, func(x, y Trade) int { return y.Mark().Compare(x.Mark()) })
	return d
}

// PositionOf returns what the book of a deployment holds of a symbol, without its trades.
func (b *Book) PositionOf(deployment string, s market.Symbol) Position {
	if t := b.books.in[s][deployment]; t != nil {
		return t.position()
	}
	return Position{Symbol: s}
}

// Deployments returns the deployments that have a book, by ID.
func (b *Book) Deployments() []string { return slices.Sorted(maps.Keys(b.books.ids())) }

func (k *books) ids() map[string]bool {
	ids := make(map[string]bool)
	for _, of := range k.in {
		for id := range of {
			ids[id] = true
		}
	}
	return ids
}

// Share is what one deployment holds of a symbol.
type Share struct {
	Deployment string
	Quantity   decimal.Decimal // negative when short
}

// Shares returns who holds what of a symbol, by deployment: those that hold something, and after them, with
// Deployment "", what none of them holds.
func (b *Book) Shares(s market.Symbol) []Share {
	h := b.holding(s)
	var shares []Share
	for _, id := range slices.Sorted(maps.Keys(h.books)) {
		if q := h.books[id]; !q.IsZero() {
			shares = append(shares, Share{id, q})
		}
	}
	if q := h.of(""); !q.IsZero() {
		shares = append(shares, Share{Quantity: q})
	}
	return shares
}

// Part returns what a deployment holds of a symbol, "" for what none holds. It is never more than the account
// has, nor on its other side: a sale elsewhere makes that less than the books.
func (b *Book) Part(s market.Symbol, deployment string) decimal.Decimal {
	h := b.holding(s)
	side := Buy
	if h.all.IsNegative() {
		side = Sell
	}
	return h.most(side, deployment).Mul(decimal.NewFromInt(side.Sign()))
}

// holding is what is held of a symbol, and by whom.
type holding struct {
	all   decimal.Decimal
	books map[string]decimal.Decimal // by deployment; nil if there are none
}

func (b *Book) holding(s market.Symbol) holding {
	h := holding{all: b.Position(s).Quantity}
	if of := b.books.in[s]; len(of) > 0 {
		h.books = make(map[string]decimal.Decimal, len(of))
		for id, t := range of {
			h.books[id] = t.position().Quantity
		}
	}
	return h
}

// of returns what a deployment holds, "" for what none holds.
func (h holding) of(deployment string) decimal.Decimal {
	if deployment != "" {
		return h.books[deployment]
	}
	left := h.all
	for _, q := range h.books {
		left = left.Sub(q)
	}
	return left
}

// most returns how much of a position of a side a deployment holds, at most what there is.
func (h holding) most(side Side, deployment string) decimal.Decimal {
	own := h.of(deployment)
	if h.all.Sign() != int(side.Sign()) || own.Sign() != int(side.Sign()) {
		return decimal.Zero
	}
	return decimal.Min(h.all.Abs(), own.Abs())
}

// trade changes what is held by a trade of a deployment.
func (h *holding) trade(deployment string, side Side, quantity decimal.Decimal) {
	signed := quantity.Mul(decimal.NewFromInt(side.Sign()))
	h.all = h.all.Add(signed)
	if deployment != "" {
		if h.books == nil {
			h.books = make(map[string]decimal.Decimal)
		}
		h.books[deployment] = h.books[deployment].Add(signed)
	}
}

// Uncovered is how much of a position no line is for.
type Uncovered struct {
	Own    decimal.Decimal // of what those hold who are meant
	Others decimal.Decimal // of the rest
}

// bare returns how much of what is held no line is for.
func (h holding) bare(lines []Line, deployment string) Uncovered {
	left := h.all.Abs()
	own := left
	if len(h.books) > 0 {
		own = decimal.Zero
		if part := h.of(deployment); part.Sign() == h.all.Sign() {
			own = part.Abs()
		}
	}
	for _, l := range lines {
		part := decimal.Max(l.Quantity, decimal.Zero)
		if left = left.Sub(part); len(h.books) == 0 || l.Deployment == deployment {
			own = own.Sub(part)
		}
	}
	left = decimal.Max(left, decimal.Zero)
	own = decimal.Max(decimal.Min(own, left), decimal.Zero)
	return Uncovered{own, left.Sub(own)}
}

// share adds a move of the account to the books that it is of: to that of the deployment whose order was
// filled. What the venue does to a position by itself, it does to every book that holds a part of it.
func (b *Book) share(s market.Symbol, deployment string, m move) {
	switch of := b.books.in[s]; {
	case m.forced():
		m.Forced = true
		for _, t := range of {
			t.addToBook(m)
		}
	case deployment != "":
		b.bookTrack(s, deployment).addToBook(m)
	}
}

// forced reports whether no order asked for a move of the account.
func (m *move) forced() bool { return !m.Funding.IsZero() || slices.Contains(Causes(), m.Reason) }

// ofBook returns the part of a forced move that concerns a book, and false if it holds nothing on that side.
func (m *move) ofBook(p Position) (*move, bool) {
	own := *m
	if !m.Funding.IsZero() {
		return &own, !p.Quantity.IsZero()
	}
	if p.Quantity.Sign() != -m.Quantity.Sign() {
		return nil, false
	}
	if held := p.Quantity.Abs(); held.LessThan(m.Quantity.Abs()) {
		own.Quantity, own.Fee = p.Quantity.Neg(), proportion(m.Fee, held, m.Quantity.Abs())
	}
	return &own, true
}

// bookTrack returns the track of a deployment in a symbol. A new one gets what the venue did by itself so far: the
// fills of the deployment may be reported later.
func (b *Book) bookTrack(s market.Symbol, deployment string) *track {
	if t := b.books.in[s][deployment]; t != nil {
		return t
	}
	b.dropBooks()
	t := &track{Base: Position{Symbol: s}, now: Position{Symbol: s}, summed: Position{Symbol: s}}
	for _, m := range b.track(s).Recent {
		if m.forced() {
			m.Forced = true
			t.addToBook(m)
		}
	}
	if b.books.in[s] == nil {
		b.books.in[s] = make(map[string]*track)
	}
	b.books.in[s][deployment] = t
	return t
}

// addToBook adds a move and bounds the trades that no fill changes any more.
func (t *track) addToBook(m move) {
	if !t.add(m) || len(t.Past.Trades) <= keptBookTrades {
		return
	}
	forgotten := t.Past.Trades[:len(t.Past.Trades)-keptBookTrades]
	for _, one := range forgotten {
		if one.Closed.After(t.Since) {
			t.Since = one.Closed
		}
	}
	t.Past.Trades = slices.Clone(t.Past.Trades[len(forgotten):])
}

// dropBooks forgets the oldest books of deployments that hold nothing and have no open order, if there are too
// many.
func (b *Book) dropBooks() {
	updated := make(map[string]time.Time)
	for id := range b.books.ids() {
		updated[id] = b.Of(id).updated()
	}
	if len(updated) < keptBooks {
		return
	}
	for id := range b.awaited() {
		delete(updated, id)
	}
	for _, of := range b.books.in {
		for id, t := range of {
			if !t.position().Quantity.IsZero() {
				delete(updated, id)
			}
		}
	}
	oldest := slices.SortedFunc(maps.Keys(updated), func(x, y string) int {
		return cmp.Or(updated[x].Compare(updated[y]), strings.Compare(x, y))
	})
	for _, id := range oldest[:min(len(oldest), len(b.books.ids())-keptBooks+1)] {
		for _, of := range b.books.in {
			delete(of, id)
		}
		delete(b.books.freed, id)
	}
	maps.DeleteFunc(b.books.in, func(_ market.Symbol, of map[string]*track) bool { return len(of) == 0 })
}

// awaited returns the deployments that have orders of which fills may come.
func (b *Book) awaited() map[string]bool {
	ids := make(map[string]bool)
	for _, m := range b.open {
		ids[b.orders[m.ID].Deployment] = true
	}
	for id := range b.unreported {
		ids[b.orders[id].Deployment] = true
	}
	return ids
}

func (d DeploymentBook) updated() (newest time.Time) {
	for _, p := range d.Positions {
		if p.Updated.After(newest) {
			newest = p.Updated
		}
	}
	return newest
}

// Assignment says that units pass between the book of a deployment and what no deployment holds, without a
// trade.
type Assignment struct {
	Deployment string          `json:"deployment"`
	Symbol     market.Symbol   `json:"symbol,omitzero"`
	Quantity   decimal.Decimal `json:"quantity,omitzero"` // signed, of the book; it counts there as a trade at Price
	Price      decimal.Decimal `json:"price,omitzero"`
	Released   bool            `json:"released,omitempty"` // all that it holds, its lines and its open orders belong to no deployment from now on
}

// check returns an error if the assignment cannot be recorded.
func (a *Assignment) check() error {
	if a == nil || a.Deployment == "" || a.Released != a.Symbol.IsZero() || a.Released != a.Quantity.IsZero() || !within(maxFactDigits, a.Quantity, a.Price) {
		return fmt.Errorf("assignment without a deployment, or with neither or both of a quantity in a symbol and released: %w", ErrMalformed)
	}
	return nil
}

// assign applies an assignment.
func (b *Book) assign(e Event) {
	a := *e.Assignment
	if a.Released {
		b.release(a.Deployment, e.At)
		return
	}
	t := b.bookTrack(a.Symbol, a.Deployment)
	held := t.position()
	b.reassign(t, e.At, a.Quantity, a.Price)
	if held.Quantity.Sign() == -a.Quantity.Sign() {
		b.shorten(a.Symbol, "", a.Deployment, held.Side(), decimal.Min(a.Quantity.Abs(), held.Quantity.Abs()))
	}
	b.tidy(a.Symbol)
}

// reassign changes the track of a book without a trade of the account. It comes after every trade so far: its key is
// above those of trades of the same moment.
func (b *Book) reassign(t *track, at time.Time, quantity, price decimal.Decimal) {
	b.adjusted++
	if newest := t.position().Updated; newest.After(at) { // by the venue's clock
		at = newest
	}
	t.addToBook(move{At: at, Key: fmt.Sprintf("~assigned/%09d", b.adjusted), Quantity: quantity, Price: price, Reason: ByAdjustment})
}

// release empties the book of a deployment without a profit or loss.
func (b *Book) release(deployment string, at time.Time) {
	for _, s := range slices.SortedFunc(maps.Keys(b.books.in), bySymbol) {
		if t := b.books.in[s][deployment]; t != nil {
			if cost, open := t.position().Average(); open {
				b.reassign(t, at, t.position().Quantity.Neg(), cost)
			}
		}
	}
	for _, lines := range b.plans {
		for i := range lines {
			if lines[i].Deployment == deployment {
				lines[i].Deployment = ""
			}
		}
	}
	known, awaited := b.books.ids(), b.awaited()
	maps.DeleteFunc(b.books.freed, func(id string, _ bool) bool { return !known[id] && !awaited[id] })
	b.books.freed[deployment] = true
}

// bookTrack is the stored form of the track of a deployment in a symbol.
type bookTrack struct {
	Deployment string `json:"deployment"`
	track
}

func (k *books) toJSON() []bookTrack {
	var all []bookTrack
	for _, of := range k.in {
		for id, t := range of {
			all = append(all, bookTrack{id, *t})
		}
	}
	slices.SortFunc(all, func(x, y bookTrack) int {
		return cmp.Or(strings.Compare(x.Deployment, y.Deployment), bySymbol(x.Base.Symbol, y.Base.Symbol))
	})
	return all
}

func (k *books) released() []string { return slices.Sorted(maps.Keys(k.freed)) }

func readBooks(tracks []bookTrack, released []string) books {
	k := newBooks()
	for _, one := range tracks {
		t := one.track
		t.again()
		s := t.Base.Symbol
		if k.in[s] == nil {
			k.in[s] = make(map[string]*track)
		}
		k.in[s][one.Deployment] = &t
	}
	for _, id := range released {
		k.freed[id] = true
	}
	return k
}

// IsDeploymentKey reports whether an idempotency key has the form of those with which deployments place orders: the
// keys of clients do not, so that no client can use one up before its time.
func IsDeploymentKey(key string) bool {
	digits, ok := strings.CutPrefix(key, "s1-")
	return ok && len(digits) == deploymentKeyDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

const deploymentKeyDigits = 40
