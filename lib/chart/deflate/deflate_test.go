package deflate

import (
	"bytes"
	"compress/zlib"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
)

// roundTrip compresses p, checks the size against the bound of random bytes, and
// returns the stream after it has been inflated to p.
func roundTrip(t *testing.T, e *Encoder, p picture) []byte {
	t.Helper()
	out := e.AppendZlib([]byte("before"), p.rows, p.stride, p.pixel)
	if string(out[:6]) != "before" {
		t.Fatal("dst was not kept")
	}
	out = out[6:]
	r, err := zlib.NewReader(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	back, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: inflate after %d of %d bytes: %v", p.name, len(back), len(p.rows), err)
	}
	if !bytes.Equal(back, p.rows) {
		t.Fatalf("%s: %d bytes became other bytes", p.name, len(p.rows))
	}
	if most := len(p.rows) + len(p.rows)/400 + 32; len(out) > most {
		t.Fatalf("%s: %d bytes grew to %d, at most %d allowed", p.name, len(p.rows), len(out), most)
	}
	return out
}

// FuzzAppendZlib repeats the input as rows, so that all kinds of matches occur.
func FuzzAppendZlib(f *testing.F) {
	f.Add([]byte{}, uint16(1), uint8(1), uint16(0))
	f.Add([]byte("any old bytes"), uint16(99), uint8(4), uint16(900))
	f.Add([]byte{0}, uint16(65535), uint8(0), uint16(65535))
	f.Add(bytes.Repeat([]byte{0, 7}, 500), uint16(64), uint8(3), uint16(3))
	e := new(Encoder)
	f.Fuzz(func(t *testing.T, p []byte, stride uint16, pixel uint8, repeat uint16) {
		rows := bytes.Clone(p)
		for i := range int(repeat) {
			if len(p) == 0 || len(rows) > 1<<14 {
				break
			}
			rows = append(rows, p...)
			rows[len(rows)-1-i%len(p)] ^= byte(i)
		}
		roundTrip(t, e, picture{"fuzz", rows, int(stride), int(pixel)})
	})
}

// noise returns n bytes of a kind: constant, random, random from few, steps, and runs of
// lengths around those at which a match is divided.
func noise(r *rand.Rand, kind, n int) []byte {
	p := make([]byte, n)
	for i := 0; i < n; {
		run := 1
		switch kind {
		case 0:
			run = n
		case 4:
			run = []int{1, 2, 3, 8, 255, 257, 258, 259, 260, 261, 516, 518, 40000}[r.IntN(13)]
		}
		c := byte(r.Uint32())
		switch kind {
		case 2:
			c &= 3
		case 3:
			c = byte(i)
		}
		for j := i; j < min(i+run, n); j++ {
			p[j] = c
		}
		i += run
	}
	return p
}

func TestAppendZlib_EverySizeAndKind(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	e := new(Encoder)
	sides := []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 255, 256, 257, 258, 259, 1000}
	for kind := range 5 {
		for _, w := range sides {
			for _, h := range sides {
				if !longtest.On() && w*h > 20_000 {
					continue
				}
				for _, pixel := range []int{1, 3, 4} {
					stride := w*pixel + 1
					roundTrip(t, e, picture{"noise", noise(r, kind, stride*h), stride, pixel})
				}
			}
		}
	}
}

// The largest pictures, blank and random: as indices and, for rows beyond the window, in
// true colour.
func TestAppendZlib_LargestPictures(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	e := new(Encoder)
	const side = 4096
	for kind := range longtest.Pick(2, 5) {
		roundTrip(t, e, picture{"indexed", noise(r, kind, (side+1)*side), side + 1, 1})
	}
	const wide = 3*12288 + 1
	roundTrip(t, e, picture{"wide", noise(r, 4, 64*wide), wide, 3})
}

// A stride or a pixel that fits nothing costs bytes, not pixels.
func TestAppendZlib_ForeignStride(t *testing.T) {
	t.Parallel()
	p := golden(t, "../testdata/golden/size_200.png")
	for _, stride := range []int{-1, 0, 1, 4, window, window + 1, math.MaxInt} {
		p.stride, p.pixel = stride, stride
		roundTrip(t, new(Encoder), p)
	}
}

// The bytes do not depend on earlier uses of the encoder.
func TestAppendZlib_UsedEncoder(t *testing.T) {
	t.Parallel()
	used := new(Encoder)
	roundTrip(t, used, picture{"before", noise(rand.New(rand.NewPCG(5, 6)), 4, 100_000), 77, 1})
	for _, p := range goldens(t) {
		out := roundTrip(t, used, p)
		if fresh := new(Encoder).AppendZlib(nil, p.rows, p.stride, p.pixel); !bytes.Equal(out, fresh) {
			t.Errorf("%s: a used encoder writes other bytes", p.name)
		}
	}
}

// TestAppendZlib_SmallerThanZlib compares with the standard library at its default level.
// It may lose on single pictures that are nearly blank.
func TestAppendZlib_SmallerThanZlib(t *testing.T) {
	t.Parallel()
	e := new(Encoder)
	ours, theirs := 0, new(bytes.Buffer)
	all := goldens(t)
	for _, p := range all[:longtest.Pick(12, len(all))] {
		z := zlib.NewWriter(theirs)
		if _, err := z.Write(p.rows); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		ours += len(e.AppendZlib(nil, p.rows, p.stride, p.pixel))
	}
	if ours > theirs.Len() {
		t.Errorf("%d bytes, %d by compress/zlib", ours, theirs.Len())
	}
}

// TestAppendZlib_DoesNotAllocate is not parallel: it counts allocations.
func TestAppendZlib_DoesNotAllocate(t *testing.T) {
	p := golden(t, "../testdata/golden/default.png")
	e := new(Encoder)
	out := e.AppendZlib(nil, p.rows, p.stride, p.pixel)
	if n := testing.AllocsPerRun(5, func() { out = e.AppendZlib(out[:0], p.rows, p.stride, p.pixel) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// BenchmarkAppendZlib compares with the standard library's fastest level in one run.
// Each figure is the best, which other work on the machine disturbs least.
func BenchmarkAppendZlib(b *testing.B) {
	for _, name := range []string{"default", "bars_500", "bars_5000", "scale_2"} {
		b.Run(name, func(b *testing.B) {
			p := golden(b, "../testdata/golden/"+name+".png")
			e := new(Encoder)
			var out []byte
			var theirs bytes.Buffer
			z, err := zlib.NewWriterLevel(&theirs, zlib.BestSpeed)
			if err != nil {
				b.Fatal(err)
			}
			var ours, standard []time.Duration
			for b.Loop() {
				begin := time.Now()
				out = e.AppendZlib(out[:0], p.rows, p.stride, p.pixel)
				middle := time.Now()
				theirs.Reset()
				z.Reset(&theirs)
				if _, err := z.Write(p.rows); err != nil {
					b.Fatal(err)
				}
				if err := z.Close(); err != nil {
					b.Fatal(err)
				}
				ours, standard = append(ours, middle.Sub(begin)), append(standard, time.Since(middle))
			}
			b.ReportMetric(slices.Min(ours).Seconds()*1000, "ms")
			b.ReportMetric(float64(len(out)), "bytes")
			b.ReportMetric(slices.Min(standard).Seconds()*1000, "zlib-ms")
			b.ReportMetric(float64(theirs.Len()), "zlib-bytes")
		})
	}
}
