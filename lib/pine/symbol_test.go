package pine_test

import (
	"math"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

const symbolScript = `//@version=6
indicator("Symbol")
plot(syminfo.mintick, "tick")
plot(syminfo.pricescale, "scale")
plot(syminfo.minmove, "move")
plot(math.round_to_mintick(close), "rounded")
if barstate.islast
    label.new(bar_index, high, str.format("{0}|{1}|{2}|{3}|{4}|{5}", syminfo.tickerid, syminfo.ticker, nz(syminfo.currency, "?"), nz(syminfo.basecurrency, "?"), nz(syminfo.type, "?"), nz(syminfo.description, "?")))
`

// TestSymbol_HasWhatTheVenueSays reads syminfo in a chart and in a stream. What the venue
// does not say is na.
func TestSymbol_HasWhatTheVenueSays(t *testing.T) {
	t.Parallel()
	symbol := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	for _, c := range []struct {
		facts             market.Facts
		text              string
		tick, scale, move float64
	}{
		{market.Facts{Symbol: symbol, Class: "crypto", Base: "BTC", Quote: "USDT", Tick: 0.25}, "BINANCE:BTCUSDT|BTCUSDT|USDT|BTC|crypto|?", 0.25, 100, 25},
		{market.Facts{Symbol: symbol, Class: "currency", Quote: "USD"}, "BINANCE:BTCUSDT|BTCUSDT|USD|?|forex|?", math.NaN(), math.NaN(), math.NaN()},
	} {
		s := compiled(t, symbolScript, "")
		if r, ok := s.Instance.(ta.FactsReader); !ok || !r.ReadsFacts() {
			t.Error("the script does not ask for facts")
		}
		b, in := bars(10), ta.Input{}
		in.Bars, in.Env = b, ta.Env{Interval: market.Hour1, Facts: c.facts}
		r := s.Compute(in)
		if p := r.Drawn.Problem; p != nil {
			t.Fatalf("the script ended: %+v", p)
		}
		if got := r.Drawn.Shapes[0].Text; got != c.text {
			t.Errorf("the symbol is %s, not %s", got, c.text)
		}
		rounded := b.C[9]
		if c.tick > 0 {
			rounded = math.Floor(rounded*4+0.5) / 4
		}
		stream := s.Stream(in.Env)
		stream.Warm(new(b.Slice(0, 9)))
		row := stream.Step(b.At(9))
		for i, want := range []float64{c.tick, c.scale, c.move, rounded} {
			for where, got := range map[string]float64{"chart": r.Lines[i].Values[9], "stream": row.Values[i]} {
				if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("%s in the %s is %v, not %v", r.Lines[i].Label, where, got, want)
				}
			}
		}
	}
	if reader, ok := compiled(t, cross, "").Instance.(ta.FactsReader); !ok || reader.ReadsFacts() {
		t.Error("a script that names its symbol only asks for facts")
	}
}
