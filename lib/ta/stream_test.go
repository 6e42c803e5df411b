package ta

import (
	"flag"
	"slices"
	"testing"

	"candela/lib/market"
)

var streamBars = flag.Int("bars", 5_000, "bars that each stream is compared over; the full checks use 1000000")

// TestStream_EqualsBatch runs every stream with a peek before each step and occasional
// restarts from a snapshot, and requires the batch's bits, signals and divergences.
func TestStream_EqualsBatch(t *testing.T) {
	t.Parallel()
	bars := []*market.Bars{walk(*streamBars, 1), nasty(2_000, 5)}
	for name, s := range defaults(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, b := range bars {
				in := input(b, market.Hour1)
				if inst, ok := s.Instance.(*series); ok {
					compareStream(t, inst, in)
				}
			}
		})
	}
}

func compareStream(t *testing.T, s *series, in Input) {
	t.Helper()
	columns := in.Memory.columns(s.columns, in.Bars.Len())
	want := &Result{}
	if s.batch != nil {
		s.batch(in, columns)
		s.walk(in, columns, want)
	} else {
		s.stepAll(in, columns, want)
	}
	stream := s.Stream(in.Env)
	var signals []Signal
	var lines []DivLine
	for i := range in.Bars.Len() {
		bar := in.Bars.At(i)
		if i%97 == 5 {
			saved := stream.Snapshot(nil)
			stream = s.Stream(in.Env)
			if err := stream.Restore(saved); err != nil {
				t.Fatal(err)
			}
		}
		forming := bar
		forming.C = (bar.C + bar.O) / 2
		stream.Peek(forming)
		peeked := slices.Clone(stream.Peek(bar).Values)
		row := stream.Step(bar)
		for c, x := range row.Values {
			if !same(x, columns[c][i]) || !same(x, peeked[c]) {
				t.Fatalf("bar %d column %d: stream %v, peek %v, batch %v", i, c, x, peeked[c], columns[c][i])
			}
		}
		signals = append(signals, row.Signals...)
		lines = append(lines, row.DivLines...)
	}
	if !slices.Equal(signals, want.Signals) {
		t.Fatalf("stream gave %d signals, batch %d", len(signals), len(want.Signals))
	}
	if !slices.Equal(lines, want.DivLines) {
		t.Fatalf("stream gave %d divergences, batch %d", len(lines), len(want.DivLines))
	}
}

// TestStream_ForgetsItsStart holds the published number of bars to stability:
// after it, a shorter history gives the same bits.
func TestStream_ForgetsItsStart(t *testing.T) {
	t.Parallel()
	const shift = 777
	all := defaults(t)
	for _, text := range []string{`keltner {"bands_style":"range"}`, `keltner {"bands_style":"true_range"}`, `vwap {"anchor":"week"}`} {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Fatal(err)
		}
		all[s.Key()] = s
	}
	for name, s := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(walk(9_000, 2), market.Hour1)
			inst, ok := s.Instance.(*series)
			if !ok || inst.sum { // running totals have no level
				return
			}
			_, stable := s.Warmup(in.Env)
			late := in
			tail := in.Bars.Slice(shift, in.Bars.Len())
			late.Bars = &tail
			all, part := inst.rows(in), inst.rows(late)
			for c := range all {
				for i := stable; i < tail.Len(); i++ {
					if !same(all[c][i+shift], part[c][i]) {
						t.Fatalf("column %d differs %d bars after the start (stable: %d): %v, %v", c, i, stable, all[c][i+shift], part[c][i])
					}
				}
			}
		})
	}
}

func (s *series) rows(in Input) [][]float64 {
	columns := in.Memory.columns(s.columns, in.Bars.Len())
	if s.batch != nil {
		s.batch(in, columns)
	} else {
		s.stepAll(in, columns, &Result{})
	}
	return columns
}
