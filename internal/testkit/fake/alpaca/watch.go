package alpaca

import (
	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
)

// watch measures how long a position has no stop.
type watch struct {
	*fake.Gaps
	symbol string
}

// Watch measures from now on how long a position of the account of KeyID has no stop that
// works. Less than least counts as nothing. A stop whose cancel is pending does not work, nor
// does a leg whose entry is not filled.
func (s *Server) Watch(symbol string, least decimal.Decimal) *fake.Gaps {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	w := watch{fake.NewGaps(least), symbol}
	d.watches = append(d.watches, w)
	d.see(d.accounts[KeyID], symbol)
	return w.Gaps
}

// see lets the watches of a symbol see what is held and which stops work.
func (d *desk) see(a *account, symbol string) {
	for _, w := range d.watches {
		if w.symbol != symbol || a != d.accounts[KeyID] {
			continue
		}
		p := a.held[symbol]
		if p == nil {
			p = &position{}
		}
		covered := decimal.Zero
		for _, t := range a.orders {
			stop := t.kind == typeStop || t.kind == typeStopLimit || t.kind == typeTrailing
			if stop && t.symbol == symbol && t.side == p.closing() && t.open() && !t.dormant && t.status != "pending_cancel" {
				covered = covered.Add(t.left())
			}
		}
		w.See(d.now(), p.quantity.Abs(), covered)
	}
}
