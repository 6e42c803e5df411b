package pine_test

import (
	"os"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

// macdScript computes and plots what the built-in MACD does.
const macdScript = `//@version=6
indicator("MACD")
[line, signal, hist] = ta.macd(close, 12, 26, 9)
plot(line, "MACD")
plot(signal, "Signal")
plot(hist, "Histogram", style = plot.style_columns)
alertcondition(ta.crossover(line, signal), "bullish")
alertcondition(ta.crossunder(line, signal), "bearish")
`

// BenchmarkScripts computes charts of scripts, and of the built-in MACD beside a script that
// does the same. Its unit is ns a bar.
func BenchmarkScripts(b *testing.B) {
	all := map[string]*ta.Selection{"macd": compiled(b, macdScript, "")}
	for _, name := range []string{"plain", "loop"} {
		source, err := os.ReadFile("../../bench/pine/" + name + ".pine")
		if err != nil {
			b.Fatal(err)
		}
		all[name] = compiled(b, string(source), "")
	}
	builtIn, err := ta.Resolve(ta.Request{Name: "macd"})
	if err != nil {
		b.Fatal(err)
	}
	all["macd built in"] = builtIn
	in := ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: bars(4309)}
	for name, s := range all {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Compute(in)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Bars.Len()), "ns/bar")
		})
	}
}

// BenchmarkStream steps the same as streams, as alerts do.
func BenchmarkStream(b *testing.B) {
	builtIn, err := ta.Resolve(ta.Request{Name: "macd"})
	if err != nil {
		b.Fatal(err)
	}
	all := bars(4309)
	for name, s := range map[string]*ta.Selection{"macd": compiled(b, macdScript, ""), "macd built in": builtIn} {
		b.Run(name, func(b *testing.B) {
			stream := s.Stream(ta.Env{Interval: market.Hour1})
			for i := 0; b.Loop(); i++ {
				bar := all.At(i % all.Len())
				bar.T = 1_700_006_400 + int64(i)*3600
				stream.Step(bar)
			}
		})
	}
}
