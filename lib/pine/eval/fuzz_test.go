package eval_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// mutate deletes, doubles or swaps words of a script.
func mutate(r *rand.Rand, source string) string {
	words := strings.SplitAfter(source, " ")
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(words)), r.IntN(len(words))
		switch r.IntN(4) {
		case 0:
			words[i] = ""
		case 1:
			words[i] += words[i]
		case 2:
			words[i], words[j] = words[j], words[i]
		default:
			words[i] = []string{"0 ", "-1 ", "1e9 ", "bar_index ", "na ", "close ", "5000 "}[r.IntN(7)]
		}
	}
	return strings.Join(words, "")
}

// runLimited runs a script that may be anything: it ends, within its limits, without an
// internal error, and a try leaves nothing behind.
func runLimited(t *testing.T, source string) bool {
	t.Helper()
	p, _ := check.Check(source, check.Options{})
	if p == nil {
		return false
	}
	env := hourly()
	env.Limits = eval.Limits{BarSteps: 20_000, TotalSteps: 200_000, Memory: 4 << 20, Instances: 500}
	m, err := eval.New(p, env)
	bars := walk(60, 8)
	for i := 0; err == nil && i < len(bars); i++ {
		before := m.Snapshot(nil)
		_ = m.Try(bars[i], true, i%2 == 0) // Keep fails as well
		after := m.Snapshot(nil)
		if len(before) != len(after) {
			t.Fatalf("a try left %d of %d numbers\n%s", len(after), len(before), source)
		}
		for k := range before {
			if before[k] != after[k] && (before[k] == before[k] || after[k] == after[k]) {
				t.Fatalf("a try changed number %d from %v to %v\n%s", k, before[k], after[k], source)
			}
		}
		err = m.Keep(bars[i])
	}
	var e *eval.Error
	if err != nil && (!errors.As(err, &e) || strings.Contains(e.Message, "internal")) {
		t.Fatalf("%v\n%s", err, source)
	}
	return true
}

func TestMachine_TakesChangedScripts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	ran := 0
	all := samples()
	for range 150 {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if runLimited(t, "//@version=6\nindicator(\"t\")\n"+mutate(r, all[name])+"\n") {
				ran++
			}
		}
	}
	if ran < 20 {
		t.Errorf("only %d of the changed scripts were valid", ran)
	}
	t.Logf("%d changed scripts ran", ran)
}

func FuzzMachine(f *testing.F) {
	for _, source := range samples() {
		f.Add("//@version=6\nindicator(\"t\")\n" + source + "\n")
	}
	f.Fuzz(func(t *testing.T, source string) { runLimited(t, source) })
}
