package raster

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkScene prints, for one run, the time to draw and to encode, and the size.
// Each time is the least, because other processes of the machine can only add.
func BenchmarkScene(b *testing.B) {
	for _, bars := range []int{200, 500} {
		b.Run(strconv.Itoa(bars)+" bars", func(b *testing.B) { benchmarkScene(b, newScene(NewStock(), 1920, 1080, bars)) })
	}
}

func benchmarkScene(b *testing.B, s *scene) {
	b.Helper()
	b.ReportAllocs()
	var out []byte
	var draw, encode []time.Duration
	for b.Loop() {
		begin := time.Now()
		f, err := s.stock.Render(s.w, s.h, s.background(), s.draw)
		if err != nil {
			b.Fatal(err)
		}
		drawn := time.Now()
		if out, err = f.EncodePNG(out[:0]); err != nil {
			b.Fatal(err)
		}
		draw, encode = append(draw, drawn.Sub(begin)), append(encode, time.Since(drawn))
		f.Release()
	}
	b.ReportMetric(slices.Min(draw).Seconds()*1000, "draw-ms")
	b.ReportMetric(slices.Min(encode).Seconds()*1000, "encode-ms")
	b.ReportMetric(float64(len(out)), "bytes")
}
