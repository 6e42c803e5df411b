package order

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Position is the result of the trades in one symbol. Quantity is without the fees that the
// venue took from it: such a fee counts as a sale at the price of its trade, whose proceeds,
// FeesWorth, pay the fee. For every mark and after every trade, exactly and without rounding,
//
//	Realised + Unrealised(mark) - FeesWorth = Cash + Quantity x mark
//
// because Realised is kept as Cash + Cost + FeesWorth. Cash, the sum of proceeds and payments,
// needs no division, and Unrealised uses the same Cost. What was bought less what was sold is
// Quantity + FeesInBase. Fees in other assets are in neither.
//
// A trade that reduces a position takes the same part of Cost with it, which is the only
// division. The remaining Cost is rounded to at least 18 decimals and the remainder goes
// to Realised, so nothing is lost: a closed position has a Cost of exactly zero.
type Position struct {
	Symbol   market.Symbol   `json:"symbol"`
	Quantity decimal.Decimal `json:"quantity"` // negative when short
	Cost     decimal.Decimal `json:"cost"`     // signed cost of Quantity: paid, or negative, received
	Realised decimal.Decimal `json:"realised"` // in the quote currency, before fees
	Fees     Fees            `json:"fees,omitempty"`
	Updated  time.Time       `json:"updated,omitzero"` // of the newest trade

	Base       string          `json:"base_asset,omitempty"`  // asset of Quantity; "" until a fee is taken in it
	FeesInBase decimal.Decimal `json:"fees_in_base,omitzero"` // the part of Fees that left Quantity
	FeesWorth  decimal.Decimal `json:"fees_worth,omitzero"`   // of FeesInBase in the quote currency, at the prices of the trades
	Earlier    Sums            `json:"earlier,omitzero"`      // when Quantity was last zero

	Funding decimal.Decimal `json:"funding,omitzero"` // paid in the currency of the price; negative when received
	Funded  time.Time       `json:"funded,omitzero"`  // of the newest payment

	Opened  time.Time `json:"opened,omitzero"`  // of the first trade since Quantity was last zero
	Carried Charges   `json:"carried,omitzero"` // of the trades that opened it and for holding it, as far as no [Trade] bears them
}

// Sums are the figures of a position that its trades add to.
type Sums struct {
	Realised   decimal.Decimal `json:"realised,omitzero"`
	Fees       Fees            `json:"fees,omitempty"`
	FeesInBase decimal.Decimal `json:"fees_in_base,omitzero"`
	FeesWorth  decimal.Decimal `json:"fees_worth,omitzero"`
}

func (p Position) sums() Sums {
	return Sums{Realised: p.Realised, Fees: p.Fees, FeesInBase: p.FeesInBase, FeesWorth: p.FeesWorth}
}

// Current returns the figures since Quantity was last zero.
func (p Position) Current() Sums {
	s, was := p.sums(), p.Earlier
	for asset, fee := range was.Fees {
		s.Fees = s.Fees.add(asset, fee.Neg())
	}
	return Sums{Realised: s.Realised.Sub(was.Realised), Fees: s.Fees, FeesInBase: s.FeesInBase.Sub(was.FeesInBase), FeesWorth: s.FeesWorth.Sub(was.FeesWorth)}
}

// Side returns Buy for a long position, Sell for a short one and 0 for none.
func (p Position) Side() Side {
	switch p.Quantity.Sign() {
	case 1:
		return Buy
	case -1:
		return Sell
	default:
		return 0
	}
}

// Average returns the average entry price, and false without a position. It may be
// rounded and is for display only.
func (p Position) Average() (decimal.Decimal, bool) {
	if p.Quantity.IsZero() {
		return decimal.Decimal{}, false
	}
	return quotient(p.Cost, p.Quantity), true
}

// Cash returns the proceeds of the trades less their cost.
func (p Position) Cash() decimal.Decimal { return p.Realised.Sub(p.Cost).Sub(p.FeesWorth) }

// Unrealised returns what closing the position at mark would add to Realised.
func (p Position) Unrealised(mark decimal.Decimal) decimal.Decimal {
	return p.Quantity.Mul(mark).Sub(p.Cost)
}

// Held returns Quantity, which is without the fees taken from it.
func (p Position) Held(string) decimal.Decimal { return p.Quantity }

// FeesBeside returns the fees that did not leave Quantity, by asset.
func (p Position) FeesBeside() Fees { return p.Fees.add(p.Base, p.FeesInBase.Neg()) }

