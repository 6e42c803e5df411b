package eval_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"candela/internal/testkit/sharedtest"
	"candela/lib/market"
	"candela/lib/pine/eval"
)

// exported is a file of values exported from TradingView, see the shared SOURCES.md.
type exported struct {
	bars    []market.Bar
	columns map[string][]float64
}

func readExport(t *testing.T, path string) exported {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := exported{columns: map[string][]float64{}}
	for _, row := range rows[1:] {
		b := market.Bar{TakerBuy: math.NaN()}
		for k, name := range rows[0] {
			x, err := strconv.ParseFloat(row[k], 64)
			if err != nil {
				x = math.NaN()
			}
			switch name {
			case "time":
				b.T = int64(x)
			case "open":
				b.O = x
			case "high":
				b.H = x
			case "low":
				b.L = x
			case "close":
				b.C = x
			case "Volume":
				b.V = x
			default:
				out.columns[name] = append(out.columns[name], x)
			}
		}
		out.bars = append(out.bars, b)
	}
	return out
}

// oracle is a column of an export and the expression that has its values.
type oracle struct {
	file, column string
	script       string // before the plot
	expr         string // the column's name if empty
	absolute     float64
}

// forexDay finds the bars at which a period of some hours begins. The exported market's
// days begin at 17:00 in New York, which no calendar of candela does.
const forexDay = `every(n) =>
    h = hour(time, "America/New_York")
    m = math.floor(((h + 7) % 24) / n)
    ta.change(m) != 0
h = hour(time, "America/New_York")
`

func oracles() []oracle {
	var out []oracle
	add := func(file string, columns ...string) {
		for _, c := range columns {
			out = append(out, oracle{file: file, column: c})
		}
	}
	expr := func(file, column, script, expr string) {
		out = append(out, oracle{file: file, column: column, script: script, expr: expr})
	}
	add("accdist+pvi+pvt+wad+wvad", "ta.accdist", "ta.pvi", "ta.pvt", "ta.wad", "ta.wvad")
	add("iii+nvi+obv", "ta.iii", "ta.nvi", "ta.obv")
	for i, part := range []string{"base", "upper", "lower"} {
		name := []string{"a", "b", "c"}[i]
		expr("bb", "ta.bb(close, 20, 2)."+part, "[a, b, c] = ta.bb(close, 20, 2)\n", name)
		expr("kc", "ta.kc(close, 20, 2)."+part, "[a, b, c] = ta.kc(close, 20, 2)\n", name)
		expr("macd", "ta.macd(close, 12, 26, 9)."+[]string{"macd", "signal", "hist"}[i], "[a, b, c] = ta.macd(close, 12, 26, 9)\n", name)
		expr("dmi", "ta.dmi(17, 14)."+[]string{"dip", "dim", "adx"}[i], "[a, b, c] = ta.dmi(17, 14)\n", name)
		expr("vwap", "ta.vwap(close, timeframe.change(&quot;360&quot;), 2.0)."+[]string{"vwap", "upper_band", "lower_band"}[i],
			forexDay+"[a, b, c] = ta.vwap(close, every(6), 2.0)\n", name)
	}
	add("bb", "ta.bbw(close, 20, 2.1)")
	add("kc", "ta.kcw(close, 20, 2.1, useTrueRange=false)")
	add("cci+cmo+cog", "ta.cmo(close, 20)", "ta.cci(close, 20)", "ta.cog(close, 21)")
	out = append(out, oracle{file: "correlation", column: "correlation", expr: "ta.correlation(ta.sma(close, 20), ta.ema(close, 10), 20)", absolute: 1e-7})
	emas := "ema1 = ta.ema(close, 5)\nema2 = ta.ema(close, 11)\n"
	for c, mark := range map[string]string{"cross": "0.5", "crossover": "1", "crossunder": "-1"} {
		expr("cross", "ta."+c+"(ema1, ema2)", emas, "ta."+c+"(ema1, ema2) ? "+mark+" : 0")
	}
	for c, mark := range map[string]string{"falling": "-1", "rising": "1"} {
		expr("falling+rising", "ta."+c+"(ema, 5)", "ema = ta.ema(close, 20)\n", "ta."+c+"(ema, 5) ? "+mark+" : 0")
	}
	for _, c := range []string{"highest", "lowest", "highestbars", "lowestbars"} {
		add("highest+lowest", "ta."+c+"(10)", "ta."+c+"(close, 10)")
	}
	add("linreg", "ta.linreg(close, 20, 0)", "ta.linreg(close, 20, 10)")
	add("ma", "ta.sma(close, 10)", "ta.sma(hl2, 20)", "ta.sma(hlc3, 15)", "ta.ema(close, 20)", "ta.ema(ohlc4, 10)", "ta.rma(hlcc4, 5)", "ta.rma(high, 15)",
		"ta.alma(close, 5, 0.85, 6)", "ta.alma(close, 10, 0.55, 12)", "ta.wma(close, 5)", "ta.wma(close, 20)", "ta.hma(close, 9)", "ta.hma(close, 20)", "ta.swma(hlc3)", "ta.vwma(close, 20)")
	add("mfi+rsi+stoch", "ta.mfi(close, 14)", "ta.rsi(close, 14)", "ta.stoch(close, high, low, 20)")
	expr("min+max+median+mode", "min(close)", "", "ta.min(close)")
	expr("min+max+median+mode", "max(close)", "", "ta.max(close)")
	expr("min+max+median+mode", "median(close)", "", "ta.median(close, 20)")
	expr("min+max+median+mode", "mode(close)", "", "ta.mode(close, 20)")
	add("pivot", "ta.pivothigh(10, 5)", "ta.pivothigh(close, 10, 5)", "ta.pivotlow(10, 5)", "ta.pivotlow(close, 10, 5)")
	// The titles of these two name other percentages than the script that was exported.
	expr("ppp", "ta.percentile_linear_interpolation(close, 20, 30)", "", "ta.percentile_linear_interpolation(close, 20, 20)")
	expr("ppp", "ta.percentile_nearest_rank(close, 20, 0)", "", "ta.percentile_nearest_rank(close, 20, 20)")
	add("ppp", "ta.percentrank(close, 33)")
	gaps := "cond = bar_index % 3 == 0\nsrc = bar_index % 2 == 0 ? na : close\n"
	for i, v := range []string{"v0", "v1", "v2"} {
		expr("valuewhen_na", v, gaps, "ta.valuewhen(cond, src, "+strconv.Itoa(i)+")")
	}
	expr("valuewhen_na", "w0", gaps, "ta.valuewhen(cond, close, 0)")
	add("range", "ta.range(close, 20)")
	add("rci", "ta.rci(close, 5)", "ta.rci(close, 20)", "ta.rci(hl2, 20)")
	add("sar", "ta.sar(0.02, 0.02, 0.2)")
	trend := "[v, d] = ta.supertrend(3, 10)\n"
	expr("supertrend", "ta.supertrend(3, 10).up", trend, "d < 0 ? v : na")
	expr("supertrend", "ta.supertrend(3, 10).down", trend, "d < 0 ? na : v")
	add("tr", "ta.tr(false)", "ta.tr(true)", "ta.tr", "ta.atr(14)")
	add("tsi", "ta.tsi(close, 12, 26)")
	expr("valuewhen", "ta.valuewhen(ta.cross(slow, fast), close, 1)", "slow = ta.sma(close, 7)\nfast = ta.sma(close, 14)\n", "ta.valuewhen(ta.cross(slow, fast), close, 1)")
	expr("vwap", "ta.vwap(close)", forexDay, "ta.vwap(close, bar_index == 0 or h == 17 and h[1] != 17)")
	expr("vwap", "ta.vwap(close, timeframe.change(&quot;240&quot;))", forexDay, "ta.vwap(close, every(4))")
	add("wpr", "ta.wpr(20)")
	return out
}

