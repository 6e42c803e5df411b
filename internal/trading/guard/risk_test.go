package guard_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// drawAmount returns a multiple of a unit.
func drawAmount(rt *rapid.T, name, unit string, least, most int) decimal.Decimal {
	return dec(unit).Mul(decimal.NewFromInt(int64(rapid.IntRange(least, most).Draw(rt, name))))
}

// drawEntry makes the order of a scene an entry, often a sound one.
func drawEntry(rt *rapid.T) *scene {
	s := passing()
	s.Capabilities, s.AllowShort = every(), true
	none := guard.Limit{Off: true}
	s.MaxOrderNotional, s.MaxSymbolExposure, s.MaxExposure, s.MaxDailyNotional = none, none, none, none
	s.Held = drawAmount(rt, "held", "0.01", -20, 20)
	s.Side = rapid.SampledFrom([]order.Side{order.Buy, order.Sell}).Draw(rt, "side")
	s.Quantity = drawAmount(rt, "quantity", "0.00001", 100, 30000)
	s.Price = drawAmount(rt, "price", "0.01", 5700000, 6300000)
	if rapid.Bool().Draw(rt, "market") {
		s.market()
	}
	s.StopSlippagePct, s.Policy.TakerFeePct = drawAmount(rt, "slippage", "0.1", 0, 20), drawAmount(rt, "fee", "0.01", 0, 50)
	sign := decimal.NewFromInt(s.Side.Sign())
	off := drawAmount(rt, "distance", "0.01", 0, 1300000).Mul(sign)
	s.Role, s.Group.Name = order.Entry, s.ID
	switch rapid.IntRange(0, 3).Draw(rt, "kind") {
	case 0:
		s.Role, s.Group.Name = 0, ""
	case 1:
		s.Protect.TrailPercent = drawAmount(rt, "trail", "0.1", 1, 200)
	case 2:
		s.Protect.StopLoss, s.Protect.StopLossLimit = dec("60000").Sub(off), dec("60000").Sub(off.Mul(dec("1.01")))
	default:
		s.Protect.StopLoss = dec("60000").Sub(off)
	}
	s.Equity = decimal.NewNullDecimal(drawAmount(rt, "equity", "1", 0, 100000))
	s.OpenRisk = drawAmount(rt, "open risk", "0.5", 0, 1000)
	return s
}

// ratRisk derives the risk of an entry a second time, in fractions: the money after the
// entry and the stop, subtracted from the money before. The entry is the worst, or the one at
// which it would trade now.
func ratRisk(s *scene, worst bool) *big.Rat {
	rat := func(d decimal.Decimal) *big.Rat { return d.Rat() }
	pct := func(d decimal.Decimal) *big.Rat { return new(big.Rat).Quo(rat(d), big.NewRat(100, 1)) }
	opening := rat(s.Quantity)
	if against := rat(s.Held); against.Sign() == -int(s.Side.Sign()) {
		opening.Sub(opening, against.Abs(against))
	}
	if opening.Sign() <= 0 {
		return new(big.Rat)
	}
	sign := big.NewRat(s.Side.Sign(), 1)
	entry := rat(s.Price)
	atOnce := s.Type == order.Market || s.Price.Sub(s.Quote.Last).Mul(decimal.NewFromInt(s.Side.Sign())).Sign() >= 0
	switch {
	case !worst && atOnce:
		entry = rat(s.Quote.Last)
	case s.Type == order.Market:
		band := new(big.Rat).Mul(pct(s.PriceBandPct.Value), sign)
		entry = new(big.Rat).Mul(rat(s.Quote.Last), band.Add(band, big.NewRat(1, 1)))
	}
	stop := rat(s.Protect.StopLoss)
	if s.Protect.TrailPercent.IsPositive() {
		trail := new(big.Rat).Mul(pct(s.Protect.TrailPercent), sign)
		stop = new(big.Rat).Mul(entry, trail.Sub(big.NewRat(1, 1), trail))
	}
	if s.Role != order.Entry || stop.Sign() == 0 || s.Protect.StopLossLimit.IsPositive() {
		return entry.Mul(entry, opening)
	}
	paid := new(big.Rat).Mul(entry, sign)                                               // of one unit; negative for a sale
	got := new(big.Rat).Mul(stop, sign)                                                 // when it is closed
	costs := new(big.Rat).Mul(new(big.Rat).Add(entry, stop), pct(s.Policy.TakerFeePct)) // of both trades
	costs.Add(costs, new(big.Rat).Mul(stop, pct(s.StopSlippagePct)))
	lost := paid.Sub(paid, got)
	if lost.Sign() < 0 {
		lost = new(big.Rat)
	}
	return lost.Add(lost, costs).Mul(lost, opening)
}

