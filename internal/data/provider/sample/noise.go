package sample

import (
	"math"
	"math/bits"
)

// noise is a stream of pseudo-random numbers (SplitMix64, Steele, Lea and Flood
// 2014). A stream is named by what it is for, so that every bar can be made
// without making those before it.
type noise uint64

// The streams. Their values are part of what a seed means. Each level of the
// tree has one from forSplit on.
const (
	forAnchor = iota + 1
	forCell
	forDay
	forSplit
)

// stream returns the stream of one thing: what it is for, and which one it is.
func stream(seed, purpose uint64, index int64) noise {
	n := noise(seed)
	n = noise(n.next() ^ purpose<<56)
	return noise(n.next() ^ uint64(index)) //nolint:gosec // a name, of which only the bits count
}

func (n *noise) next() uint64 {
	*n += 0x9e3779b97f4a7c15
	z := uint64(*n)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform returns a number above 0 and below 1.
func (n *noise) uniform() float64 { return (float64(n.next()>>11) + 0.5) / (1 << 53) }

// normal returns a number of mean 0 and variance 1: the sum of four uniform
// ones, which one draw provides. Its tails end at 3.5; the fat tails of prices
// come from volatility that changes, not from here.
func (n *noise) normal() float64 {
	z := n.next()
	sum := z&0xffff + z>>16&0xffff + z>>32&0xffff + z>>48
	return (float64(sum)/65535 - 2) * 1.7320508075688772 // the square root of 3
}

// skewed returns a number of mean near 1 that is never near 0 and now and then
// large: what a lognormal one of deviation s would be, without the exponential.
func (n *noise) skewed(s float64) float64 {
	z := 1 + s/2*n.normal()
	return z * z
}

// extreme returns the highest point of a Brownian path from a to b of variance
// w, by inverting the distribution of that maximum.
func (n *noise) extreme(a, b, w float64) float64 {
	return (a + b + math.Sqrt((b-a)*(b-a)+2*w*n.exponential())) / 2
}

// exponential returns a number above 0 of mean 1: minus the logarithm of a
// uniform one. The leading bits give its whole part in powers of two, a parabola
// the rest to within 0.006, which no bar shows and which costs a fifth.
func (n *noise) exponential() float64 {
	z := n.next() | 1
	zeros := bits.LeadingZeros64(z)
	m := float64(z<<zeros) / (1 << 63) // 1 to 2
	log2 := (m-1)*(1+0.347*(2-m)) - 1 - float64(zeros)
	return max(0, -math.Ln2*log2)
}
