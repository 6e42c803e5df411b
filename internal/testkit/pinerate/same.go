package main

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// forms runs a script in each way that candela does and returns a digest of every bar: bar by
// bar, with tries of forming bars between, restored at random bars, and over bars that are
// known before.
func forms(p *check.Program, bars []market.Bar) (names []string, bits [][]uint64, errs []error) {
	r := rand.New(rand.NewPCG(1, uint64(len(bars)))) //nolint:gosec // chooses bars, protects nothing
	add := func(name string, env eval.Env, before func(*eval.Machine, market.Bar) (*eval.Machine, error)) {
		out, err := digestsOf(p, env, bars, before)
		names, bits, errs = append(names, name), append(bits, out), append(errs, err)
	}
	plain := environment(len(bars))
	add("stepped", plain, nil)
	add("with tries", plain, func(m *eval.Machine, b market.Bar) (*eval.Machine, error) {
		if r.IntN(4) > 0 {
			return m, nil
		}
		b.C = b.O * (0.97 + 0.06*r.Float64())
		b.H, b.L = max(b.H, b.C), min(b.L, b.C)
		_ = m.Try(b, true, r.IntN(2) == 0) // a forming bar may fail alone
		return m, nil
	})
	add("restored", plain, func(m *eval.Machine, _ market.Bar) (*eval.Machine, error) {
		if r.IntN(len(bars)/8) > 0 {
			return m, nil
		}
		fresh, err := eval.New(p, plain)
		if err == nil {
			err = fresh.Restore(m.Snapshot(nil))
		}
		return fresh, err
	})
	known := plain
	known.Bars = columns(bars)
	add("hoisted", known, nil)
	return names, bits, errs
}

func columns(bars []market.Bar) *market.Bars {
	all := market.MakeBars(len(bars), false)
	for _, b := range bars {
		all.Append(b)
	}
	return &all
}

// digestsOf keeps all bars and returns a digest of what each gave.
func digestsOf(p *check.Program, env eval.Env, bars []market.Bar, before func(*eval.Machine, market.Bar) (*eval.Machine, error)) ([]uint64, error) {
	m, err := eval.New(p, env)
	var out []uint64
	for i := 0; err == nil && i < len(bars); i++ {
		if before != nil {
			if m, err = before(m, bars[i]); err != nil {
				return out, fmt.Errorf("restore at bar %d: %w", i, err)
			}
		}
		if err = m.Keep(bars[i]); err == nil {
			h := fnv.New64a()
			hashBar(h, m)
			if len(p.Requests) == 0 { // a try may take the steps of a request's bar ahead
				fmt.Fprint(h, m.Steps())
			}
			out = append(out, h.Sum64())
		}
	}
	return out, err
}

// hashBar adds everything that the last bar gave.
func hashBar(h io.Writer, m *eval.Machine) {
	put := func(v float64) {
		if math.IsNaN(v) {
			v = math.NaN()
		}
		_ = binary.Write(h, binary.LittleEndian, math.Float64bits(v))
	}
	for k, o := range m.Outputs() {
		if all := m.Column(k); all != nil {
			o.Values[0] = all[m.Index()]
		}
		for i := range o.Values {
			put(o.Values[i])
			put(o.Colors[i])
		}
	}
	fmt.Fprint(h, m.Conditions(), m.Alerts(), len(m.Drawings()))
}

// compareForms prints the scripts that differ between the ways of running them, and how many do not.
func compareForms(out io.Writer, all []script, libraries finder, bars []market.Bar) {
	equal, differing := 0, 0
	for _, s := range all {
		p, _ := check.Check(s.source, check.Options{Library: libraries})
		if p == nil || p.Kind == check.Library {
			continue
		}
		names, bits, errs := forms(p, bars)
		difference := ""
		for k := 1; k < len(names) && difference == ""; k++ {
			difference = firstDifference(names[k], bits[0], bits[k], errs[0], errs[k])
		}
		if difference != "" {
			differing++
			fmt.Fprintf(out, "%s: %s\n", s.path, difference)
			continue
		}
		equal++
	}
	fmt.Fprintf(out, "%d scripts give the same bits in every way, %d do not\n", equal, differing)
}

func firstDifference(name string, want, got []uint64, wanted, failed error) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("%s differs at bar %d", name, i)
		}
	}
	if fmt.Sprint(wanted) != fmt.Sprint(failed) {
		return fmt.Sprintf("%s ended with %v, stepped with %v", name, failed, wanted)
	}
	return ""
}