// Trade returns the position after a trade of a signed quantity. A trade beyond zero
// closes the position and opens one on the other side.
func (p Position) Trade(quantity, price decimal.Decimal) Position {
	paid := quantity.Mul(price)
	after := p.Quantity.Add(quantity)
	var cost decimal.Decimal
	switch before := p.Quantity.Sign(); {
	case before == 0 || before == quantity.Sign():
		cost = p.Cost.Add(paid)
	case after.Sign() == before:
		cost = proportion(p.Cost, after, p.Quantity)
	default:
		cost = after.Mul(price)
	}
	// Cash falls by what was paid, and Realised is Cash + Cost + FeesWorth.
	p.Realised = p.Realised.Sub(p.Cost).Sub(paid).Add(cost)
	p.Quantity, p.Cost = after, cost
	return p
}

// move is a change of a position.
type move struct {
	At       time.Time       `json:"at"`
	Key      string          `json:"key"` // orders moves at the same time
	Quantity decimal.Decimal `json:"quantity"`
	Price    decimal.Decimal `json:"price"`
	Fee      decimal.Decimal `json:"fee,omitzero"`
	Asset    string          `json:"asset,omitempty"`
	InBase   bool            `json:"in_base,omitempty"` // Asset is what is traded
	Order    string          `json:"order,omitempty"`
	Reason   string          `json:"reason,omitempty"` // of a trade that it makes
	Funding  decimal.Decimal `json:"funding,omitzero"` // of a payment, which trades nothing
	Forced   bool            `json:"forced,omitempty"` // in the book of a deployment: it is of the account, and counts as far as the book holds something then
}

// moveOf returns the move of a fill.
func moveOf(f Fill) move {
	return move{
		At: f.At, Key: f.Key(), Quantity: f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign())), Price: f.Price, Fee: f.Fee, Asset: f.FeeAsset,
		InBase: !f.FeeInBase().IsZero(),
	}
}

// trackMoves is how many newest moves can be reordered; older trades count just before.
const trackMoves = 512

// track is a position with its newest moves. Realised profit depends on the order of the
// trades, and fills may be reported in any order, so moves are applied by time.
type track struct {
	Base    Position  `json:"base"`             // without Recent
	Past    earned    `json:"past,omitzero"`    // by the moves in Base
	Recent  []move    `json:"recent,omitempty"` // by time and key
	Since   time.Time `json:"since,omitzero"`   // of the book of a deployment: trades that were closed before it are forgotten
	now     Position  // Base and the first count moves of Recent
	count   int       // 0 after a late move; position applies the rest
	summed  Position  // Base and the first counted moves of Recent
	counted int
	newer   earned // by these; what was earned is asked for less often than the position
}

// add adds a move and reports whether older ones were folded.
func (t *track) add(m move) (folded bool) {
	at, _ := slices.BinarySearchFunc(t.Recent, m, byTime)
	t.Recent = slices.Insert(t.Recent, at, m)
	if at < max(t.count, t.counted) {
		t.again()
	}
	// Half are folded at once, so that folding is rare.
	if folded = len(t.Recent) >= 2*trackMoves; folded {
		t.Base = fold(t.Base, t.Recent[:trackMoves], &t.Past)
		t.Recent = slices.Clone(t.Recent[trackMoves:])
		t.again()
	}
	return folded
}

// byTime orders moves by time, and those of one moment by key: a payment is of what was held before.
func byTime(a, b move) int {
	payments := cmp.Compare(b.Funding.Abs().Sign(), a.Funding.Abs().Sign())
	return cmp.Or(a.At.Compare(b.At), payments, cmp.Compare(a.Key, b.Key))
}

// again has position apply all of Recent.
func (t *track) again() {
	t.now, t.count = t.Base, 0
	t.summed, t.counted, t.newer = t.Base, 0, earned{}
}

// position returns the position after all moves.
func (t *track) position() Position {
	t.now, t.count = fold(t.now, t.Recent[t.count:], nil), len(t.Recent)
	return t.now
}

// earned returns what Recent earned.
func (t *track) earned() *earned {
	t.summed, t.counted = fold(t.summed, t.Recent[t.counted:], &t.newer), len(t.Recent)
	return &t.newer
}

// fold applies moves and collects what they earned, unless e is nil.
func fold(p Position, moves []move, e *earned) Position {
	for i := range moves {
		after, closed := moves[i].apply(p)
		if e != nil {
			e.add(moves[i].At, p, after, closed)
		}
		p = after
	}
	return p
}

