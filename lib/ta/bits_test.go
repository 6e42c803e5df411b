package ta_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"hash"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"candela/lib/ta"
)

var updateBits = flag.Bool("update-bits", false, "rewrite testdata/bits.txt; only with the arithmetic, and say so")

// TestCompute_GivesTheSameBitsEverywhere hashes everything that indicators say
// about the oracle's bars, which are made without rounding. A product that the
// compiler may fuse with an addition gives other bits at GOAMD64=v3 and on arm64
// and fails here.
func TestCompute_GivesTheSameBitsEverywhere(t *testing.T) {
	t.Parallel()
	requests := make([]ta.Request, 0, len(ta.Names()))
	for _, name := range ta.Names() {
		d, err := ta.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if family := d.Family(); family == d || family.Name != "candles" { // its members are there together
			requests = append(requests, ta.Request{Name: name})
		}
	}
	for _, raw := range []string{
		`pivot {"type":"classic","levels":5}`, `pivot {"type":"fibonacci","levels":5}`,
		`pivot {"type":"woodie","levels":5}`, `pivot {"type":"camarilla","levels":5}`,
		`pivot {"type":"traditional","levels":5}`, `pivot {"type":"dm"}`,
		`keltner {"bands_style":"range"}`, `keltner {"bands_style":"true_range"}`,
		`rsi {"show_divergences":true}`, `session_vp {"developing":true}`,
		`candles {"patterns":"all","trend_filter":"sma50_200"}`,
	} {
		name, params, _ := strings.Cut(raw, " ")
		r := ta.Request{Name: name}
		if err := json.Unmarshal([]byte(params), &r.Params); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	var got strings.Builder
	for _, r := range requests {
		s, err := ta.Resolve(r)
		if err != nil {
			t.Fatal(err)
		}
		sum := fnv.New128a()
		for _, set := range oracleSets() {
			env := ta.Env{Interval: set.Interval}
			hashResult(sum, s.Compute(ta.Input{Env: env, Bars: set.bars()}))
		}
		got.WriteString(hex.EncodeToString(sum.Sum(nil)) + "  " + s.Key() + "\n")
	}
	path := filepath.Join("testdata", "bits.txt")
	if *updateBits {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(got.String()) {
		if !strings.Contains(string(want), line) {
			t.Errorf("on %s not what %s has: %s", runtime.GOARCH, path, line)
		}
	}
}

func hashResult(sum hash.Hash, r *ta.Result) {
	add := func(values ...float64) {
		for _, v := range values {
			if v != v {
				v = math.NaN() // its payload is the processor's choice
			}
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], math.Float64bits(v))
			sum.Write(word[:])
		}
	}
	for _, l := range r.Lines {
		add(l.Values...)
	}
	for _, h := range r.Hist {
		add(h.Values...)
	}
	for _, f := range r.Fills {
		add(f.Y1...)
		add(f.Y2...)
	}
	for _, s := range r.Signals {
		add(float64(s.X), s.Y)
	}
	for _, l := range r.HLines {
		add(l.Y)
	}
	for _, b := range r.HBars {
		add(b.Y, b.Height, b.Width, b.Offset)
	}
	for _, d := range r.DivLines {
		add(float64(d.X1), float64(d.X2), d.Y1, d.Y2)
	}
}
