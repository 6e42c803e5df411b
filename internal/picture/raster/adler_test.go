package raster

import (
	stdadler "hash/adler32"
	"testing"
)

func FuzzAdler32(f *testing.F) {
	f.Add([]byte("Wikipedia"), uint16(1))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255}, uint16(9000))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, uint16(700))
	f.Fuzz(func(t *testing.T, p []byte, repeat uint16) {
		long := make([]byte, 0, 1<<16)
		for range int(repeat) + 1 {
			if len(long)+len(p) > cap(long) {
				break
			}
			long = append(long, p...)
		}
		if got, want := adler32(long), stdadler.Checksum(long); got != want {
			t.Fatalf("adler32 of %d bytes: %08x, want %08x", len(long), got, want)
		}
	})
}

func BenchmarkAdler32(b *testing.B) {
	s := newScene(NewStock(), 1920, 1080, 200)
	f, err := s.stock.Render(s.w, s.h, s.background(), s.draw)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(f.pix)))
		for b.Loop() {
			adler32(f.pix)
		}
	})
	b.Run("standard library", func(b *testing.B) {
		b.SetBytes(int64(len(f.pix)))
		for b.Loop() {
			stdadler.Checksum(f.pix)
		}
	})
}
