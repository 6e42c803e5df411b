package chart

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

var update = flag.Bool("update", false, "rewrite the golden images")

const (
	goldenDir = "testdata/golden"
)

// TestGolden compares every scene with the picture that was looked at and
// accepted, pixel by pixel. A failure leaves got, want and a difference behind.
func TestGolden(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	for name, scene := range allScenes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := r.PNG(scene())
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(goldenDir, name+".png")
			want, err := os.ReadFile(file)
			if *update {
				// An old file with the same pixels stays, so that a new compressor makes no diff.
				if err == nil && samePixels(decode(t, got), decode(t, want)) {
					return
				}
				writeFile(t, file, got)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if a, b := decode(t, got), decode(t, want); !samePixels(a, b) {
				dir := t.ArtifactDir()
				writeFile(t, filepath.Join(dir, "got.png"), got)
				writeFile(t, filepath.Join(dir, "want.png"), want)
				writeFile(t, filepath.Join(dir, "diff.png"), difference(t, a, b))
				t.Errorf("%s differs; run with -artifacts to keep got, want and diff (%s)", file, dir)
			}
		})
	}
}

// TestGolden_HasNoLeftovers finds pictures of scenes that no longer exist.
func TestGolden_HasNoLeftovers(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	known := allScenes(t)
	for _, e := range entries {
		if _, ok := known[strings.TrimSuffix(e.Name(), ".png")]; !ok {
			t.Errorf("%s belongs to no scene", e.Name())
		}
	}
}

// allScenes is the list of scenes and one picture of each indicator.
func allScenes(tb testing.TB) map[string]func() *Spec {
	tb.Helper()
	all := scenes()
	defs := ta.All()
	for i := range defs {
		all["indicator_"+defs[i].Name] = func() *Spec { return catalogued(tb, &defs[i]) }
	}
	return all
}

// catalogued is the picture of one indicator with its defaults.
func catalogued(tb testing.TB, def *ta.Def) *Spec {
	tb.Helper()
	const shown = 180
	b := walk(11, 700, 65000, 4*3600)
	if def.Name == "gaps" {
		leap(&b)
	}
	b.TakerBuy = make([]float64, b.Len())
	for i := range b.TakerBuy {
		b.TakerBuy[i] = b.V[i] * (0.5 + 0.4*(b.C[i]-b.O[i])/(b.H[i]-b.L[i]+1))
	}
	selection, err := ta.Resolve(ta.Request{Name: def.Name})
	if err != nil {
		tb.Fatal(err)
	}
	result := selection.Compute(ta.Input{
		Env: ta.Env{Interval: market.Hour4}, Bars: &b, Series: outside(&b),
	})
	return &Spec{
		Bars: b.Tail(shown), Symbol: "BTCUSDT", Interval: market.Hour4, Width: 960, Height: 540,
		Results: []Named{{def.Name, lastBars(result, b.Len(), shown)}},
	}
}

// leap lets the market open elsewhere every seventeen bars.
func leap(b *market.Bars) {
	level := 1.0
	for i := range b.Len() {
		if i%17 == 0 {
			level *= 1 + 0.03*math.Sin(float64(i))
		}
		b.O[i], b.H[i], b.L[i], b.C[i] = level*b.O[i], level*b.H[i], level*b.L[i], level*b.C[i]
	}
}

// lastBars cuts a result to its last n bars.
func lastBars(r *ta.Result, all, n int) *ta.Result {
	from := all - n
	out := *r
	out.Lines, out.Hist, out.Fills = slices.Clone(r.Lines), slices.Clone(r.Hist), slices.Clone(r.Fills)
	out.Signals, out.DivLines = nil, nil
	for i := range out.Lines {
		out.Lines[i].Values = out.Lines[i].Values[from:]
	}
	for i := range out.Hist {
		out.Hist[i].Values = out.Hist[i].Values[from:]
	}
	for i := range out.Fills {
		out.Fills[i].Y1, out.Fills[i].Y2 = out.Fills[i].Y1[from:], out.Fills[i].Y2[from:]
	}
	out.Restarts, out.Profiles = nil, nil
	for _, x := range r.Restarts {
		if x -= from; x > 0 {
			out.Restarts = append(out.Restarts, x)
		}
	}
	for _, p := range r.Profiles {
		if p.From, p.To = max(p.From-from, 0), p.To-from; p.To > 0 {
			out.Profiles = append(out.Profiles, p)
		}
	}
	for _, s := range r.Signals {
		if s.X -= from; s.X >= 0 {
			out.Signals = append(out.Signals, s)
		}
	}
	for _, d := range r.DivLines {
		if d.X1, d.X2 = d.X1-from, d.X2-from; d.X1 >= 0 {
			out.DivLines = append(out.DivLines, d)
		}
	}
	return &out
}

// outside makes up the series that do not come with bars.
func outside(b *market.Bars) map[market.SeriesName][]float64 {
	n := b.Len()
	funding, interest, long, fear := nans(n), nans(n), nans(n), nans(n)
	for i := 20; i < n; i++ {
		trend := b.C[i]/b.C[i-20] - 1
		funding[i] = trend / 300
		interest[i] = 8e9 + 2e10*trend
		long[i] = 0.5 + trend
		fear[i] = min(max(50+250*trend, 0), 100)
	}
	return map[market.SeriesName][]float64{
		market.FundingRate: funding, market.OpenInterest: interest,
		market.LongAccounts: long, market.FearGreed: fear,
	}
}

// decode returns the pixels of a PNG.
func decode(tb testing.TB, file []byte) *image.RGBA {
	tb.Helper()
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Bounds(), img, image.Point{}, draw.Src)
	return out
}

func rgb(img *image.RGBA, x, y int) [3]uint8 {
	c := img.RGBAAt(x, y)
	return [3]uint8{c.R, c.G, c.B}
}

func samePixels(a, b *image.RGBA) bool {
	return a.Rect == b.Rect && bytes.Equal(a.Pix, b.Pix)
}

// difference marks in red what is not the same.
func difference(tb testing.TB, a, b *image.RGBA) []byte {
	tb.Helper()
	size := a.Bounds().Intersect(b.Bounds())
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			p, q := rgb(a, x, y), rgb(b, x, y)
			shade := color.RGBA{p[0] / 3, p[1] / 3, p[2] / 3, 255}
			if p != q {
				shade = color.RGBA{255, 0, 0, 255}
			}
			out.Set(x, y, shade)
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, out); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func writeFile(tb testing.TB, file string, data []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}
