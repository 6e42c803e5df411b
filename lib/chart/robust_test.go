package chart

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

// TestRender_Concurrent draws 200 pictures at once: the same spec must give the
// same bytes in concurrent renders, and idle memory must stay bounded.
func TestRender_Concurrent(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	specs := []*Spec{basic(120), rich(Light), small(), styles(), noted()}
	for _, s := range specs {
		s.Width, s.Height = max(s.Width/3, 400), 300 // the race detector is slow
	}
	want := make([][]byte, len(specs))
	for i, s := range specs {
		var err error
		if want[i], err = r.PNG(s); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			k := i % len(specs)
			got, err := r.PNG(specs[k])
			if err != nil {
				t.Error(err)
			} else if !bytes.Equal(got, want[k]) {
				t.Errorf("spec %d gave other bytes beside others", k)
			}
		})
	}
	wg.Wait()
}

// TestRender_MemoryStaysBounded is not parallel: it reads the size of the heap.
func TestRender_MemoryStaysBounded(t *testing.T) {
	r := NewRenderer()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	spec := basic(60)
	for i := range 60 { // as many sizes as calls, so that no frame fits the next
		spec.Width, spec.Height = 300+i*17, 300+i*11
		if _, err := r.PNG(spec); err != nil {
			t.Fatal(err)
		}
	}
	const most = 96 << 20
	if after := heap(); after > before+most {
		t.Errorf("%d MiB kept after 60 pictures, at most %d allowed", (after-before)>>20, most>>20)
	}
}

// TestRender_SameBytesEverywhere holds the bytes against digests made on amd64.
// CI runs it with GOAMD64=v1 and v3; on arm64 it must pass unchanged.
func TestRender_SameBytesEverywhere(t *testing.T) {
	t.Parallel()
	const file = "testdata/sha256.txt"
	r := NewRenderer()
	var got strings.Builder
	for _, name := range []string{"default", "light", "log", "bars_2000", "scale_2", "styles", "size_200", "dust"} {
		data, err := r.PNG(scenes()[name]())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		got.WriteString(hex.EncodeToString(sum[:]) + "  " + name + ".png\n")
	}
	if *update {
		writeFile(t, file, []byte(got.String()))
		return
	}
	want, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("on %s the bytes differ:\n%swant\n%s", runtime.GOARCH, got.String(), want)
	}
}

// TestRender_StaysIndexed draws charts with many areas over one another, the one
// that is drawn when nothing is asked for among them: in true colour they would
// take twice the time and the bytes.
func TestRender_StaysIndexed(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	for _, names := range [][]string{
		{"ema_stack", "cipher_b", "macd"},
		{"ema_stack", "bbands", "vpvr", "cipher_b", "kalman_volume", "rsi_mfi_stoch"},
		{"ichimoku", "supertrend", "bbands", "keltner", "donchian", "stoch"},
	} {
		for _, theme := range []Theme{Dark, Light} {
			spec := scenes()["default"]()
			spec.Theme, spec.Results = theme, nil
			for _, name := range names {
				spec.Results = append(spec.Results, Named{Name: name, Result: compute(t, name, spec)})
			}
			file, err := r.PNG(spec)
			if err != nil {
				t.Fatal(err)
			}
			if colorsOf(t, file) == 0 {
				t.Errorf("%v in theme %v needs more than a palette", names, theme)
			}
		}
	}
}

// colorsOf returns how many colours the palette of a file has, 0 in true colour.
func colorsOf(t *testing.T, file []byte) int {
	t.Helper()
	header, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	palette, _ := header.ColorModel.(color.Palette)
	return len(palette)
}

