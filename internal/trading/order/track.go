package order

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// move is a change of a position.
type move struct {
	at       time.Time
	key      string // orders moves at the same time
	quantity decimal.Decimal
	price    decimal.Decimal
	fee      decimal.Decimal
	asset    string
}

// moveOf returns the move of a fill.
func moveOf(f Fill) move {
	return move{at: f.At, key: f.Key(), quantity: f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign())), price: f.Price, fee: f.Fee, asset: f.FeeAsset}
}

// trackMoves is how many of the newest moves can be reordered. A later trade counts as
// if it came just before them.
const trackMoves = 512

// track is a position with its newest moves. Realised profit depends on the order of the
// trades, and fills may be reported in any order, so moves are applied by time.
type track struct {
	base   Position // without recent
	recent []move   // by time and key
	now    Position // base and the first count moves of recent
	count  int      // 0 after a late move; position applies the rest
}

func (t *track) add(m move) {
	at, _ := slices.BinarySearchFunc(t.recent, m, func(a, b move) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key))
	})
	t.recent = slices.Insert(t.recent, at, m)
	if at < t.count {
		t.now, t.count = t.base, 0
	}
	// Half are folded at once, so that folding is rare.
	if len(t.recent) >= 2*trackMoves {
		t.position()
		t.base = fold(t.base, t.recent[:trackMoves])
		t.recent = slices.Clone(t.recent[trackMoves:])
		t.count = len(t.recent)
	}
}

// position returns the position after all moves.
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