// Charges returns the fees of all trades of the position.
func (p Position) Charges() Charges { return Charges{Fees: p.FeesBeside(), Worth: p.FeesWorth} }

// apply returns the position after a move, and what it took out of the position before.
func (m *move) apply(p Position) (Position, *Trade) {
	if m.Forced {
		own, ok := m.ofBook(p)
		if !ok {
			return p, nil
		}
		m = own
	}
	if !m.Funding.IsZero() {
		p.Funding, p.Funded = p.Funding.Add(m.Funding), m.At
		p.Carried = p.Carried.add(Charges{Funding: m.Funding}) // one that comes after the close is borne by the next trade
		return p, nil
	}
	p = p.regain(m.Quantity)
	before, net, paid := p, m.Quantity, Charges{Fees: Fees(nil).add(m.Asset, m.Fee)}
	if m.InBase {
		// It leaves a long position, at most all of it; the account pays the rest from elsewhere.
		taken := decimal.Min(m.Fee, decimal.Max(p.Quantity.Add(m.Quantity), decimal.Zero))
		net = net.Sub(taken)
		paid = Charges{Fees: paid.Fees.add(m.Asset, taken.Neg()), Worth: taken.Mul(m.Price)}
		p.Base, p.FeesInBase = m.Asset, p.FeesInBase.Add(taken)
	}
	p = p.turn(net, m.Price)
	p.Fees, p.FeesWorth = p.Fees.add(m.Asset, m.Fee), p.FeesWorth.Add(paid.Worth)
	closed := p.settle(before, net, paid, m)
	if p.Quantity.IsZero() {
		p.Earlier = p.sums()
	}
	if m.At.After(p.Updated) {
		p.Updated = m.At
	}
	return p, closed
}

// settle divides what was paid between the position that a move of a net quantity left and the
// trade that it made.
func (p *Position) settle(before Position, net decimal.Decimal, paid Charges, m *move) *Trade {
	side := before.Quantity.Sign()
	if side == 0 {
		p.Opened = m.At
	}
	if side == 0 || side*net.Sign() >= 0 {
		p.Carried = p.Carried.add(paid)
		return nil
	}
	t := &Trade{
		Symbol: p.Symbol, Side: before.Side(), Quantity: decimal.Min(net.Abs(), before.Quantity.Abs()), Realised: p.Realised.Sub(before.Realised),
		Opened: before.Opened, Closed: m.At, OrderID: m.Order, Reason: cmp.Or(m.Reason, ByOthers), Key: m.Key,
	}
	t.Proceeds = t.Quantity.Mul(m.Price)
	switch p.Quantity.Sign() {
	case side:
		t.Paid = p.Carried.share(t.Quantity, before.Quantity.Abs())
		p.Carried = p.Carried.sub(t.Paid)
		t.Paid = t.Paid.add(paid)
	case 0:
		t.Paid, p.Carried, p.Opened = p.Carried.add(paid), Charges{}, time.Time{}
	default: // the fee belongs to the position on the other side
		t.Paid, p.Carried, p.Opened = p.Carried, paid, m.At
	}
	return t
}

// turn is Trade that notes the figures of a position that it closes when it opens another, to
// which the fee of the trade then belongs.
func (p Position) turn(quantity, price decimal.Decimal) Position {
	if rest := p.Quantity.Add(quantity); rest.Sign()*p.Quantity.Sign() < 0 {
		p = p.Trade(p.Quantity.Neg(), price)
		p.Earlier, quantity = p.sums(), rest
	}
	return p.Trade(quantity, price)
}

// regain returns the position with the fees in it that a sale of more than is left shows were
// taken from elsewhere: a venue takes a fee from all that the account has of the asset, and then
// lets the whole purchase be sold.
func (p Position) regain(quantity decimal.Decimal) Position {
	beyond := p.Quantity.Add(quantity).Neg()
	if !p.Quantity.IsPositive() || !beyond.IsPositive() {
		return p
	}
	fees := p.Current()
	if !fees.FeesInBase.IsPositive() {
		return p
	}
	back := decimal.Min(beyond, fees.FeesInBase)
	worth := proportion(fees.FeesWorth, back, fees.FeesInBase)
	p.Quantity, p.Cost = p.Quantity.Add(back), p.Cost.Add(worth)
	p.FeesInBase, p.FeesWorth = p.FeesInBase.Sub(back), p.FeesWorth.Sub(worth)
	p.Carried = p.Carried.add(Charges{Fees: Fees(nil).add(p.Base, back), Worth: worth.Neg()})
	return p
}
