package raster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestFace_CapitalsFillWholePixels(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	for _, capPx := range []int{9, 12, 18, 24, 27, 36} {
		for _, w := range []Weight{Regular, Medium} {
			m := stock.Face(w, capPx).mask('H'-firstRune, 0, new(scan))
			if m.top != -capPx || m.h != capPx {
				t.Errorf("weight %d: H spans rows %d to %d, want %d to 0", w, m.top, m.top+m.h, -capPx)
			}
		}
	}
}

func TestFace_DigitsHaveOneWidth(t *testing.T) {
	t.Parallel()
	face := NewStock().Face(Medium, 9)
	for _, r := range "0123456789" {
		if got, want := face.Width(string(r)), face.Width("0"); got != want {
			t.Errorf("width of %c is %v, of 0 %v", r, got, want)
		}
	}
	if got, want := face.Width("11,111.17"), face.Width("60,004.25"); got != want {
		t.Errorf("prices of the same length are %v and %v wide", got, want)
	}
}

func TestText_EndsWhereWidthSays(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	f, err := stock.Frame(200, 40, Hex(0))
	if err != nil {
		t.Fatal(err)
	}
	face := stock.Face(Regular, 9)
	for _, s := range []string{"", "A", "AVATAR To 1.5%", "\u22122,000"} {
		if got, want := f.Text(face, 10.25, 20, s, Hex(0xFFFFFF)), 10.25+face.Width(s); got != want {
			t.Errorf("%q ends at %v, want %v", s, got, want)
		}
	}
}

func TestText_UnknownRuneIsABox(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	draw := func(s string) []byte {
		f, err := stock.Frame(40, 20, Hex(0))
		if err != nil {
			t.Fatal(err)
		}
		f.Text(stock.Face(Regular, 9), 5, 15, s, Hex(0xFFFFFF))
		return bytes.Clone(f.pix)
	}
	snowman, blank := draw("\u2603"), draw(" ")
	if bytes.Equal(snowman, blank) || !bytes.Equal(snowman, draw("\xff")) {
		t.Error("a character without a glyph must show as a box")
	}
	for _, r := range extraRunes[2:] + strings.NewReplacer("\u200d", "", "\ufe0f", "").Replace(figureRunes) { // after the space that does not break
		if s := draw(string(r)); bytes.Equal(s, snowman) || bytes.Equal(s, blank) {
			t.Errorf("%U has no glyph", r)
		}
	}
}

// The text of the target image, pixel by pixel: our masks may differ from it
// by the rounding of its palette.
func TestText_MatchesTarget(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "shared", "design", "chart-target-dark.png")
	b, err := os.ReadFile(path)
	if err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("the target image is not here: %v", err)
		}
		t.Fatal(err)
	}
	target := decode(t, b)
	stock := NewStock()
	for text, at := range map[string]struct{ baseline, width int }{"VPVR 36": {87, 60}, "EMA": {66, 30}} {
		f, err := stock.Frame(100, 24, Hex(0x131722))
		if err != nil {
			t.Fatal(err)
		}
		f.Text(stock.Face(Regular, 9), 12, 18, text, Hex(0xB2B5BE))
		worst, sum := uint32(0), uint32(0)
		for y := range 24 {
			for x := 10; x < 12+at.width; x++ {
				d := absDiff(f.pal.rgb[f.pix[f.at(x, y)]]>>16, uint32(target.RGBAAt(x, at.baseline-18+y).R))
				worst, sum = max(worst, d), sum+d
			}
		}
		n := uint32(24 * (at.width + 2))
		t.Logf("%s: worst %d, mean %.2f", text, worst, float64(sum)/float64(n))
		if worst > 48 || sum > 2*n {
			t.Errorf("%s: worst difference %d, sum %d over %d pixels", text, worst, sum, n)
		}
	}
}

// Every character of the typeface has an outline and masks, made by many at once.
func TestFace_AllGlyphs(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	var text strings.Builder
	for r := rune(firstRune); r <= lastRune; r++ {
		text.WriteRune(r)
	}
	text.WriteString(extraRunes + figureRunes)
	draw := func(s *Stock) []byte {
		f, err := s.Frame(1400, 40, Hex(0))
		if err != nil {
			t.Error(err)
			return nil
		}
		defer f.Release()
		for _, w := range []Weight{Regular, Medium} {
			f.Text(s.Face(w, 9), 0.25, 12+16*int(w), text.String(), Hex(0xFFFFFF))
		}
		return bytes.Clone(f.pix)
	}
	want := draw(NewStock())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if !bytes.Equal(draw(stock), want) {
				t.Error("text drawn by several goroutines at once differs")
			}
		})
	}
	all.Wait()
}

// BenchmarkText draws a first text, whose glyphs are made, and the next ones.
func BenchmarkText(b *testing.B) {
	const text = "BTCUSDT 4h 67,314.25"
	f, err := NewStock().Frame(400, 40, Hex(0))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			f.Text(NewStock().Face(Medium, 9), 5, 20, text, Hex(0xFFFFFF))
		}
	})
	b.Run("next", func(b *testing.B) {
		face := NewStock().Face(Medium, 9)
		for b.Loop() {
			f.Text(face, 5, 20, text, Hex(0xFFFFFF))
		}
	})
}
