package paper_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/margin"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// perpetual is the instrument of these tests.
func perpetual() provider.Instrument {
	inst := papertest.BTCUSDT()
	inst.Symbol.Name, inst.Class, inst.Settle = market.PerpetualOf(inst.Symbol.Name), provider.Perpetual, "USDT"
	return inst
}

// perps is an account with a perpetual future, its prices and a clock.
type perps struct {
	*paper.Broker
	tb       testing.TB
	market   *papertest.Market
	journal  *papertest.Journal
	leverage string
	rates    []provider.Funding
	now      time.Time
	bar      market.Bar
	n        int
}

func newPerps(tb testing.TB, leverage string, rates paper.Rates) *perps {
	tb.Helper()
	return newPerpsOf(tb, perpetual(), leverage, rates)
}

// newPerpsOf is newPerps with other rules of the symbol.
func newPerpsOf(tb testing.TB, inst provider.Instrument, leverage string, rates paper.Rates) *perps {
	tb.Helper()
	v := &perps{
		tb: tb, market: papertest.NewMarket(inst), journal: &papertest.Journal{}, leverage: leverage, now: time.Unix(1_800_000_000, 0),
		bar: market.Bar{T: 1_800_000_000, O: 50000, H: 50000, L: 50000, C: 50000, V: 1},
	}
	v.Broker = paper.New(paper.Config{
		Journal: v.journal, Market: v.market, Rates: rates, Now: func() time.Time { return v.now }, Log: slog.New(slog.DiscardHandler),
		Cash:     map[string]decimal.Decimal{"USDT": dec("100000")},
		Leverage: func(market.Symbol) decimal.Decimal { return dec(v.leverage) },
		Funding: func(_ context.Context, _ market.Symbol, from, to time.Time) ([]provider.Funding, error) {
			var found []provider.Funding
			for _, r := range v.rates {
				if r.At.After(from) && !r.At.After(to) {
					found = append(found, r)
				}
			}
			return found, nil
		},
	})
	if err := v.Load(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	v.quote()
	return v
}

func (v *perps) quote() {
	v.market.Set(perpetual().Symbol, order.Quote{Last: decimal.NewFromFloat(v.bar.C), At: v.now})
}

// step sends a bar of its own.
func (v *perps) step(open, high, low, last float64) {
	v.now = v.now.Add(time.Minute)
	v.bar = market.Bar{T: v.now.Unix() / 60 * 60, O: open, H: high, L: low, C: last, V: 1000}
	v.Observe(provider.Event{
		Sub: provider.Sub{Symbol: perpetual().Symbol, Interval: market.Minute1}, Kind: provider.Closed, Bar: v.bar, Price: last, At: v.now.Add(time.Millisecond),
	}, provider.Clock{})
	v.now = v.now.Add(time.Second)
	v.quote()
}

// send places a request and returns the reports, or the error.
func (v *perps) send(r order.Request) ([]order.Report, error) {
	v.n++
	r.Symbol = perpetual().Symbol
	head := r.Spec("o"+strconv.Itoa(v.n), "")
	orders := []order.Spec{head}
	for i, leg := range head.Legs() {
		leg.ID = fmt.Sprintf("o%d.%d", v.n, i)
		orders = append(orders, leg)
	}
	if len(orders) > 1 {
		return v.SubmitGroup(v.tb.Context(), orders)
	}
	report, err := v.Submit(v.tb.Context(), head)
	return []order.Report{report}, err
}

// sent is send of what must be taken.
func (v *perps) sent(side order.Side, quantity string, change func(*order.Request)) []order.Report {
	v.tb.Helper()
	r := order.Request{Side: side, Type: order.Market, Quantity: dec(quantity)}
	if change != nil {
		change(&r)
	}
	reports, err := v.send(r)
	if err != nil {
		v.tb.Fatal(err)
	}
	return reports
}

func (v *perps) cash() decimal.Decimal {
	holdings, err := v.Holdings(v.tb.Context())
	if err != nil {
		v.tb.Fatal(err)
	}
	for _, h := range holdings {
		if h.Asset == "USDT" {
			return h.Quantity
		}
	}
	return decimal.Zero
}

func (v *perps) position() margin.Position { return v.Margin(perpetual().Symbol) }

// exact holds what the account has beside its trades and payments, to the last digit.
func (v *perps) exact() {
	v.tb.Helper()
	fills, _, err := v.Fills(v.tb.Context(), perpetual().Symbol, "")
	if err != nil {
		v.tb.Fatal(err)
	}
	var fees, proceeds, held decimal.Decimal
	for _, f := range fills {
		signed := f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign()))
		fees, held, proceeds = fees.Add(f.Fee), held.Add(signed), proceeds.Sub(signed.Mul(f.Price))
	}
	p := v.position()
	have, want := v.cash().Add(p.Margin), dec("100000").Add(p.Realised).Sub(fees).Sub(p.Funding)
	if !have.Equal(want) || !p.Realised.Equal(proceeds.Add(p.Cost)) || !p.Quantity.Equal(held) {
		v.tb.Fatalf("cash and margin are %s, want %s; realised %s of %s and %s; %s held of %s", have, want, p.Realised, proceeds, p.Cost, p.Quantity, held)
	}
}

