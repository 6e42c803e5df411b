package raster

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"
)

// reader turns fuzz input into arguments, odd ones included.
type reader struct{ b []byte }

func (r *reader) byte() int {
	if len(r.b) == 0 {
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return int(v)
}

// float gives positions around the frame, and now and then any float64.
func (r *reader) float() float64 {
	switch k := r.byte(); k {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1 - 2*(r.byte()&1))
	case 2:
		var v [8]byte
		r.b = r.b[copy(v[:], r.b):]
		return math.Float64frombits(binary.LittleEndian.Uint64(v[:]))
	case 3:
		return float64(r.byte()-128) * 1e300
	default:
		return float64(k)/3 - 10 + float64(r.byte())/256
	}
}

func (r *reader) int() int {
	switch k := r.byte(); k {
	case 0:
		return math.MinInt
	case 1:
		return math.MaxInt
	default:
		return k - 100
	}
}

func (r *reader) floats() []float64 {
	out := make([]float64, r.byte()%12)
	for i := range out {
		out[i] = r.float()
	}
	return out
}

// rising gives xs that mostly do not step back.
func (r *reader) rising() []float64 {
	out := make([]float64, r.byte()%12)
	x := -5.0
	for i := range out {
		out[i] = x
		if x += float64(r.byte()) / 16; r.byte() == 7 {
			x = r.float()
		}
	}
	return out
}

func (r *reader) color() Color {
	return Color{uint8(r.byte()), uint8(r.byte()), uint8(r.byte()), uint8(r.byte())}
}

func (r *reader) dash() Dash { return Dash{r.float(), r.float()} }

func (r *reader) text() string {
	n := min(r.byte()%9, len(r.b))
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// step makes one drawing call.
func (r *reader) step(f *Frame, s *Stock) {
	switch r.byte() % 12 {
	case 0:
		f.Rect(r.int(), r.int(), r.int(), r.int(), r.color())
	case 1:
		f.HLine(r.int(), r.int(), r.int(), r.int(), r.color(), r.dash())
	case 2:
		f.VLine(r.int(), r.int(), r.int(), r.int(), r.color(), r.dash())
	case 3:
		f.Polyline(r.rising(), r.floats(), r.float(), r.color(), r.dash())
	case 4:
		f.Segment(r.float(), r.float(), r.float(), r.float(), r.float(), r.color(), r.dash())
	case 5:
		f.Area(r.rising(), r.floats(), r.floats(), r.color())
	case 6:
		f.AreaSplit(r.rising(), r.floats(), r.floats(), r.color(), r.color())
	case 7:
		f.Triangle(r.float(), r.float(), r.float(), r.float(), r.float(), r.float(), r.color())
	case 8:
		f.Circle(r.float(), r.float(), r.float(), r.color())
	case 9:
		f.RoundRect(r.float(), r.float(), r.float(), r.float(), r.float(), r.color())
	case 10:
		f.Text(s.Face(Weight(r.byte()), 9), r.float(), r.int(), r.text(), r.color())
	case 11:
		f.Clip(r.int(), r.int(), r.int(), r.int())
		f.Ramp(r.color(), r.color())
	}
}

func FuzzDraw(f *testing.F) {
	for op := range byte(12) {
		f.Add(append([]byte{40, 30, op}, bytes.Repeat([]byte{90, 120, 60, 200, 5, 33, 77}, 12)...))
		f.Add(append([]byte{7, 1, op}, bytes.Repeat([]byte{0, 1, 2, 255, 3, 9, 128}, 12)...))
	}
	stock := NewStock()
	f.Fuzz(func(t *testing.T, in []byte) {
		r := &reader{in}
		w, h := r.byte()%64+1, r.byte()%64+1
		for _, bpp := range []int{1, 3} {
			drawGuarded(t, stock, w, h, bpp, reader{r.b})
		}
	})
}

// drawGuarded draws into a buffer between guard bytes and checks them, the
// filter byte before every row, and that the column accumulator is empty.
func drawGuarded(t *testing.T, stock *Stock, w, h, bpp int, r reader) {
	t.Helper()
	f, err := stock.frame(w, h, bpp, Hex(0x131722))
	if err != nil {
		t.Fatal(err)
	}
	const guard = 4096
	n := len(f.pix)
	buf := bytes.Repeat([]byte{0xA5}, n+2*guard)
	copy(buf[guard:], f.pix)
	f.pix = buf[guard : guard+n] // with the capacity of the rest: a stray append or slice would show
	for range 20 {
		if len(r.b) == 0 {
			break
		}
		r.step(f, stock)
	}
	for _, side := range [][]byte{buf[:guard], buf[guard+n:]} {
		if !bytes.Equal(side, bytes.Repeat([]byte{0xA5}, guard)) {
			t.Fatal("a guard byte was overwritten")
		}
	}
	for y := range h {
		if f.pix[y*f.stride] != 0 {
			t.Fatalf("the filter byte of row %d was overwritten", y)
		}
	}
	for y, v := range f.col.cells {
		if v != 0 {
			t.Fatalf("row %d of the column is left at %d", y, v)
		}
	}
	if bpp == 1 && !f.Overflowed() {
		for i, v := range f.pix {
			if int(v) >= f.pal.n {
				t.Fatalf("byte %d has index %d of %d", i, v, f.pal.n)
			}
		}
	}
}

func FuzzEncodePNG(f *testing.F) {
	f.Add(uint16(1), uint16(1), false, []byte{1})
	f.Add(uint16(99), uint16(20), true, []byte("any old bytes"))
	f.Add(uint16(64), uint16(64), false, bytes.Repeat([]byte{0, 7}, 50))
	stock := NewStock()
	f.Fuzz(func(t *testing.T, w, h uint16, deep bool, pixels []byte) {
		bpp := 1
		if deep {
			bpp = 3
		}
		frame, err := stock.frame(int(w%100)+1, int(h%100)+1, bpp, Hex(0x131722))
		if err != nil {
			t.Fatal(err)
		}
		defer frame.Release()
		want := scatter(frame, pixels)
		out, err := frame.EncodePNG([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(out, []byte("before")) {
			t.Fatal("dst was not kept")
		}
		got, err := png.Decode(bytes.NewReader(out[len("before"):]))
		if err != nil {
			t.Fatal(err)
		}
		if got.Bounds() != want.Bounds() {
			t.Fatalf("bounds %v, want %v", got.Bounds(), want.Bounds())
		}
		for y := range want.Rect.Dy() {
			for x := range want.Rect.Dx() {
				if g := color.RGBAModel.Convert(got.At(x, y)); g != want.RGBAAt(x, y) {
					t.Fatalf("pixel (%d, %d) is %v, want %v", x, y, g, want.RGBAAt(x, y))
				}
			}
		}
	})
}

// scatter paints single pixels in up to 250 colours and returns the picture.
func scatter(f *Frame, pixels []byte) *image.RGBA {
	want := image.NewRGBA(image.Rect(0, 0, f.w, f.h))
	for y := range f.h {
		for x := range f.w {
			c := Hex(0x131722)
			if len(pixels) > 0 {
				v := uint32(pixels[(y*f.w+x)%len(pixels)]) % 250
				c = Hex(v * 0x01030B)
				f.Rect(x, y, x+1, y+1, c)
			}
			want.SetRGBA(x, y, color.RGBA{c.R, c.G, c.B, 255})
		}
	}
	return want
}