func TestBuiltins_EqualTradingView(t *testing.T) {
	t.Parallel()
	files := map[string]exported{}
	for _, o := range oracles() {
		if _, ok := files[o.file]; !ok {
			files[o.file] = readExport(t, sharedtest.Path(t, filepath.Join("data", "pine", "ta", o.file+".csv")))
		}
		in := files[o.file]
		want := in.columns[o.column]
		if want == nil {
			t.Errorf("%s has no column %q", o.file, o.column)
			continue
		}
		e := o.expr
		if e == "" {
			e = o.column
		}
		env := eval.Env{Interval: market.Minute30, Symbol: hourly().Symbol}
		if o.file == "vwap" {
			env.Interval = market.Minute15
		}
		m := compile(t, "//@version=6\nindicator(\"t\")\n"+o.script+"plot("+e+")\n", env)
		worst, bad := 0.0, 0
		for i, b := range in.bars {
			if err := m.Keep(b); err != nil {
				t.Fatal(err)
			}
			got := m.Outputs()[0].Values[0]
			switch {
			case math.IsNaN(got) != math.IsNaN(want[i]):
				if bad++; bad == 1 {
					t.Errorf("%s: %s at row %d: got %v, want %v", o.file, e, i, got, want[i])
				}
			case math.IsNaN(got):
			case o.absolute > 0:
				worst = max(worst, math.Abs(got-want[i])/o.absolute*1e-9)
			default:
				worst = max(worst, math.Abs(got-want[i])/max(math.Abs(want[i]), 1e-6))
			}
		}
		if worst > 1e-9 {
			t.Errorf("%s: %s is off by %.3g", o.file, e, worst)
		}
		if testing.Verbose() {
			t.Logf("%-24s %-50s %.1e", o.file, strings.TrimSpace(e), worst)
		}
	}
}
