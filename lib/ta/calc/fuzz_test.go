package calc

import (
	"encoding/binary"
	"math"
	"testing"
)

// FuzzKernels feeds any numbers and any ascending times to any kernel: nothing may
// panic, and the state must give the kernel's bits.
func FuzzKernels(f *testing.F) {
	f.Add(uint8(0), uint16(3), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	for k := range kernels() {
		data := make([]byte, 0, 640)
		for i, x := range walkBars(uint64(k), 60, 0).c {
			if i%17 == 4 {
				x = math.NaN()
			}
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
			data = append(data, byte(i%7))
		}
		f.Add(uint8(k), uint16(k+1), data)
	}
	all := kernels()
	f.Fuzz(func(t *testing.T, which uint8, n uint16, data []byte) {
		k := all[int(which)%len(all)]
		b := fuzzBars(data)
		checkStream(t, k, b, 1+int(n)%700)
		b.slots = Slots{}
		checkStream(t, k, b, 1+int(n)%700)
	})
}

// fuzzBars reads nine bytes a bar: a close and how many slots it comes after the
// bar before. The high and the low are the closes of the neighbours.
func fuzzBars(data []byte) *bars {
	size := min(len(data)/9, 2000)
	c := make([]float64, size)
	t := make([]int64, size)
	clock := int64(-600) // from before 1970 on
	for i := range c {
		c[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[9*i:]))
		clock += 60 * (1 + int64(data[9*i+8])%9)
		t[i] = clock
	}
	b := &bars{t: t, c: c, h: make([]float64, size), l: make([]float64, size), slots: Slots{T: t, Step: 60}}
	for i := range c {
		b.h[i], b.l[i] = max(c[i], c[max(i-1, 0)]), min(c[i], c[min(i+1, size-1)])
	}
	return b
}
