package raster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden images; look at each before committing it")

// goldens are the pictures kept in testdata, by name.
func goldens(s *Stock) map[string]func(*testing.T) *Frame {
	render := func(w, h int, bg Color, draw func(*Frame)) func(*testing.T) *Frame {
		return func(t *testing.T) *Frame {
			t.Helper()
			f, err := s.Render(w, h, bg, draw)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
	}
	dark := newScene(s, 960, 540, 120)
	light := newScene(s, 960, 540, 120)
	light.dark = false
	trueColor := func(t *testing.T) *Frame {
		t.Helper()
		f, err := s.TrueColorFrame(dark.w, dark.h, dark.background())
		if err != nil {
			t.Fatal(err)
		}
		dark.draw(f)
		return f
	}
	bg := Hex(0x131722)
	return map[string]func(*testing.T) *Frame{
		"scene-dark":       render(dark.w, dark.h, dark.background(), dark.draw),
		"scene-light":      render(light.w, light.h, light.background(), light.draw),
		"scene-true-color": trueColor,
		"lines":            render(320, 240, bg, drawLines),
		"areas":            render(320, 200, bg, drawAreas),
		"shapes":           render(320, 120, bg, drawShapes),
		"text":             render(560, 330, bg, func(f *Frame) { drawTexts(f, s) }),
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, render := range goldens(NewStock()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := render(t)
			defer f.Release()
			compareGolden(t, name, encode(t, f))
		})
	}
}

// TestGolden_Bytes holds the encoded bytes as digests: the same on every
// architecture. A new release of the compressor may change them; the pixels
// above must not move with them.
func TestGolden_Bytes(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "golden", "digests.txt")
	lines := make([]string, 0, 7)
	stock := NewStock()
	all := goldens(stock)
	for _, name := range []string{"areas", "lines", "scene-dark", "scene-light", "scene-true-color", "shapes", "text"} {
		f := all[name](t)
		sum := sha256.Sum256(encode(t, f))
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+name)
		f.Release()
	}
	if len(lines) != len(all) {
		t.Fatalf("%d digests for %d goldens", len(lines), len(all))
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		writeFile(t, path, []byte(got))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("encoded bytes differ:\ngot\n%swant\n%s", got, want)
	}
}

func encode(t *testing.T, f *Frame) []byte {
	t.Helper()
	b, err := f.EncodePNG(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// compareGolden compares decoded pixels exactly. On a difference it leaves
// got, want and diff in the temporary folder it names.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".png")
	if *update {
		writeFile(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := decode(t, got), decode(t, want)
	if a.Rect != b.Rect {
		t.Fatalf("%s is %v, want %v", name, a.Rect, b.Rect)
	}
	diff, n := difference(a, b)
	if n == 0 {
		return
	}
	dir := filepath.Join(os.TempDir(), "candela-raster-golden")
	writeFile(t, filepath.Join(dir, name+"-got.png"), got)
	writeFile(t, filepath.Join(dir, name+"-want.png"), want)
	var buf bytes.Buffer
	if err := png.Encode(&buf, diff); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, name+"-diff.png"), buf.Bytes())
	t.Errorf("%s: %d pixels differ; see %s", name, n, dir)
}

// difference marks in red each pixel that differs, on a faint copy of want.
func difference(got, want *image.RGBA) (*image.RGBA, int) {
	diff := image.NewRGBA(want.Rect)
	n := 0
	for y := range want.Rect.Dy() {
		for x := range want.Rect.Dx() {
			g, w := got.RGBAAt(x, y), want.RGBAAt(x, y)
			if g != w {
				n++
				diff.SetRGBA(x, y, color.RGBA{255, 0, 0, 255})
				continue
			}
			diff.SetRGBA(x, y, color.RGBA{w.R / 4, w.G / 4, w.B / 4, 255})
		}
	}
	return diff, n
}

func decode(t *testing.T, b []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Rect, img, image.Point{}, draw.Src)
	return out
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
