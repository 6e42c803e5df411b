package raster

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestStock_200ConcurrentRenders(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	s := newScene(stock, 480, 270, 80)
	want := renderBytes(t, s)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if !bytes.Equal(renderBytes(t, s), want) {
				t.Error("a concurrent render differs")
			}
		})
	}
	wg.Wait()
	if len(stock.idle) > keepFrames || stock.bytes > keepBytes {
		t.Errorf("%d idle frames hold %d bytes", len(stock.idle), stock.bytes)
	}
}

func renderBytes(t *testing.T, s *scene) []byte {
	t.Helper()
	f, err := s.stock.Render(s.w, s.h, s.background(), s.draw)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer f.Release()
	b, err := f.EncodePNG(nil)
	if err != nil {
		t.Error(err)
	}
	return b
}

func TestStock_KeepsABoundedAmount(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	held := make([]*Frame, 0, 40)
	for i := range 40 {
		f, err := stock.Frame(2000, 800+20*i, Hex(0))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, f)
	}
	for _, f := range held {
		f.Release()
		f.Release() // does nothing
	}
	total := 0
	for _, f := range stock.idle {
		total += cap(f.pix)
	}
	if total != stock.bytes || total > keepBytes || len(stock.idle) > keepFrames || len(stock.idle) == 0 {
		t.Errorf("%d idle frames hold %d bytes, counted as %d", len(stock.idle), total, stock.bytes)
	}
	f, err := stock.Frame(9000, 9000, Hex(0))
	if err != nil {
		t.Fatal(err)
	}
	f.Release()
	if stock.bytes > keepBytes {
		t.Errorf("a frame of %d bytes was kept", cap(f.pix))
	}
}

func TestStock_TrimsABusyFrame(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	f, err := stock.Frame(100, 100, Hex(0))
	if err != nil {
		t.Fatal(err)
	}
	many := make([]float64, 2*keepSegs)
	for i := range many {
		many[i] = float64(i) / 100
	}
	f.Polyline(many, many, 1, Hex(0xFFFFFF), Dash{})
	for i := range 2 * keepLuts {
		f.Circle(50, 50, 10, Hex(uint32(i)).Alpha(0.99))
	}
	f.Release()
	if len(f.pal.luts) > keepLuts || cap(f.segs) > keepSegs {
		t.Errorf("an idle frame keeps %d tables and %d segments", len(f.pal.luts), cap(f.segs))
	}
}

func TestStock_RefusesSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 10}, {10, 0}, {-1, 10}, {MaxSide + 1, 10}, {10, MaxSide + 1}} {
		if _, err := NewStock().Frame(size[0], size[1], Hex(0)); err == nil {
			t.Errorf("a frame of %v was made", size)
		}
	}
}

func TestStock_ReusedFrameIsClean(t *testing.T) {
	t.Parallel()
	stock := NewStock()
	s := newScene(stock, 480, 270, 80)
	want := renderBytes(t, s)
	for range 3 {
		f, err := stock.Frame(470, 275, Hex(0xFFFFFF))
		if err != nil {
			t.Fatal(err)
		}
		f.Circle(200, 100, 90, Hex(0x102030))
		f.Clip(3, 3, 5, 5)
		f.Release()
		if !bytes.Equal(renderBytes(t, s), want) {
			t.Fatal("a reused frame shows what was drawn before")
		}
	}
}

func TestScene_AllocatesLittle(t *testing.T) {
	s := newScene(NewStock(), 1920, 1080, 200)
	var out []byte
	allocs := testing.AllocsPerRun(5, func() {
		f, err := s.stock.Render(s.w, s.h, s.background(), s.draw)
		if err != nil {
			t.Fatal(err)
		}
		if out, err = f.EncodePNG(out[:0]); err != nil {
			t.Fatal(err)
		}
		f.Release()
	})
	if allocs > 100 {
		t.Errorf("%v allocations a picture", allocs)
	}
	if len(out) > 130_000 {
		t.Errorf("%d bytes", len(out))
	}
}

// pngcheck is an independent reader that also reports what image/png forgives.
// The full checks install it.
func TestEncodePNG_PNGCheck(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("pngcheck")
	if err != nil {
		t.Skip("pngcheck is not installed: the golden images are read by image/png alone")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.png"))
	if err != nil || len(files) == 0 {
		t.Fatalf("golden images: %v, %v", files, err)
	}
	dir := t.TempDir()
	for name, render := range goldens(NewStock()) {
		path := filepath.Join(dir, name+".png")
		writeFile(t, path, encode(t, render(t)))
		files = append(files, path)
	}
	if out, err := exec.CommandContext(t.Context(), tool, append([]string{"-q"}, files...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("pngcheck: %v\n%s", err, out)
	}
}
