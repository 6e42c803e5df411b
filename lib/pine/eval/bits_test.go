package eval_test

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/pine/eval"
)

var update = flag.Bool("update", false, "write testdata/bits.txt")

// walk returns n bars of a random walk.
func walk(n int, seed uint64) []market.Bar {
	r := rand.New(rand.NewPCG(seed, 99))
	bars := make([]market.Bar, n)
	x := 100.0
	for i := range bars {
		open := x
		x *= 1 + float64(0.02*(r.Float64()-0.5)) // no fused operations: the same bars on every processor
		bars[i] = market.Bar{
			T: 1_700_006_400 + int64(i)*3600, O: open, C: x, H: max(open, x) * (1 + float64(0.005*r.Float64())), L: min(open, x) * (1 - float64(0.005*r.Float64())),
			V: math.Round(1000 * r.Float64()), TakerBuy: math.NaN(),
		}
	}
	return bars
}

// samples are scripts that together use every kind of memory.
func samples() map[string]string {
	return map[string]string{
		"averages": "plot(ta.sma(close, 20))\nplot(ta.ema(close, 9) - ta.rma(hl2, 14))\nplot(ta.wma(close, 7) + ta.hma(close, 16) + ta.vwma(close, 5) + ta.alma(close, 9, 0.85, 6) + ta.swma(close))",
		"spread": "[a, b, c] = ta.bb(close, 20, 2)\n[k, u, l] = ta.kc(close, 20, 1.5)\nplot(a + b - c)\nplot(u - l + k)\nplot(ta.stdev(close, 5) + ta.variance(close, 9) + ta.dev(close, 8) + ta.cci(hlc3, 20))\n" +
			"plot(ta.correlation(close, volume, 10) + ta.linreg(close, 14, 0))",
		"ranges": "[p, m, x] = ta.dmi(14, 14)\n[s, d] = ta.supertrend(3, 10)\nplot(p - m + x)\nplot(s * d)\nplot(ta.sar(0.02, 0.02, 0.2) + ta.atr(14) + ta.rsi(close, 14) + ta.mfi(hlc3, 14) + ta.cmo(close, 9) + ta.tsi(close, 13, 25))",
		"events": "up = ta.crossover(close, ta.sma(close, 10))\nplot(ta.barssince(up) + ta.valuewhen(up, close, 1))\nplot(nz(ta.pivothigh(3, 3)) + nz(ta.pivotlow(close, 2, 2)))\n" +
			"plot(ta.highest(10) - ta.lowest(low, 7) + ta.highestbars(9))\nplot(ta.percentrank(close, 20) + ta.median(close, 9) + ta.mode(math.round(close), 9) + ta.percentile_nearest_rank(close, 9, 30))\nplot(ta.obv + ta.accdist + ta.pvt + ta.nvi + ta.vwap)",
		"moving lengths": "n = 3 + bar_index % 9\nplot(ta.sma(close, n) + ta.highest(close, n) + ta.stdev(close, n) + nz(ta.change(close, n)) + ta.wma(close, n) + ta.linreg(close, n + 1, 0))",
		"history":        "f(x) => x[1] + x[2]\nvar float t = 0\nt += close - nz(close[1])\nfloat y = na\nif close > open\n    y := f(close) + t[3]\nplot(y)\nplot((close - open)[2] + t[bar_index % 7])\nplot(f(high)[1])",
		"functions":      "cnt(x) =>\n    var c = 0.0\n    c += x\n    c\ng(x) => cnt(x) + cnt(2 * x)\nz = 0.0\nfor i = 1 to 5\n    z += cnt(i) + ta.ema(close, 3)\nplot(g(1) + g(close))\nplot(z)",
		"arrays": "var a = array.new<float>()\na.push(close)\nif a.size() > 20\n    a.shift()\nb = a.copy()\nb.sort(order.descending)\nplot(b.get(0) - a.min() + a.avg() + a.stdev())\nvar m = map.new<string, float>()\n" +
			"m.put(str.tostring(bar_index % 5), close)\ns = 0.0\nfor [k, v] in m\n    s += v * str.tonumber(k)\nplot(s)\nvar mx = matrix.new<float>(2, 2, 1)\nmx.set(bar_index % 2, 1, close)\nplot(mx.det() + mx.avg())",
		"objects": "type node\n    float v\n    node next\nvar node head = na\nhead := node.new(close, head)\ns = 0.0\nn = head\ni = 0\nwhile not na(n) and i < 5\n    s += n.v\n    n := n.next\n    i += 1\nplot(s)\nif bar_index % 4 == 0\n    head.v += 1",
		"requested objects": "type bar\n    float h = high\n    array<float> list\nf() =>\n    var all = array.new<float>()\n    all.push(close)\n    if all.size() > 30\n        all.clear()\n    bar.new(list = all)\n" +
			"b = request.security(syminfo.tickerid, \"240\", f())\nc = request.security(syminfo.tickerid, \"D\", f(), lookahead = barmerge.lookahead_on)\nif not na(b)\n    b.h += 1\nplot(na(b) ? 0 : b.h + b.list.sum())\nplot(na(c) ? 0 : c.h - c.list.last())",
		"points":  "type zone\n    box b\nvar z = zone.new(box.new(chart.point.now(high), chart.point.now(low)))\nz.b.set_right(bar_index)\nplot(z.b.get_right() + z.b.get_top())\nplot(nz(time(\"240\", 7)) - time(\"D\", -3, 2))",
		"strings": "var string s = \"\"\ns := str.length(s) > 30 ? \"\" : s + str.tostring(close, \"#.#\") + \";\"\nplot(str.length(s) + str.pos(s, \";\"))\nplot(array.size(str.split(s, \";\")))",
		"drawings": "var line l = na\nif ta.crossover(close, open)\n    l := line.new(bar_index, low, bar_index + 1, high)\n    label.new(bar_index, high, str.tostring(close))\nif not na(l)\n    l.set_xy2(bar_index, close)\n" +
			"plot(na(l) ? 0 : line.get_y2(l) + array.size(label.all))\nvar t = table.new(position.top_right, 2, 2)\nif barstate.islast\n    t.cell(0, 0, str.tostring(close))",
		"elementary": "x = math.log(close) + math.exp(close / 100) + math.pow(close, 0.3) + math.sqrt(close) + math.log10(volume + 1)\nplot(x)\nplot(math.sin(close) + math.cos(close) + math.tan(close / 50) + math.atan(close) + math.asin(0.5) + math.acos(0.1))\n" +
			"plot(math.random(0, 10, 7) + math.round(close, 2) + math.todegrees(close) + math.avg(open, high, low))",
		"matrices": "m = matrix.new<float>(0, 3)\nm.add_row(0, array.from(close, open, high))\nm.add_row(1, array.from(low, volume + 1, close))\nm.add_row(2, array.from(high, low, open + 2))\nplot(m.inv().get(0, 1))\nplot(m.eigenvalues().get(0))\n" +
			"plot(m.mult(m.transpose()).eigenvectors().get(1, 1))\nplot(m.pinv().get(2, 0))",
		"library":  "import TradingView/ta/9 as tv\n[st, dir] = tv.supertrend(3, 10)\nplot(tv.t3(close, 8) + tv.frama(close, 16) + tv.ft(close, 10) + st * dir)\nplot(tv.coppock(close) + tv.dema(close, 9) + tv.tema2(close, 7) + tv.uo())",
		"requests": "x = request.security(syminfo.tickerid, \"240\", ta.sma(close, 5))\n[a, b] = request.security(syminfo.tickerid, \"D\", [high[1], low[1]], lookahead = barmerge.lookahead_on)\nplot(x)\nplot(a - b)",
	}
}

