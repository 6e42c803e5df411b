package deflate

import (
	"hash/adler32"
	"testing"
)

func FuzzChecksum(f *testing.F) {
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
		if got, want := Checksum(long), adler32.Checksum(long); got != want {
			t.Fatalf("checksum of %d bytes: %08x, want %08x", len(long), got, want)
		}
	})
}

func BenchmarkChecksum(b *testing.B) {
	p := golden(b, "../testdata/golden/default.png").rows
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			Checksum(p)
		}
	})
	b.Run("standard library", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			adler32.Checksum(p)
		}
	})
}
