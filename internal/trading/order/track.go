package order

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// move is what changes a position.
type move struct {
	at       time.Time
	key      string // orders moves of one moment
	quantity decimal.Decimal
	price    decimal.Decimal
	fee      decimal.Decimal
	asset    string
}

// moveOf is what a fill does to a position.
func moveOf(f Fill) move {
	return move{at: f.At, key: f.Key(), quantity: f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign())), price: f.Price, fee: f.Fee, asset: f.FeeAsset}
}

// trackMoves is how many of the newest moves a position can put in order again. A
// trade that is told later than that counts as if it came just before them.
const trackMoves = 512

// track is a position with its newest moves. What part of a profit is realised
// depends on the order of the trades, and fills may be told in any; so they are
// counted in the order in which they happened, not in which they were told.
type track struct {
	base   Position // without recent
	recent []move   // by time and key
	now    Position // base and the first count of recent
	count  int      // 0 again after a move that came late; the rest is counted when somebody looks
}

func (t *track) add(m move) {
	at, _ := slices.BinarySearchFunc(t.recent, m, func(a, b move) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key))
	})
	t.recent = slices.Insert(t.recent, at, m)
	if at < t.count {
		t.now, t.count = t.base, 0
	}
	// Half are dropped at once, so that dropping is rare.
	if len(t.recent) >= 2*trackMoves {
		t.position()
		t.base = fold(t.base, t.recent[:trackMoves])
		t.recent = slices.Clone(t.recent[trackMoves:])
		t.count = len(t.recent)
	}
}

// position returns what all moves come to.
func (t *track) position() Position {
	t.now, t.count = fold(t.now, t.recent[t.count:]), len(t.recent)
	return t.now
}

func fold(p Position, moves []move) Position {
	for _, m := range moves {
		p = m.apply(p)
	}
	return p
}

func (m move) apply(p Position) Position {
	p = p.Trade(m.quantity, m.price)
	p.Fees = p.Fees.add(m.asset, m.fee)
	if m.at.After(p.Updated) {
		p.Updated = m.at
	}
	return p
}
