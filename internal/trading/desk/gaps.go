package desk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// gaps are the parts of positions that should have a stop and have none. A published value is
// never changed.
type gaps map[market.Symbol][]order.Gap

// at returns the gaps of a symbol and how long they have been there.
func (g gaps) at(s market.Symbol, now time.Time) []order.Gap {
	all := slices.Clone(g[s])
	for i := range all {
		all[i].For = max(now.Sub(all[i].Since), 0)
	}
	return all
}

// showGaps lets readers see what the last comparison found.
func (l *loop) showGaps(found gaps) {
	if maps.EqualFunc(l.protector.gaps, found, func(a, b []order.Gap) bool { return slices.EqualFunc(a, b, sameGap) }) {
		return
	}
	l.protector.gaps = found
	l.publish()
}

func sameGap(a, b order.Gap) bool {
	return a.Quantity.Equal(b.Quantity) && a.Reason == b.Reason && a.Since.Equal(b.Since)
}

// noteDust returns what is left of a line and is too little for a stop. It logs each
// quantity once.
func (l *loop) noteDust(s market.Symbol, c order.Cover, now time.Time) order.Gap {
	last, known := l.protector.dust[c.ID]
	if c.Lacks.IsZero() || !c.Protect.HasStop() || (c.Waits || c.Fills) && !known {
		delete(l.protector.dust, c.ID)
		return order.Gap{}
	}
	if last.Quantity.Equal(c.Lacks) {
		return last
	}
	gap := order.Gap{Quantity: c.Lacks, Since: now, Reason: l.tooLittle(s, c)}
	if known {
		gap.Since = last.Since
	}
	l.protector.dust[c.ID] = gap
	l.cfg.Log.WarnContext(l.drainCtx, "too little for a stop at the venue", "line", c.ID, "symbol", s.String(), "quantity", c.Lacks.String())
	return gap
}

// tooLittle says that the venue takes no order of what lacks a stop.
func (l *loop) tooLittle(s market.Symbol, c order.Cover) string {
	inst := l.instruments[s]
	var least []string
	if can, _ := l.takes(s, c.Line); can.WholeLegs {
		least = append(least, "stops for whole units only")
	}
	if inst.MinQuantity.IsPositive() {
		least = append(least, fmt.Sprintf("at least %v", inst.MinQuantity))
	}
	if inst.MinNotional.IsPositive() {
		least = append(least, strings.TrimSpace(fmt.Sprintf("orders worth at least %v %s", inst.MinNotional, inst.Quote)))
	}
	reason := "it is too little for a stop"
	if len(least) == 0 {
		return reason
	}
	return fmt.Sprintf("%s: %s takes %s", reason, l.cfg.Broker.Name(), strings.Join(least, ", "))
}

// setApart returns what has no stop because orders are to close it that have no answer yet, and whether
// that has been so for longer than the policy's grace.
func (l *loop) setApart(s market.Symbol, now time.Time) (gap order.Gap, late bool) {
	closing := l.book.Closing(s)
	apart := withStop(l.book.Lines(s)).Sub(withStop(l.book.Due(s)))
	if len(closing) == 0 || !apart.IsPositive() {
		return order.Gap{}, false
	}
	open := slices.DeleteFunc(l.book.Open(), func(o order.Order) bool { return o.Symbol != s })
	bare := order.WithoutStop(l.book.Position(s).Quantity, open)
	first := closing[0]
	gap = order.Gap{Quantity: decimal.Min(apart, bare), Reason: "order " + first.ID + " is to close it and has no answer", Since: first.Created}
	return gap, gap.Quantity.IsPositive() && now.Sub(gap.Since) >= l.cfg.Policy.UnprotectedGrace
}

// withStop returns how much lines with a stop are for.
func withStop(lines []order.Line) decimal.Decimal {
	var sum decimal.Decimal
	for _, l := range lines {
		if l.Protect.HasStop() {
			sum = sum.Add(l.Quantity)
		}
	}
	return sum
}

// tryAgain is the reason of a stop that was refused for the moment.
func tryAgain(reason string) string {
	return strings.TrimSuffix(reason, ".") + "; candela tries again"
}
