package chart

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/draw"
	"image/png"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"candela/lib/chart/deflate"
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

// BenchmarkRender prints, from one run, where the time of a picture goes and how far it
// is from two bounds. The floor is what every PNG of this size takes: to clear the
// frame, to write the file's bytes once, and the two checksums of the format. The
// compressor is the encoder alone on finished rows, as if drawing were free. Each figure
// is the best of the run, which a busy machine disturbs least.
func BenchmarkRender(b *testing.B) {
	b.Run("default size, 200 bars", func(b *testing.B) { benchmarkRender(b, rich(Dark)) })
	for _, n := range []int{200, 500, 5000} {
		b.Run("1080p, "+notation{}.text(float64(n))+" bars", func(b *testing.B) { benchmarkRender(b, wide(n)) })
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
	frame, written := make([]byte, len(raw)), make([]byte, len(file))
	stride := len(raw) / int(binary.BigEndian.Uint32(file[20:]))
	var z deflate.Encoder
	var drawing, encode, total, floor, compressor best
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		p, err := r.frame(spec)
		if err != nil {
			b.Fatal(err)
		}
		drawn := time.Now()
		if p.out, err = p.EncodePNG(p.out[:0]); err != nil {
			b.Fatal(err)
		}
		_ = slices.Clone(p.out)
		end := time.Now()
		r.release(p)
		drawing.keep(drawn.Sub(begin))
		encode.keep(end.Sub(drawn))
		total.keep(end.Sub(begin))

		begin = time.Now()
		clear(frame)
		copy(written, file)
		sum := deflate.Checksum(raw) ^ crc32.ChecksumIEEE(written)
		floor.keep(time.Since(begin))
		begin = time.Now()
		written = z.AppendZlib(written[:0], raw, stride, 1)
		compressor.keep(time.Since(begin))
		written = written[:cap(written)][:len(file)]
		runtime.KeepAlive(sum)
	}
	b.ReportMetric(drawing.ms(), "draw-ms")
	b.ReportMetric(encode.ms(), "encode-ms")
	b.ReportMetric(total.ms(), "total-ms")
	b.ReportMetric(floor.ms(), "floor-ms")
	b.ReportMetric(total.ms()/floor.ms(), "x-floor")
	b.ReportMetric(total.ms()/compressor.ms(), "x-compressor")
	b.ReportMetric(float64(len(file)), "bytes")
	b.ReportMetric(standard(b, file), "image/png-ms")
	b.ReportMetric(testing.AllocsPerRun(10, func() { _, _ = r.PNG(spec) }), "allocs")
}

// best is the least of the durations it kept.
type best struct{ least time.Duration }

func (b *best) keep(d time.Duration) {
	if b.least == 0 || d < b.least {
		b.least = d
	}
}

func (b *best) ms() float64 { return b.least.Seconds() * 1000 }

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
	var encode best
	for range 3 {
		begin := time.Now()
		if err := png.Encode(io.Discard, rgba); err != nil {
			b.Fatal(err)
		}
		encode.keep(time.Since(begin))
	}
	return encode.ms()
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

// BenchmarkFirst compares the first picture of a renderer, which makes its glyphs and
// frames, with the next one. Each figure is the best of the run.
func BenchmarkFirst(b *testing.B) {
	spec := rich(Dark)
	var first, next best
	for b.Loop() {
		r := NewRenderer()
		for _, kept := range []*best{&first, &next} {
			begin := time.Now()
			if _, err := r.PNG(spec); err != nil {
				b.Fatal(err)
			}
			kept.keep(time.Since(begin))
		}
	}
	b.ReportMetric(first.ms(), "first-ms")
	b.ReportMetric(next.ms(), "next-ms")
	b.ReportMetric(first.ms()/next.ms(), "first/next")
}