// restart opens the account from its journal: the same account.
func (v *perps) restart() {
	state := func() []any {
		holdings, errH := v.Holdings(v.tb.Context())
		open, errO := v.Open(v.tb.Context())
		if errH != nil || errO != nil {
			v.tb.Fatal(errH, errO)
		}
		return []any{holdings, open, v.position(), len(v.Taken())}
	}
	before := state()
	again, err := v.Again(v.tb.Context(), v.journal)
	if err != nil {
		v.tb.Fatal(err)
	}
	v.Broker = again
	if diff := cmp.Diff(before, state(), cmpopts.EquateEmpty()); diff != "" {
		v.tb.Fatal("after a restart", diff)
	}
}

func want(tb testing.TB, what string, got decimal.Decimal, want string) {
	tb.Helper()
	if !got.Equal(dec(want)) {
		tb.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func TestPerpetual_ShortFromEntryToTarget(t *testing.T) {
	t.Parallel()
	rates := paper.Usual()
	rates.Slippage = decimal.Zero
	v := newPerps(t, "5", rates)
	r := v.sent(order.Sell, "0.1", func(r *order.Request) {
		r.Protect = order.Protection{StopLoss: dec("51500"), TakeProfit: dec("48000")}
	})
	if r[0].Status != order.Filled || r[1].Status != order.Accepted || r[1].Side != order.Buy {
		t.Fatalf("%v %v", r[0].Status, r[1])
	}
	want(t, "cash", v.cash(), "98997.5")
	want(t, "margin", v.position().Margin, "1000")
	holdings, err := v.Holdings(t.Context())
	if err != nil || len(holdings) != 2 || holdings[1].Margin == nil {
		t.Fatalf("%+v %v", holdings, err)
	}
	want(t, "held", holdings[1].Quantity, "-0.1")
	want(t, "liquidation", holdings[1].Margin.Liquidation, "59760.95")
	want(t, "free", holdings[0].Available, "98997.5") // stops of the position reserve nothing
	v.exact()
	v.restart()
	v.step(49000, 49100, 47900, 48500)
	want(t, "held after the target", v.position().Quantity, "0")
	want(t, "cash after the target", v.cash(), "100196.54") // 200 less 2.50 and the maker's 0.96
	if open, _ := v.Open(t.Context()); len(open) != 0 {
		t.Errorf("%v are open", open)
	}
	v.exact()
	v.restart()
}

func TestPerpetual_LiquidationTakesTheMarginAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		side order.Side
		bar  [4]float64
		mark float64
	}{
		"a short within a bar":  {order.Sell, [4]float64{50000, 60000, 49900, 59000}, 0},
		"a short after a gap":   {order.Sell, [4]float64{70000, 70000, 69000, 69500}, 0},
		"a long within a bar":   {order.Buy, [4]float64{50000, 50100, 40000, 41000}, 0},
		"a long at its mark":    {order.Buy, [4]float64{50000, 50000, 49000, 49500}, 40000},
		"a short at its mark":   {order.Sell, [4]float64{50000, 51000, 49000, 49500}, 59760.95},
		"a long that never saw": {order.Buy, [4]float64{30000, 30000, 29000, 30000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newPerps(t, "5", paper.Usual())
			v.sent(tc.side, "0.1", nil)
			cash, reports := v.cash(), v.Tap()
			v.step(tc.bar[0], tc.bar[1], tc.bar[2], tc.bar[3])
			if tc.mark > 0 {
				if v.position().Quantity.IsZero() {
					t.Fatal("it ended before its mark price came")
				}
				v.Observe(provider.Event{Sub: provider.Sub{Symbol: perpetual().Symbol}, Kind: provider.Marked, Price: tc.mark, At: v.now}, provider.Clock{})
			}
			if p := v.position(); !p.Quantity.IsZero() || !p.Margin.IsZero() {
				t.Fatalf("%+v is left", p)
			}
			want(t, "cash", v.cash(), cash.String())
			all := reports()
			last := all[len(all)-1]
			if len(last.Fills) != 1 || last.Fills[0].Cause != order.ByLiquidation || last.Status != order.Filled || !strings.HasPrefix(last.ID, order.ByLiquidation) {
				t.Errorf("the report is %+v", last)
			}
			v.exact()
			v.restart()
		})
	}
}

