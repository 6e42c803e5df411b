package deflate

import "math/bits"

// code is what is written for a symbol: its bits in the order of the stream, and how
// many. None means that the symbol does not occur.
type code struct {
	bits uint32
	n    uint32
}

const (
	// maxSymbols is the size of the largest alphabet.
	maxSymbols = literals
	// digitBits is half the bits of a frequency in a block.
	digitBits = 7
	// depthsMax is more than the depths of a tree: a leaf at depth n needs frequencies that
	// add up to the Fibonacci number n+2, and those of a block have 14 bits.
	depthsMax = 2 * 2 * digitBits
	// Larger blocks do not compile: each symbol may occur once more than there are tokens.
	_ = uint(1<<(2*digitBits) - 2 - blockTokens)
)

// tree makes Huffman codes. Its arrays are reused.
type tree struct {
	used   [maxSymbols]uint64 // frequency<<16 | symbol, rising
	spare  [maxSymbols]uint64
	parent [maxSymbols]uint32
}

// assign gives each symbol that occurs a code of at most limit bits. It needs two
// symbols, or one, which gets a bit.
func (t *tree) assign(codes []code, freq []uint32, limit int) {
	used := t.used[:0]
	for s, f := range freq {
		codes[s] = code{}
		if f > 0 {
			used = append(used, uint64(f)<<16|uint64(s))
		}
	}
	t.sort(len(used))
	if len(used) == 1 {
		codes[used[0]&0xffff].n = 1
		return
	}
	var count [depthsMax]int // of codes with each length
	t.depths(used, &count)
	shorten(&count, limit)
	k := 0
	for n := limit; n > 0; n-- {
		for range count[n] {
			codes[used[k]&0xffff].n = uint32(n) //nolint:gosec // at most 15
			k++
		}
	}
	number(codes)
}

// sort orders the first n of used by frequency, and those of equal frequency by symbol, as
// they are at first. It counts digits, the lower one first.
func (t *tree) sort(n int) {
	from, to := t.used[:n], t.spare[:n]
	for shift := 16; shift < 16+2*digitBits; shift += digitBits {
		var next [1 << digitBits]int // place of the next with each digit
		for _, u := range from {
			next[u>>shift%(1<<digitBits)]++
		}
		sum := 0
		for d, f := range next {
			next[d] = sum
			sum += f
		}
		for _, u := range from {
			place := &next[u>>shift%(1<<digitBits)]
			to[*place] = u
			*place++
		}
		from, to = to, from
	}
}

// depths counts the leaves at each depth of a Huffman tree, with the algorithm of Moffat and
// Katajainen, which needs no pointers: the internal nodes arise in rising order of
// frequency, so two queues replace a heap.
func (t *tree) depths(used []uint64, count *[depthsMax]int) {
	n := len(used)
	node := t.parent[:n] // the frequency of an internal node, later its parent
	leaf, root := 0, 0
	take := func(next int) uint32 {
		if leaf == n || root < next && uint64(node[root]) < used[leaf]>>16 {
			f := node[root]
			node[root] = uint32(next) //nolint:gosec // below 286
			root++
			return f
		}
		leaf++
		return uint32(used[leaf-1] >> 16) //nolint:gosec // a frequency
	}
	for next := range n - 1 {
		f := take(next)
		node[next] = f + take(next)
	}
	// Parents come after their children: walking down turns them into depths.
	node[n-2] = 0
	for i := n - 3; i >= 0; i-- {
		node[i] = node[node[i]] + 1
	}
	open, i := 1, n-2 // places at this depth; the next internal node
	for depth := uint32(0); open > 0; depth++ {
		inner := 0
		for i >= 0 && node[i] == depth {
			inner++
			i--
		}
		count[depth] += open - inner
		open = 2 * inner
	}
}

// shorten moves leaves up that lie deeper than limit, and others down to make room.
func shorten(count *[depthsMax]int, limit int) {
	total := 0 // in units of the deepest leaf
	for n, c := range count {
		if n > limit {
			count[limit] += c
			count[n] = 0
		}
	}
	for n := 1; n <= limit; n++ {
		total += count[n] << (limit - n)
	}
	for ; total > 1<<limit; total-- {
		n := limit - 1
		for count[n] == 0 {
			n--
		}
		// A leaf at depth n becomes a node of two; one of the deepest becomes its second.
		count[n]--
		count[n+1] += 2
		count[limit]--
	}
}

// number gives codes of equal length consecutive numbers, RFC 1951 3.2.2.
func number(codes []code) {
	var next, count [16]uint32
	for _, c := range codes {
		count[c.n]++
	}
	count[0] = 0
	for n := 1; n < len(next); n++ {
		next[n] = (next[n-1] + count[n-1]) << 1
	}
	for s := range codes {
		if c := &codes[s]; c.n > 0 {
			c.bits = uint32(bits.Reverse16(uint16(next[c.n]))) >> (16 - c.n) //nolint:gosec // below 2^15
			next[c.n]++
		}
	}
}