// record runs one bar and appends the bits of all outputs.
func record(t *testing.T, m *eval.Machine, b market.Bar, out []uint64) []uint64 {
	t.Helper()
	if err := m.Keep(b); err != nil {
		t.Fatal(err)
	}
	for k, o := range m.Outputs() {
		v := o.Values[0]
		if all := m.Column(k); all != nil {
			v = all[m.Index()]
		}
		if math.IsNaN(v) {
			v = math.NaN()
		}
		out = append(out, math.Float64bits(v))
	}
	return append(out, uint64(len(m.Drawings())))
}

// holed returns bars of which some are missing.
func holed(bars []market.Bar) []market.Bar {
	r := rand.New(rand.NewPCG(8, 9))
	return slices.DeleteFunc(bars, func(market.Bar) bool { return r.IntN(40) == 0 })
}

// announced returns an environment in which all bars are known before the first one runs.
func announced(bars []market.Bar) eval.Env {
	all := market.MakeBars(len(bars), true)
	for _, b := range bars {
		all.Append(b)
	}
	env := hourly()
	env.Bars = &all
	return env
}

func TestMachine_TriesRestartsAndHoistingKeepEveryBit(t *testing.T) {
	t.Parallel()
	bars := holed(walk(700, 5))
	for name, source := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := "//@version=6\nindicator(\"" + name + "\")\n" + source + "\n"
			r := rand.New(rand.NewPCG(3, 4))
			plain, tried, stored := compile(t, source, hourly()), compile(t, source, hourly()), compile(t, source, hourly())
			ahead := compile(t, source, announced(bars))
			var want, got, again, hoisted []uint64
			for i, b := range bars {
				want = record(t, plain, b, want)
				hoisted = record(t, ahead, b, hoisted)
				for range r.IntN(3) {
					forming := b
					forming.C = b.O * (0.9 + 0.2*r.Float64())
					forming.H, forming.L = max(b.H, forming.C), min(b.L, forming.C)
					if err := tried.Try(forming, true, r.IntN(2) == 0); err != nil {
						t.Fatal(err)
					}
				}
				got = record(t, tried, b, got)
				if r.IntN(25) == 0 {
					fresh := compile(t, source, hourly())
					if err := fresh.Restore(stored.Snapshot(nil)); err != nil {
						t.Fatalf("bar %d: %v", i, err)
					}
					stored = fresh
				}
				again = record(t, stored, b, again)
			}
			for i := range want {
				if got[i] != want[i] || again[i] != want[i] || hoisted[i] != want[i] {
					t.Fatalf("value %d: plain %v, with tries %v, restored %v, hoisted %v", i, math.Float64frombits(want[i]), math.Float64frombits(got[i]), math.Float64frombits(again[i]), math.Float64frombits(hoisted[i]))
				}
			}
		})
	}
}

// TestSamples_HaveTheSameBitsEverywhere compares the values of the samples on a random walk
// with digests, which hold at every level of amd64 and on arm64.
func TestSamples_HaveTheSameBitsEverywhere(t *testing.T) {
	t.Parallel()
	bars := walk(700, 5)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(samples())) {
		m := compile(t, "//@version=6\nindicator(\""+name+"\")\n"+samples()[name]+"\n", hourly())
		var bits []uint64
		for _, bar := range bars {
			bits = record(t, m, bar, bits)
		}
		h := sha256.New()
		if err := binary.Write(h, binary.LittleEndian, bits); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%x  %s\n", h.Sum(nil)[:12], name)
	}
	const file = "testdata/bits.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != b.String() {
		t.Errorf("the bits differ from %s (%v); -update writes it:\n%s", file, err, b.String())
	}
}
