package candle

import (
	"iter"
	"maps"
	"testing"

	"candela/lib/ta/calc"
)

// sequence is a run of bars at whose end TA-Lib finds a pattern.
type sequence struct {
	Pattern string         `json:"pattern"`
	Value   int            `json:"value"`
	Bars    []ticks        `json:"bars"`
	Last    map[string]int `json:"last"` // the values of all patterns at the last bar
}

type madeFile struct {
	Sequences  []sequence        `json:"sequences"`
	Neighbours map[string]string `json:"neighbours"`
}

// atEnd returns the values at the last bar.
func atEnd(bars []bar) map[string]int {
	s, values := New(calc.NewSlab()), map[string]int{}
	for _, b := range bars {
		s.Step(b[0], b[1], b[2], b[3])
	}
	for p := range Count {
		if v := s.Value(p); v != 0 {
			values[p.Name()] = v
		}
	}
	return values
}

// TestMade_EveryPatternFires compares a sequence for each value of each pattern.
func TestMade_EveryPatternFires(t *testing.T) {
	t.Parallel()
	var file madeFile
	readJSON(t, "made.json", &file)
	fired := map[string]map[int]bool{}
	for _, m := range file.Sequences {
		for _, unit := range []float64{1, 2, 0.1, 100} {
			if got := atEnd(priced(m.Bars, unit)); got[m.Pattern] != m.Value || !maps.Equal(got, m.Last) {
				t.Errorf("%s %d with %g ticks per unit: ours %v, TA-Lib's %v", m.Pattern, m.Value, unit, got, m.Last)
			}
		}
		if fired[m.Pattern] == nil {
			fired[m.Pattern] = map[int]bool{}
		}
		fired[m.Pattern][m.Value] = true
	}
	for p := range Count {
		up, down := fired[p.Name()][100], fired[p.Name()][-100]
		if up != (p.Plain()+p.Bull() != "") || down != (p.Bear() != "") {
			t.Errorf("%s fires bullish %v and bearish %v, against its texts", p.Name(), up, down)
		}
		if p.Confirmed() != (fired[p.Name()][200] && fired[p.Name()][-200]) {
			t.Errorf("%s: confirmations are not as the pattern says", p.Name())
		}
	}
}

// TestMade_Neighbours changes the last five bars of the sequences: one price moves by a
// tick or to another price there, or open and close are exchanged. This leads across the
// limits of the rules, and to their ties.
func TestMade_Neighbours(t *testing.T) {
	t.Parallel()
	var file madeFile
	readJSON(t, "made.json", &file)
	found, at := map[string]*column{}, 0
	for _, m := range file.Sequences {
		for bars := range neighbours(m.Bars) {
			for name, v := range atEnd(priced(bars, 100)) {
				if found[name] == nil {
					found[name] = &column{}
				}
				found[name].bars, found[name].values = append(found[name].bars, at), append(found[name].values, v)
			}
			at++
		}
	}
	t.Logf("%d neighbours", at)
	compare(t, "neighbours", found, file.Neighbours)
}

// neighbours are those of testdata/generate.py. The bars are valid until the next ones.
func neighbours(bars []ticks) iter.Seq[[]ticks] {
	const changed = 5
	tail := bars[len(bars)-changed:]
	return func(yield func([]ticks) bool) {
		for place := range changed * 4 {
			p := &tail[changed-1-place/4][place%4]
			here := *p
			values := []int64{here - 1, here + 1}
			for other := range changed * 4 {
				if x := tail[changed-1-other/4][other%4]; x != here {
					values = append(values, x)
				}
			}
			for _, *p = range values {
				if !yield(bars) {
					return
				}
			}
			*p = here
		}
		for back := range changed {
			b := &tail[changed-1-back]
			b[0], b[3] = b[3], b[0]
			if !yield(bars) {
				return
			}
			b[0], b[3] = b[3], b[0]
		}
	}
}