func TestPerpetual_StopComesBeforeLiquidation(t *testing.T) {
	t.Parallel()
	protect := func(r *order.Request) { r.Protect.StopLoss = dec("51500") }
	v := newPerps(t, "5", paper.Usual())
	v.sent(order.Sell, "0.1", protect)
	v.step(50000, 65000, 49900, 64000)
	fills, _, _ := v.Fills(t.Context(), perpetual().Symbol, "")
	if last := fills[len(fills)-1]; last.Cause != "" || !last.Price.Equal(dec("51525.75")) {
		t.Errorf("within a bar the stop fills at its price and the slippage: %+v", last)
	}
	v.sent(order.Sell, "0.1", func(r *order.Request) { r.Protect.StopLoss = dec("66000") })
	v.step(70000, 70000, 69900, 70000) // beyond the stop; some margin is left
	fills, _, _ = v.Fills(t.Context(), perpetual().Symbol, "")
	if last := fills[len(fills)-1]; last.Cause != "" || !last.Price.Equal(dec("70035")) {
		t.Errorf("after a gap the stop fills at the open: %+v", last)
	}
	v.sent(order.Sell, "0.1", func(r *order.Request) { r.Protect.StopLoss = dec("72000") })
	v.step(90000, 90000, 89900, 90000) // beyond all margin
	fills, _, _ = v.Fills(t.Context(), perpetual().Symbol, "")
	if last := fills[len(fills)-1]; last.Cause != order.ByLiquidation {
		t.Errorf("without margin the position is liquidated: %+v", last)
	}
	if open, _ := v.Open(t.Context()); len(open) != 0 {
		t.Errorf("%v are open", open)
	}
	v.exact()
}

func TestPerpetual_OrdersThatReduce(t *testing.T) {
	t.Parallel()
	v := newPerps(t, "5", paper.Usual())
	reduce := func(r *order.Request) { r.ReduceOnly = true }
	if r := v.sent(order.Buy, "0.1", reduce)[0]; r.Status != order.Expired || !r.Filled.IsZero() {
		t.Errorf("without a position: %+v", r)
	}
	v.sent(order.Sell, "0.1", nil)
	if r := v.sent(order.Buy, "0.3", reduce)[0]; r.Status != order.Expired || !r.Filled.Equal(dec("0.1")) {
		t.Errorf("beyond the position: %+v", r)
	}
	v.sent(order.Sell, "0.1", nil)
	if r := v.sent(order.Buy, "0.3", nil)[0]; r.Status != order.Expired || !r.Filled.Equal(dec("0.1")) || !v.position().Quantity.IsZero() {
		t.Errorf("an order never turns a position round: %+v", r)
	}
	v.sent(order.Sell, "0.1", nil)
	if _, err := v.send(order.Request{Side: order.Buy, Type: order.Market, Quantity: dec("0.3"), Protect: order.Protection{StopLoss: dec("40000")}}); err == nil {
		t.Error("an entry against the position was taken")
	}
	if _, err := v.send(order.Request{Side: order.Sell, Type: order.Market, Quantity: dec("11")}); err == nil || !strings.Contains(err.Error(), "as margin at 5x") {
		t.Errorf("an entry without margin: %v", err)
	}
	v.leverage = "0"
	if _, err := v.send(order.Request{Side: order.Sell, Type: order.Market, Quantity: dec("0.1")}); err == nil || !strings.Contains(err.Error(), "max_leverage") {
		t.Errorf("without max_leverage: %v", err)
	}
	if r := v.sent(order.Buy, "0.1", reduce)[0]; r.Status != order.Filled {
		t.Errorf("closing is possible always: %+v", r)
	}
	v.exact()
}

func TestPerpetual_Funding(t *testing.T) {
	t.Parallel()
	v := newPerps(t, "5", paper.Usual())
	v.sent(order.Sell, "0.1", nil)
	start, cash := v.now, v.cash()
	v.now = v.now.Add(20 * time.Hour) // candela was down
	v.restart()
	rate := func(after time.Duration, rate, mark float64) provider.Funding {
		return provider.Funding{At: start.Add(after), Rate: rate, Mark: mark}
	}
	v.rates = []provider.Funding{rate(-time.Hour, 0.01, 50000), rate(time.Hour, 0.0001, 50000), rate(9*time.Hour, -0.0002, 51000)}
	paid, err := v.Funding(t.Context(), time.Time{})
	if err != nil || len(paid) != 2 {
		t.Fatalf("%+v %v", paid, err)
	}
	want(t, "received", paid[0].Amount, "-0.5")
	want(t, "paid", paid[1].Amount, "1.02")
	want(t, "margin", v.position().Margin, "998.98") // of 999.50, at the price with slippage
	want(t, "cash", v.cash(), cash.String())
	if again, err := v.Funding(t.Context(), paid[0].At); err != nil || len(again) != 1 {
		t.Fatalf("asked again: %+v %v", again, err)
	}
	v.exact()
	v.restart()
	// A position that was closed since pays for the time at which it was held.
	due := v.now.Add(time.Minute)
	v.now = due.Add(time.Minute)
	v.quote()
	v.sent(order.Buy, "0.1", func(r *order.Request) { r.ReduceOnly = true })
	v.rates = append(v.rates, provider.Funding{At: due, Rate: 0.0001, Mark: 50000})
	if paid, err = v.Funding(t.Context(), paid[1].At); err != nil || len(paid) != 1 || !paid[0].Amount.Equal(dec("-0.5")) {
		t.Fatalf("%+v %v", paid, err)
	}
	v.exact()
	v.SnapshotEvery(1)
	v.restart()
}
