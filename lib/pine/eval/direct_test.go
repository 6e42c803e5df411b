package eval_test

import (
	"errors"
	"strings"
	"testing"

	"candela/lib/pine/eval"
)

// TestDirect has elements and squares that the direct code must leave to the general code, and
// tries, which must not change an array.
func TestDirect(t *testing.T) {
	t.Parallel()
	m := compile(t, `//@version=6
indicator("t")
var kept = array.new<float>(4, 1)
part = kept.slice(1, 3)
part.set(0, close)
kept.set(-1, kept.get(3) + 1)
for i = 0 to 3
    if i != 1
        kept.set(i, kept.get(i) + i)
float none = na
int at = na
plot(kept.get(0) * 1000000 + kept.get(-1))
plot(part.get(0) + math.pow(part.get(-1), 2) * 1000)
plot(na(kept.get(at)) and na(math.pow(none, 2)) and na(kept.get(0) + none) ? math.pow(-bar_index, 2) : -1)
`, hourly())
	for i, b := range ramp(30) {
		if err := errors.Join(m.Try(b, true, false), m.Try(b, true, true), m.Keep(b)); err != nil {
			t.Fatal(err)
		}
		n := float64(i + 1)
		third := 1 + 2*n
		want := []float64{1_000_000 + 1 + 4*n, b.C + third*third*1000, float64(i * i)}
		for k, o := range m.Outputs() {
			if !agree(o.Values[0], want[k]) {
				t.Fatalf("bar %d, plot %d: got %v, want %v", i, k, o.Values[0], want[k])
			}
		}
	}
}

// TestDirect_EndsAtItsSteps counts the steps of the direct code as those of the general code.
func TestDirect_EndsAtItsSteps(t *testing.T) {
	t.Parallel()
	steps := func(index string) int64 {
		m := compile(t, "//@version=6\nindicator(\"t\")\na = array.from(1.0, 2, 3)\nx = 0.0\nfor i = 0 to 99\n    a.set(0, i)\n    x += a.get("+index+")\nplot(x)\n", hourly())
		if err := m.Keep(ramp(1)[0]); err != nil {
			t.Fatal(err)
		}
		return m.Steps()
	}
	if own, last := steps("2"), steps("-1"); own != last {
		t.Errorf("got %d steps with an index of its own and %d from the end", own, last)
	}
	env := hourly()
	env.Limits = eval.ChartLimits()
	env.Limits.BarSteps = 5000
	m := compile(t, "//@version=6\nindicator(\"t\")\na = array.from(1.0)\nfor i = 0 to 1000000\n    a.set(0, a.get(0) + 1)\nplot(a.get(0))\n", env)
	if err := m.Keep(ramp(1)[0]); err == nil || !strings.Contains(err.Error(), "steps") {
		t.Errorf("got %v", err)
	}
}

// TestDirect_SizesAndConditions has sizes that the direct code must leave to the general code,
// and conditions whose operands are read without a call.
func TestDirect_SizesAndConditions(t *testing.T) {
	t.Parallel()
	m := compile(t, `//@version=5
indicator("t")
var a = array.new<float>(4, 1)
part = a.slice(1, 3)
n = 0
count() => array.size(a) + 0
for i = 0 to 9
    if i < array.size(a) and (i - 1) > 0
        n += 1
    if array.size(part) <= i or i > count() or n == 100
        n += 10
lower = close - 1 < open, upper = close + 1 <= open
other = open >= math.max(close, 0) or (close + 1) > open and (close + 1) >= open
float none = na
plot(n)
plot((lower ? 1 : 0) + (upper ? 10 : 0) + (other ? 100 : 0) + (none + 1 > 0 or none < math.abs(none) ? 1000 : 0))
`, hourly())
	for i, b := range ramp(5) {
		if err := errors.Join(m.Try(b, true, false), m.Keep(b)); err != nil {
			t.Fatal(err)
		}
		if got := []float64{m.Outputs()[0].Values[0], m.Outputs()[1].Values[0]}; got[0] != 82 || got[1] != compared(b.O, b.C) {
			t.Fatalf("bar %d: got %v, want 82 and %v", i, got, compared(b.O, b.C))
		}
	}
	m = compile(t, "//@version=6\nindicator(\"t\")\narray<float> a = na\nplot(array.size(a))\n", hourly())
	if err := m.Keep(ramp(1)[0]); err == nil {
		t.Error("the size of no array: got no error")
	}
}

// compared is the second plot of the script above.
func compared(o, c float64) (sum float64) {
	if c-1 < o {
		sum++
	}
	if c+1 <= o {
		sum += 10
	}
	if o >= max(c, 0) || c+1 > o {
		sum += 100
	}
	return sum
}
