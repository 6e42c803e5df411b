package ta

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
)

// TestFeed_EqualsComputingByHand derives averages and bands of an indicator's line from
// that line.
func TestFeed_EqualsComputingByHand(t *testing.T) {
	t.Parallel()
	in := input(walk(900, 8), market.Hour1)
	line := func(text string, k int) []float64 {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Compute(in).Lines[k].Values
	}
	for _, c := range []struct {
		text, label string
		first       int
		want        []float64
	}{
		{`ema {"source":"rsi"}`, "EMA(9, RSI(14))", 22, plainMean("ema", line(`rsi`, 0), nil, 9)},
		{`sma {"length":5,"src":"rsi(7).RSI"}`, "SMA(5, RSI(7))", 11, plainMean("sma", line(`rsi {"length":7}`, 0), nil, 5)},
		{`hma {"source":{"name":"macd","fast":5,"line":"signal"}}`, "HMA(9, MACD(5, 26, 9) Signal)", 43, plainMean("hma", line(`macd {"fast":5}`, 1), nil, 9)},
		{`roc {"length":2,"source":{"name":"sma","length":3}}`, "ROC(2, SMA(3))", 4, changes(plainMean("sma", in.Bars.C, nil, 3), 2)},
		{`vwma {"length":4,"source":"cci.CCI"}`, "VWMA(4, CCI(20))", 22, plainMean("vwma", line(`cci`, 0), in.Bars.V, 4)},
		{`ema {"length":3,"source":{"name":"ema","length":4,"source":"rsi"}}`, "EMA(3, EMA(4, RSI(14)))", 19, plainMean("ema", plainMean("ema", line(`rsi`, 0), nil, 4), nil, 3)},
	} {
		s, err := Resolve(request(t, c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		r := s.Compute(in)
		if r.Label != c.label || r.Overlay || s.Overlay() {
			t.Errorf("%s: label %q, overlay %v", c.text, r.Label, r.Overlay)
		}
		if got := slices.IndexFunc(r.Lines[0].Values, func(x float64) bool { return x == x }); got != c.first {
			t.Errorf("%s: first value at %d, want %d", c.text, got, c.first)
		}
		for i, x := range r.Lines[0].Values {
			if math.IsNaN(x) != math.IsNaN(c.want[i]) || math.Abs(x-c.want[i]) > 1e-9*max(1, math.Abs(c.want[i])) {
				t.Fatalf("%s at %d: %v, want %v", c.text, i, x, c.want[i])
			}
		}
	}
}

// changes are the percent changes over n values.
func changes(x []float64, n int) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, len(x))
	for i := n; i < len(x); i++ {
		out[i] = 100 * (x[i]/x[i-n] - 1)
	}
	return out
}

// TestFeed_StreamsAndForgets holds a fed indicator to the rules of all streams: the bits
// of the batch, snapshots, peeks, and independence of the start.
func TestFeed_StreamsAndForgets(t *testing.T) {
	t.Parallel()
	const shift = 400
	for _, text := range []string{
		`ema {"source":"rsi"}`, `sma {"source":"obv"}`, `rsi {"source":"rsi"}`, `bbands {"source":"rsi","period":5}`, `ma {"type":"kama","source":"donchian.DC Mid"}`,
		`ema {"length":3,"source":{"name":"ema","length":4,"source":"mfi"}}`, `macd {"source":"cmf"}`,
	} {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, bars := range []*market.Bars{walk(4_000, 9), nasty(1_000, 6)} {
			in := input(bars, market.Hour1)
			whole := s.Compute(in)
			stream := s.Stream(in.Env)
			var signals []Signal
			for i := range bars.Len() {
				if i%90 == 7 {
					saved := stream.Snapshot(nil)
					stream = s.Stream(in.Env)
					if err := stream.Restore(saved); err != nil {
						t.Fatal(err)
					}
				}
				stream.Peek(market.Bar{T: bars.T[i], C: 1})
				row := stream.Step(bars.At(i))
				signals = append(signals, row.Signals...)
				for c := range whole.Lines {
					if !same(row.Values[c], whole.Lines[c].Values[i]) {
						t.Fatalf("%s bar %d line %d: stream %v, batch %v", text, i, c, row.Values[c], whole.Lines[c].Values[i])
					}
				}
			}
			if !slices.Equal(signals, whole.Signals) {
				t.Errorf("%s: %d signals streamed, %d computed", text, len(signals), len(whole.Signals))
			}
		}
		in := input(walk(4_000, 10), market.Hour1)
		tail := in.Bars.Slice(shift, in.Bars.Len())
		late := in
		late.Bars = &tail
		all, part := s.Compute(in).Lines[0].Values, s.Compute(late).Lines[0].Values
		_, stable := s.Warmup(in.Env)
		for i := stable; i < tail.Len() && !strings.Contains(text, "obv"); i++ {
			if !same(all[i+shift], part[i]) {
				t.Fatalf("%s differs %d bars after the start, stable is %d", text, i, stable)
			}
		}
	}
}