func compute(t *testing.T, name string, spec *Spec) *ta.Result {
	t.Helper()
	s, err := ta.Resolve(ta.Request{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s.Compute(ta.Input{Env: ta.Env{Interval: spec.Interval}, Bars: &spec.Bars})
}

// TestRender_FallsBackToTrueColour draws more tints than a palette holds.
func TestRender_FallsBackToTrueColour(t *testing.T) {
	t.Parallel()
	spec := basic(120)
	spec.Width, spec.Height = 500, 300
	r := &ta.Result{Label: "Clouds", Overlay: true}
	for k := range 14 { // each overlaps all the others somewhere
		low, high := nans(120), nans(120)
		for i := range low {
			low[i] = 40000 + 25000*math.Sin(float64(i*(k+3))/90)
			high[i] = low[i] + 9000*math.Cos(float64(i*(k+5))/70)
		}
		r.Fills = append(r.Fills, ta.Fill{Y1: low, Y2: high, Style: ta.FillStyle(k % 4)})
	}
	spec.Results = append(spec.Results, Named{"clouds", r})
	file, err := NewRenderer().PNG(spec)
	if err != nil {
		t.Fatal(err)
	}
	if n := colorsOf(t, file); n > 0 {
		t.Errorf("%d colours fit the palette; the test needs more", n)
	}
	if got := rgb(decode(t, file), 1, 1); got != [3]uint8{0x13, 0x17, 0x22} {
		t.Errorf("the background is %x", got)
	}
}

// TestRender_LargestPicture draws the most bars on the most pixels, and the
// fewest pixels that the most bars must fit.
func TestRender_LargestPicture(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	for _, side := range []int{MaxSide, MinSide} {
		spec := basic(MaxBars)
		spec.Results = spec.Results[:1]
		spec.Width, spec.Height = side, side
		file, err := r.PNG(spec)
		if err != nil {
			t.Fatal(err)
		}
		if header, err := png.DecodeConfig(bytes.NewReader(file)); err != nil || header.Width != side || header.Height != side {
			t.Errorf("%v, %v for %d", header, err, side)
		}
	}
}

// dice reads decisions from fuzz data and answers zero when it runs out.
type dice struct{ data []byte }

func (d *dice) n(limit int) int {
	if len(d.data) == 0 || limit < 2 {
		return 0
	}
	v := int(d.data[0])
	d.data = d.data[1:]
	if limit > 256 && len(d.data) > 0 {
		v = v<<8 | int(d.data[0])
		d.data = d.data[1:]
	}
	return v % limit
}

// float is mostly an ordinary price and sometimes a monster.
func (d *dice) float() float64 {
	monsters := [...]float64{
		0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
		5e-324, 1e-12, 1e12, -1, 1e300, 1e-300,
	}
	k := d.n(256)
	switch {
	case k < 26:
		return monsters[k%len(monsters)]
	case k < 40 && len(d.data) >= 8:
		v := math.Float64frombits(binary.LittleEndian.Uint64(d.data))
		d.data = d.data[8:]
		return v
	}
	return 100 + float64(k)/8 + float64(d.n(100))/100
}

func (d *dice) floats(n int) []float64 {
	v := make([]float64, max(0, n+d.n(3)-1))
	for i := range v {
		v[i] = d.float()
	}
	return v
}

func (d *dice) label() string {
	return [...]string{
		"", "buy", "sell", "flip_up", "gold_buy", "RSI(14)", "EMA 8", "wt_bull_div", "\x00\xff", "a(b)", strings.Repeat("W", 300), "\u4e2d\u6587",
	}[d.n(12)]
}

func (d *dice) result(n int) *ta.Result {
	r := &ta.Result{Label: d.label(), Overlay: d.n(2) == 0}
	if d.n(3) == 0 {
		r.YRange = &[2]float64{d.float(), d.float()}
	}
	for range d.n(12) {
		r.Lines = append(r.Lines, ta.Line{Label: d.label(), Values: d.floats(n), Style: ta.LineStyle(d.n(10))})
	}
	for range d.n(3) {
		r.Hist = append(r.Hist, ta.Hist{Values: d.floats(n), Base: d.float(), Style: ta.HistStyle(d.n(5))})
	}
	for range d.n(20) {
		r.Signals = append(r.Signals, ta.Signal{X: d.n(n+4) - 2, Y: d.float(), Label: d.label()})
	}
	for range d.n(4) {
		r.HLines = append(r.HLines, ta.HLine{Y: d.float(), Label: d.label(), Style: ta.HLineStyle(d.n(5))})
	}
	for range d.n(3) {
		r.Fills = append(r.Fills, ta.Fill{Y1: d.floats(n), Y2: d.floats(n), Style: ta.FillStyle(d.n(5))})
	}
	for range d.n(6) {
		r.HBars = append(r.HBars, ta.HBar{Y: d.float(), Height: d.float(), Width: d.float(), Offset: d.float(), Left: d.n(2) == 0, Style: ta.HBarStyle(d.n(6))})
	}
	for range d.n(4) {
		r.DivLines = append(r.DivLines, ta.DivLine{X1: d.n(n+4) - 2, X2: d.n(n+4) - 2, Y1: d.float(), Y2: d.float(), Dashed: d.n(2) == 0})
	}
	return r
}

func (d *dice) spec() *Spec {
	n := 1 + d.n(300)
	b := market.MakeBars(n, false)
	at := int64(d.n(60000)) * 60000
	for range n {
		at += int64(d.n(4)) * 40000
		b.Append(market.Bar{T: at, O: d.float(), H: d.float(), L: d.float(), C: d.float(), V: d.float(), TakerBuy: math.NaN()})
	}
	s := &Spec{
		Bars: b, Symbol: d.label(), Interval: append(market.Intervals(), 0, 7*market.Minute1, 3*market.Month1)[d.n(18)], Note: d.label(),
		Width: MinSide + d.n(250), Height: MinSide + d.n(150), Scale: d.n(MaxScale + 1), Theme: Theme(d.n(2)),
		Log: d.n(2) == 0, Sample: d.n(4) == 0, Forming: d.n(2) == 0,
	}
	for range d.n(10) {
		s.Results = append(s.Results, Named{d.label(), d.result(n)})
	}
	if d.n(8) == 0 {
		s.Results = append(s.Results, Named{})
	}
	for range d.n(6) {
		s.Levels = append(s.Levels, Level{Kind: LevelKind(d.n(4)), Price: d.float(), Label: d.label(), Sell: d.n(2) == 0})
	}
	return s
}

// FuzzRender draws whatever comes. No panic, a picture of the right size, and no
// write outside it: every scanline still begins with the filter byte zero.
func FuzzRender(f *testing.F) {
	for seed := range byte(24) {
		data := make([]byte, 1500)
		x := uint32(seed)*2654435761 + 1
		for i := range data {
			x = x*1664525 + 1013904223
			data[i] = byte(x >> 24)
		}
		f.Add(data)
	}
	r := NewRenderer()
	f.Fuzz(func(t *testing.T, data []byte) {
		d := dice{data}
		spec := d.spec()
		file, err := r.PNG(spec)
		if err != nil {
			t.Fatal(err)
		}
		w, h, k := spec.size()
		header, err := png.DecodeConfig(bytes.NewReader(file))
		if err != nil || header.Width != w*k || header.Height != h*k {
			t.Fatalf("%v, %v for %dx%d at %d", header, err, w, h, k)
		}
		raw := scanlines(t, file)
		stride := len(raw) / (h * k)
		for y := range h * k {
			if raw[y*stride] != 0 {
				t.Fatalf("row %d begins with %d", y, raw[y*stride])
			}
		}
	})
}
