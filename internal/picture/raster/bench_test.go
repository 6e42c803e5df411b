package raster

import (
	"bytes"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zlib"
)

// BenchmarkScene prints, for one run, the time to draw and to encode, the size
// and the floor: clearing an indexed frame and deflating the same bytes at
// level 1, which no picture can beat.
func BenchmarkScene(b *testing.B) {
	for _, bars := range []int{200, 500} {
		b.Run(strconv.Itoa(bars)+" bars", func(b *testing.B) { benchmarkScene(b, newScene(NewStock(), 1920, 1080, bars)) })
	}
}

func benchmarkScene(b *testing.B, s *scene) {
	b.Helper()
	b.ReportAllocs()
	var out []byte
	var draw, encode, floor []float64
	z, err := zlib.NewWriterLevel(nil, 1)
	if err != nil {
		b.Fatal(err)
	}
	blank := make([]byte, (s.w+1)*s.h)
	var sink bytes.Buffer
	for b.Loop() {
		t0 := time.Now()
		f, err := s.stock.Render(s.w, s.h, s.background(), s.draw)
		if err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		if out, err = f.EncodePNG(out[:0], DefaultLevel); err != nil {
			b.Fatal(err)
		}
		t2 := time.Now()
		clear(blank)
		sink.Reset()
		z.Reset(&sink)
		if _, err := z.Write(f.pix); err != nil {
			b.Fatal(err)
		}
		if err := z.Close(); err != nil {
			b.Fatal(err)
		}
		floor = append(floor, milliseconds(time.Since(t2)))
		draw, encode = append(draw, milliseconds(t1.Sub(t0))), append(encode, milliseconds(t2.Sub(t1)))
		f.Release()
	}
	total := least(draw) + least(encode)
	b.ReportMetric(least(draw), "draw-ms")
	b.ReportMetric(least(encode), "encode-ms")
	b.ReportMetric(total, "total-ms")
	b.ReportMetric(least(floor), "floor-ms")
	b.ReportMetric(total/least(floor), "x-floor")
	b.ReportMetric(float64(len(out)), "bytes")
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// least, because other processes of the machine can only add.
func least(v []float64) float64 { return slices.Min(v) }