// TestFeed_OnlyTheSourceIsRead holds that an indicator whose source may be a line reads
// no other price: with other opens, highs and lows its values are the same.
func TestFeed_OnlyTheSourceIsRead(t *testing.T) {
	t.Parallel()
	plain := walk(600, 12)
	mixed := *plain
	mixed.O, mixed.H, mixed.L = slices.Clone(plain.O), slices.Clone(plain.H), slices.Clone(plain.L)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range mixed.O {
		mixed.O[i] *= 0.5 + r.Float64()
		mixed.H[i] *= 1 + r.Float64()
		mixed.L[i] *= r.Float64()
	}
	checked := 0
	for name, s := range defaults(t) {
		at := slices.IndexFunc(s.Def.Params, func(p Param) bool { return p.fed })
		if at < 0 {
			continue
		}
		checked++
		s, err := Resolve(request(t, name+` {"`+s.Def.Params[at].Name+`":"close"}`))
		if err != nil {
			t.Fatal(err)
		}
		inst, ok := s.Instance.(*series)
		if !ok {
			t.Errorf("%s: a line cannot be its source, because it does not stream: use priceSource", name)
			continue
		}
		a, b := inst.values(input(plain, market.Hour1)), inst.values(input(&mixed, market.Hour1))
		for c := range a {
			if !slices.EqualFunc(a[c], b[c], same) {
				t.Errorf("%s: column %d depends on other prices than the source: use priceSource", name, c)
				break
			}
		}
	}
	if checked < 16 {
		t.Errorf("%d indicators take a line", checked)
	}
}

func TestFeed_IsCanonicalAndBounded(t *testing.T) {
	t.Parallel()
	a, err := Resolve(request(t, `ema {"length":9,"source":"rsi"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`ma {"type":"ema","source":{"name":"RSI","line":"rsi","length":14}}`, `EMA(9) {"src":"rsi14.RSI"}`, `ema {"source":"Relative Strength Index"}`,
	} {
		if b, err := Resolve(request(t, text)); err != nil || b.Key() != a.Key() {
			t.Errorf("%s: %v %v, want %s", text, b, err, a.Key())
		}
	}
	if plain, err := Resolve(request(t, `ema {"length":9}`)); err != nil || plain.Key() == a.Key() {
		t.Errorf("%v %v", plain, err)
	}
	for text, want := range map[string][]string{
		`ema {"source":"macd"}`:                                                {"ema.source.line is required", "MACD, Signal"},
		`ema {"source":"macd.Histo"}`:                                          {"Histo", "MACD, Signal"},
		`ema {"source":"clsoe"}`:                                               {"ema.source", "clsoe", `"close"`, "an indicator's line"},
		`ema {"source":"volume_profile"}`:                                      {"ema.source", "volume_profile", "such as rsi"},
		`ema {"source":{"name":"rsii"}}`:                                       {"rsii", `"rsi"`},
		`ema {"source":{"length":5}}`:                                          {"ema.source.name is required"},
		`ema {"source":{"name":"rsi","length":0}}`:                             {"rsi.length", "1 to 5000"},
		`ema {"source":{"name":"rsi","interval":"1d"}}`:                        {"same interval"},
		`ema {"source":{"name":"ema","source":{"name":"ema","source":"rsi"}}}`: {"at most 2 indicators"},
	} {
		_, err := Resolve(request(t, text))
		if err == nil {
			t.Errorf("%s was accepted", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", text, err, part)
			}
		}
	}
}
