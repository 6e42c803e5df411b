package raster

import (
	"errors"
	"testing"
)

func TestRender_FallsBackToTrueColor(t *testing.T) {
	t.Parallel()
	calls := 0
	f, err := NewStock().Render(300, 4, Hex(0), func(f *Frame) {
		calls++
		for x := range 300 {
			f.Rect(x, 0, x+1, 4, Hex(uint32(x*0x10203)))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	if calls != 2 || !f.TrueColor() {
		t.Fatalf("drawn %d times, true colour %v", calls, f.TrueColor())
	}
	img := decode(t, encode(t, f))
	for x := range 300 {
		want := Hex(uint32(x * 0x10203))
		if got := img.RGBAAt(x, 2); got.R != want.R || got.G != want.G || got.B != want.B {
			t.Fatalf("column %d is %v, want %v", x, got, want)
		}
	}
}

func TestFrame_UsesAll256Colours(t *testing.T) {
	t.Parallel()
	f, err := NewStock().Frame(255, 2, Hex(0xABCDEF))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for x := range 255 {
			f.Rect(x, 0, x+1, 1, Hex(uint32(x)).Alpha(1))
		}
	}
	if f.Overflowed() || f.Colors() != 256 {
		t.Fatalf("%d colours, overflow %v", f.Colors(), f.Overflowed())
	}
	// The last index is the one the tables cannot hold.
	f.Polyline([]float64{0, 255}, []float64{0.5, 0.5}, 1, Hex(254), Dash{})
	if got := f.pal.rgb[f.pix[f.at(100, 0)]]; got != 254 {
		t.Fatalf("pixel is %06x", got)
	}
	f.Rect(0, 0, 1, 1, Hex(0x123456))
	if !f.Overflowed() {
		t.Fatal("257 colours fit")
	}
	if _, err := f.EncodePNG(nil); !errors.Is(err, ErrOverflow) {
		t.Fatalf("error %v, want ErrOverflow", err)
	}
}

// The indexed picture may differ from the true one on antialiased edges only,
// and by no more than the widest tolerance and a cell.
func TestFrame_IndexedIsNearTrueColor(t *testing.T) {
	t.Parallel()
	for name, dark := range map[string]bool{"dark": true, "light": false} {
		s := newScene(NewStock(), 1920, 1080, 200)
		s.dark = dark
		indexed, err := s.stock.Render(s.w, s.h, s.background(), s.draw)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := s.stock.TrueColorFrame(s.w, s.h, s.background())
		if err != nil {
			t.Fatal(err)
		}
		s.draw(truth)
		if indexed.TrueColor() {
			t.Fatalf("%s: the palette overflowed", name)
		}
		a, b := decode(t, encode(t, indexed)), decode(t, encode(t, truth))
		worst, off := uint32(0), 0
		for i := 0; i < len(a.Pix); i += 4 {
			d := max(absDiff(uint32(a.Pix[i]), uint32(b.Pix[i])), absDiff(uint32(a.Pix[i+1]), uint32(b.Pix[i+1])), absDiff(uint32(a.Pix[i+2]), uint32(b.Pix[i+2])))
			worst = max(worst, d)
			if d > 16 {
				off++
			}
		}
		t.Logf("%s: %d colours, worst channel error %d, %d pixels off by more than 16", name, indexed.Colors(), worst, off)
		if worst > 48 || off > s.w*s.h/2000 {
			t.Errorf("%s: worst error %d, %d pixels off by more than 16", name, worst, off)
		}
	}
}

func TestFrame_TranslucentAreasAreExact(t *testing.T) {
	t.Parallel()
	bg, grid, c := Hex(0x131722), Hex(0x1E2330), Hex(0x26A69A).Alpha(0.34)
	f, err := NewStock().Frame(10, 10, bg)
	if err != nil {
		t.Fatal(err)
	}
	f.VLine(5, 0, 10, 1, grid, Dash{})
	f.Rect(2, 2, 8, 8, c)
	for x, under := range map[int]Color{4: bg, 5: grid} {
		if got, want := f.pal.rgb[f.pix[f.at(x, 4)]], c.Over(under).rgb(); got != want {
			t.Errorf("column %d is %06x, want %06x", x, got, want)
		}
	}
}

func TestColor_Alpha(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]uint8{-1: 0, 0: 0, 0.34: 87, 0.5: 128, 1: 255, 7: 255} {
		if got := Hex(0x26A69A).Alpha(in).A; got != want {
			t.Errorf("Alpha(%v) is %d, want %d", in, got, want)
		}
	}
}
