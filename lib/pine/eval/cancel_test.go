package eval_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// cancellations is how many runs TestCancel_EndsAnyWork ends.
var cancellations = flag.Int("cancellations", longtest.Pick(60, 1000), "runs that are cancelled")

var errGone = errors.New("the client has gone")

// leaving is a budget whose work must end when its clock has run for so long.
type leaving struct {
	clock clock
	after time.Duration
}

func (l leaving) Hold(int64) error { return nil }

func (l leaving) Pause() error {
	if l.clock.used() < l.after {
		return nil
	}
	return errGone
}

// heavy are scripts that work for long, in every kind of work that a machine does.
func heavy() []string {
	const text = "var S = str.repeat(\"ab\", 20000)\n"
	return []string{
		"x = 0.0\nwhile true\n    x += close[1]",
		"f(x) =>\n    y = x\n    for i = 0 to 1000\n        y += math.sin(i)\n    y\nz = 0.0\nwhile true\n    z += f(z)",
		text + "while true\n    x = str.match(S, \"((a|b|ab)+?c)|(a?b?){20}d\")",
		text + "while true\n    x = str.upper(S) + \"x\" == str.lower(S)",
		text + "while true\n    x = array.size(str.split(str.substring(S, 0, 4000), \"a\"))",
		text + "while true\n    x = str.length(str.replace_all(S, \"a\", \"c\"))",
		text + "a = array.new<string>(3000, S)\nwhile true\n    a.sort()\n    a.reverse()",
		"a = array.new<float>(90000, 0)\nwhile true\n    for i = 0 to 1000\n        a.set(i * 80, math.sin(i))\n    a.sort(order.descending)",
		"a = array.new<float>(90000, 0)\nwhile true\n    x = a.median() + a.stdev() + a.percentile_nearest_rank(50)",
		"m = matrix.new<float>(55, 55, 0)\nfor i = 0 to 54\n    for j = 0 to 54\n        m.set(i, j, math.sin(i * j + i))\nwhile true\n    x = m.eigenvalues()",
		"m = matrix.new<float>(55, 55, 0)\nfor i = 0 to 54\n    for j = 0 to 54\n        m.set(i, j, math.sin(i + j))\nwhile true\n    x = m.eigenvectors()",
		"m = matrix.new<float>(60, 60, 0.01)\nwhile true\n    x = m.pow(1000)",
		"m = matrix.new<float>(90, 90, 0.01)\nwhile true\n    x = m.inv()\n    y = m.pinv()\n    z = m.rank()",
		"while true\n    x = ta.percentile_linear_interpolation(close, 40, 50) + ta.median(close, 30) + ta.rci(close, 30)",
		"while true\n    x = ta.highest(-bar_index, 3000) + ta.alma(close, 3000, 0.85, 6) + ta.cci(close, 3000) + ta.correlation(close, open, 3000)",
		"m = map.new<string, float>()\nfor i = 0 to 5000\n    m.put(str.tostring(i), i)\nwhile true\n    x = m.copy()\n    y = m.keys()\n    z = m.values()",
		"while true\n    label.new(bar_index, close, str.format(\"{0,number,#.####} {1}\", close, time))",
		"var t = table.new(position.top_left, 100, 100)\nwhile true\n    t.clear(0, 0, 99, 99)",
		"while true\n    x = hour(time, \"Europe/Berlin\") + year(time, \"UTC+\" + str.tostring(bar_index % 10))",
		"while true\n    x = str.tostring(array.new<float>(3000, 1.5), \"#.##\")",
	}
}

// TestCancel_EndsAnyWork cancels runs of heavy scripts at random moments and measures, from outside the machine, how
// much processor time they take after that.
func TestCancel_EndsAnyWork(t *testing.T) { //nolint:paralleltest // it measures
	const most = 100 * time.Millisecond
	all := heavy()
	programs := make([]*check.Program, len(all))
	for i, body := range all {
		p, found := check.Check("//@version=6\nindicator(\"t\")\n"+body+"\n", check.Options{})
		if p == nil {
			t.Fatalf("%v\n%s", found, body)
		}
		programs[i] = p
	}
	r := rand.New(rand.NewPCG(longtest.Seed(), 3))
	bars, worst, ended := walk(400, 5), time.Duration(0), 0
	for k := range *cancellations {
		i := k % len(all)
		after := time.Duration(r.Int64N(int64(50 * time.Millisecond)))
		late, err := cancelled(programs[i], after, bars)
		if !errors.Is(err, errGone) {
			t.Errorf("script %d ended with %v after %v\n%s", i, err, after, all[i])
			continue
		}
		ended++
		if worst = max(worst, late); late > most {
			t.Errorf("script %d took %v after the end of its run, want at most %v\n%s", i, late, most, all[i])
		}
	}
	t.Logf("%d runs ended, the last %v after their cancellation", ended, worst)
}

// cancelled runs a script whose run ends after so much processor time, and returns how much it took after that.
func cancelled(p *check.Program, after time.Duration, bars []market.Bar) (late time.Duration, err error) {
	clock := startClock()
	defer clock.stop()
	env := hourly()
	env.Limits = eval.Limits{BarSteps: 1 << 40, TotalSteps: 1 << 40, Memory: 1 << 30, Instances: 20_000, TotalTime: time.Hour}
	env.Budget = leaving{clock: clock, after: after}
	m, err := eval.New(p, env)
	for i := 0; err == nil && i < len(bars); i++ {
		err = m.Keep(bars[i])
	}
	return clock.used() - after, err
}
