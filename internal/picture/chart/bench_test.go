package chart

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/draw"
	"image/png"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zlib"

	"candela/internal/picture/raster"
)

// wide is the scene the design gives figures for: 1920x1080, four averages,
// volume, RSI, MACD.
func wide(n int) *Spec {
	s := basic(n)
	s.Width, s.Height = 1920, 1080
	return s
}

// scanlines returns what was compressed into a PNG.
func scanlines(tb testing.TB, file []byte) []byte {
	tb.Helper()
	var data []byte
	for at := 8; at < len(file); {
		n := int(binary.BigEndian.Uint32(file[at:]))
		if string(file[at+4:at+8]) == "IDAT" {
			data = append(data, file[at+8:at+8+n]...)
		}
		at += 12 + n
	}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// BenchmarkRender prints, from one run, where the time of a picture goes and how
// far it is from the floor: to clear the frame and to deflate its bytes once.
// Each figure is the best of the run, which a busy machine disturbs least.
func BenchmarkRender(b *testing.B) {
	for _, n := range []int{200, 500} {
		b.Run(notation{}.text(float64(n)), func(b *testing.B) { benchmarkRender(b, wide(n)) })
	}
}

func benchmarkRender(b *testing.B, spec *Spec) {
	b.Helper()
	r := NewRenderer()
	file, err := r.PNG(spec)
	if err != nil {
		b.Fatal(err)
	}
	raw := scanlines(b, file)
	blank := make([]byte, len(raw))
	z, err := zlib.NewWriterLevel(io.Discard, raster.DefaultLevel)
	if err != nil {
		b.Fatal(err)
	}
	var drawing, encode, total, floor []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		p, err := r.frame(spec)
		if err != nil {
			b.Fatal(err)
		}
		drawn := time.Now()
		if p.out, err = p.EncodePNG(p.out[:0], raster.DefaultLevel); err != nil {
			b.Fatal(err)
		}
		out := append([]byte(nil), p.out...)
		end := time.Now()
		r.release(p)
		drawing, encode, total = append(drawing, drawn.Sub(begin)), append(encode, end.Sub(drawn)), append(total, end.Sub(begin))
		_ = out

		begin = time.Now()
		clear(blank)
		z.Reset(io.Discard)
		if _, err := z.Write(raw); err != nil {
			b.Fatal(err)
		}
		if err := z.Close(); err != nil {
			b.Fatal(err)
		}
		floor = append(floor, time.Since(begin))
	}
	ms := func(d []time.Duration) float64 { return slices.Min(d).Seconds() * 1000 }
	b.ReportMetric(ms(drawing), "draw-ms")
	b.ReportMetric(ms(encode), "encode-ms")
	b.ReportMetric(ms(total), "total-ms")
	b.ReportMetric(ms(floor), "floor-ms")
	b.ReportMetric(ms(total)/ms(floor), "x-floor")
	b.ReportMetric(float64(len(file)), "bytes")
	b.ReportMetric(standard(b, file), "image/png-ms")
	b.ReportMetric(testing.AllocsPerRun(10, func() { _, _ = r.PNG(spec) }), "allocs")
}

// standard returns the milliseconds image/png takes to encode the same picture,
// as the RGBA image that other renderers draw on, at its default level.
func standard(b *testing.B, file []byte) float64 {
	b.Helper()
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		b.Fatal(err)
	}
	rgba := image.NewRGBA(img.Bounds())
	draw.Draw(rgba, rgba.Bounds(), img, image.Point{}, draw.Src)
	best := time.Hour
	for range 3 {
		begin := time.Now()
		if err := png.Encode(io.Discard, rgba); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(begin))
	}
	return best.Seconds() * 1000
}

// TestRender_StaysWithinBudget is not parallel: it counts allocations.
func TestRender_StaysWithinBudget(t *testing.T) {
	const mostBytes, mostAllocs = 130_000, 300
	r := NewRenderer()
	spec := wide(200)
	file, err := r.PNG(spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(file) > mostBytes {
		t.Errorf("%d bytes, at most %d allowed", len(file), mostBytes)
	}
	allocs := testing.AllocsPerRun(5, func() {
		if _, err := r.PNG(spec); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > mostAllocs {
		t.Errorf("%.0f allocations, at most %d allowed", allocs, mostAllocs)
	}
}
