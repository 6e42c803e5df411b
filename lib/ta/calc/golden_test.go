package calc

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math"
	"testing"
)

// goldenBits is the hash of every kernel's output over seeded bars. It is the same
// on every processor and at every GOAMD64: a fused multiply-add anywhere would
// change it. A change of it changes stored snapshots and past charts in their last bits
// and belongs in the changelog.
const goldenBits = "285b05c6b0ef3087555510e0b6d4842a"

func TestKernels_GiveTheSameBitsEverywhere(t *testing.T) {
	t.Parallel()
	sum := fnv.New128a()
	var word [8]byte
	for _, b := range []*bars{walkBars(77, 20_000, 0), walkBars(78, 5_000, 0.2)} {
		for _, k := range kernels() {
			for _, n := range []int{3, 14, 20, 50} {
				out := makeOuts(k, len(b.c))
				k.run(b, n, out)
				for _, x := range out {
					for _, v := range x {
						if v != v {
							v = math.NaN() // its payload is the processor's choice
						}
						binary.LittleEndian.PutUint64(word[:], math.Float64bits(v))
						sum.Write(word[:])
					}
				}
			}
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != goldenBits {
		t.Errorf("hash of all outputs is %s, want %s", got, goldenBits)
	}
}
