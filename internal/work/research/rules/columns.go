package rules

import (
	"cmp"
	"math"

	"candela/internal/alerting/alert"
	"candela/internal/work/research/replay"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// columned is an instance that can ask what its conditions say of any bar.
type columned struct {
	account *simulate.Account
	from    *instance // whose conditions they are
	sides   []columnedSide
	at      int // index of the next bar
}

type columnedSide struct {
	side
	enters, leaves *alert.Verdicts // leaves may be nil
}

// columned evaluates the conditions over columns.
func (in *instance) columned(k *replay.Columns) (*columned, error) {
	out := &columned{account: in.account, from: in}
	for i := range in.sides {
		s := columnedSide{side: in.sides[i], enters: k.Of(in.sides[i].enter)}
		if s.exit != nil {
			s.leaves = k.Of(s.exit)
		}
		if err := cmp.Or(s.enter.Failed(), s.exit.Failed()); err != nil {
			in.Close()
			return nil, err
		}
		out.sides = append(out.sides, s)
	}
	return out, nil
}

// Close gives back what scripts hold.
func (c *columned) Close() { c.from.Close() }

// Wake returns the next bar at which a condition matters for the position that is held now, or
// at which it is too old.
func (c *columned) Wake(i int) int {
	position := c.account.Position()
	c.at = math.MaxInt
	for k := range c.sides {
		s := &c.sides[k]
		if position*float64(s.direction) <= 0 {
			c.at = min(c.at, s.enters.NextRise(i))
			continue
		}
		if s.leaves != nil {
			c.at = min(c.at, s.leaves.NextHold(i))
		}
		if s.rules.MaxBars > 0 {
			c.at = min(c.at, max(i, c.account.Open()[0].Bar+s.rules.MaxBars-1))
		}
	}
	return c.at
}

// Next places the orders of the bar that Wake has returned.
func (c *columned) Next(market.Bar) error {
	for i := range c.sides {
		s := &c.sides[i]
		s.order(c.account, s.enters.Rises(c.at), s.leaves != nil && s.leaves.Holds(c.at))
	}
	return nil
}