func TestRisk_EqualsASecondDerivation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawEntry(rt)
		e := guard.Estimate(s.Policy, s.Intent, s.Facts)
		if want := ratRisk(s, false); e.Risk.Rat().Cmp(want) != 0 {
			rt.Fatalf("risk %v, want %s", e.Risk, want.FloatString(12))
		}
	})
}

// TestCheck_NoOrderExceedsTheRisk draws limits near the risk: an order passes their rules
// if and only if it is within them, and the quantity that a denial suggests is.
func TestCheck_NoOrderExceedsTheRisk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawEntry(rt)
		factor := drawAmount(rt, "factor", "0.1", 1, 30)
		most := guard.Estimate(s.Policy, s.Intent, s.Facts).Risk.Mul(factor)
		switch rapid.IntRange(0, 2).Draw(rt, "limit") {
		case 0:
			s.MaxTradeRisk = guard.Limit{Value: most}
		case 1:
			s.MaxTradeRiskPct = guard.Limit{Value: dec("1")}
			s.Equity.Decimal = most.Mul(dec("100"))
		default:
			s.MaxOpenRisk = guard.Limit{Value: most.Add(s.OpenRisk)}
		}
		d := s.check()
		exceeds := ratRisk(s, true).Cmp(most.Rat()) > 0
		if d == nil && exceeds {
			rt.Fatalf("an order that risks %s passes the limit of %v", ratRisk(s, true).FloatString(6), most)
		}
		if d == nil || !strings.Contains(d.Rule, "_risk") {
			return
		}
		if !exceeds {
			rt.Fatalf("denied within the limit: %+v", d)
		}
		for _, quantity := range d.Nearest {
			s.Quantity = dec(quantity)
			if next := s.check(); next != nil && next.Rule == d.Rule || ratRisk(s, true).Cmp(most.Rat()) > 0 {
				rt.Fatalf("the suggestion of %+v is denied: %+v", d, next)
			}
		}
	})
}

// TestCheck_DenialsAreUsable holds that every denial of a random entry names its argument
// and a value, and that a suggestion passes the rule that made it.
func TestCheck_DenialsAreUsable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawEntry(rt)
		if rapid.Bool().Draw(rt, "exit") {
			s.exit(s.Quantity.String(), order.Protection{StopLoss: drawAmount(rt, "stop", "0.005", 1, 20000000), TakeProfit: drawAmount(rt, "target", "0.005", 0, 40000000)})
		}
		d := s.check()
		if d == nil {
			return
		}
		if d.Text == "" || d.Value == "" || d.Limit == "" || !strings.Contains(d.Text, d.Field) || strings.Contains(d.Text, "%!") {
			rt.Fatalf("a denial without use: %+v", d)
		}
		for _, value := range d.Nearest {
			next := *s
			next.set(d.Field, dec(value))
			if again := next.check(); again != nil && again.Rule == d.Rule && again.Field == d.Field {
				rt.Fatalf("%+v suggests %s, which gives %+v", d, value, again)
			}
		}
	})
}

// set changes the argument of a request in the order that was made from it.
func (s *scene) set(field string, v decimal.Decimal) {
	switch {
	case field == "quantity":
		s.Quantity = v
	case field == "price", field == "take_profit" && s.Role == order.TakeProfit, field == "stop_loss_limit" && s.Role == order.StopLoss:
		s.Price = v
	case field == "stop_price", field == "stop_loss" && s.Role == order.StopLoss:
		s.StopPrice = v
	case field == "stop_loss":
		s.Protect.StopLoss = v
	case field == "stop_loss_limit":
		s.Protect.StopLossLimit = v
	case field == "take_profit":
		s.Protect.TakeProfit = v
	case field == "trail_percent" && s.Role == order.StopLoss:
		s.TrailPercent = v
	case field == "trail_percent":
		s.Protect.TrailPercent = v
	}
}
