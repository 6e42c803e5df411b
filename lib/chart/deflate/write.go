package deflate

import (
	"encoding/binary"
	"slices"
)

// The codes of code lengths, RFC 1951 3.2.7: 0 to 15 are lengths, the others repeat.
const (
	repeatLast  = 16
	repeatZero  = 17
	repeatZeros = 18
	lengthCodes = 19
)

// header describes the codes of a block.
type header struct {
	literals, distances, lengths int // how many of each kind it names
	ops                          [literals + distances]uint16
	n                            int
	uses                         [lengthCodes]uint32
	codes                        [lengthCodes]code
}

// order is the order in which the codes of code lengths are sent: rare ones last.
//
//nolint:gochecknoglobals // a table, never written
var order = [lengthCodes]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// endBlock writes the block, which ends before position end, and begins the next.
func (e *Encoder) endBlock(end int, last bool) {
	b := &e.block
	b.count()
	e.tree.assign(e.literals[:], b.literals[:], 15)
	e.tree.assign(e.offsets[:], b.offsets[:], 15)
	e.describe()
	size := e.size()
	// A stored block begins at a byte, with three bits and two lengths before it.
	if raw := end - b.start; size >= (raw+5)*8 {
		e.out.store(e.rows[b.start:end], last)
	} else {
		e.out.grow(size)
		e.writeHeader(last)
		e.writeTokens()
	}
	b.reset(end)
	if e.Pause != nil {
		e.Pause()
	}
}

// count adds what tokens alone do not use: codes of lengths, the end, and enough for
// trees that every decoder accepts.
func (b *block) count() {
	for n, f := range b.lengths {
		if f > 0 {
			c, _, _ := lengthCode(uint32(n))
			b.literals[endOfBlock+1+c] += f
		}
	}
	b.literals[endOfBlock]++
	b.literals[0] = max(b.literals[0], 1)
	b.offsets[0] = max(b.offsets[0], 1)
	b.offsets[1] = max(b.offsets[1], 1)
}

// describe turns the lengths of both sets of codes into the header's operations.
func (e *Encoder) describe() {
	h := &e.header
	h.n, h.uses = 0, [lengthCodes]uint32{}
	h.literals, h.distances = trimmed(e.literals[:], endOfBlock+1), trimmed(e.offsets[:], 1)
	var lengths [literals + distances]uint8
	n := 0
	for _, codes := range [2][]code{e.literals[:h.literals], e.offsets[:h.distances]} {
		for _, c := range codes {
			lengths[n] = uint8(c.n) //nolint:gosec // at most 15
			n++
		}
	}
	for rest := lengths[:n]; len(rest) > 0; {
		run := 1
		for run < len(rest) && rest[run] == rest[0] {
			run++
		}
		h.run(rest[0], run)
		rest = rest[run:]
	}
	e.tree.assign(h.codes[:], h.uses[:], 7)
	h.lengths = lengthCodes
	for h.lengths > 4 && h.codes[order[h.lengths-1]].n == 0 {
		h.lengths--
	}
}

// trimmed returns how many codes there are without the unused ones at the end, but at
// least least.
func trimmed(codes []code, least int) int {
	n := len(codes)
	for n > least && codes[n-1].n == 0 {
		n--
	}
	return n
}

// run adds a code length that occurs n times in a row.
func (h *header) run(length uint8, n int) {
	if length != 0 {
		h.op(length, 0)
		n--
	}
	for n >= minMatch {
		switch {
		case length != 0:
			k := min(n, 6)
			h.op(repeatLast, k-3)
			n -= k
		case n <= 10:
			h.op(repeatZero, n-3)
			n = 0
		default:
			k := min(n, 138)
			h.op(repeatZeros, k-11)
			n -= k
		}
	}
	for range n {
		h.op(length, 0)
	}
}

func (h *header) op(symbol uint8, extra int) {
	h.ops[h.n] = uint16(extra)<<8 | uint16(symbol) //nolint:gosec // below 128
	h.n++
	h.uses[symbol]++
}

// opExtra returns the number of bits that follow an operation.
func opExtra(symbol int) uint32 {
	switch symbol {
	case repeatLast:
		return 2
	case repeatZero:
		return 3
	case repeatZeros:
		return 7
	}
	return 0
}

// size returns the bits of the block with these codes.
func (e *Encoder) size() int {
	h, b := &e.header, &e.block
	bits := 3 + 14 + 3*h.lengths
	for s, f := range h.uses {
		bits += int(f) * int(h.codes[s].n+opExtra(s))
	}
	for s, f := range b.literals {
		bits += int(f) * int(e.literals[s].n)
	}
	for n, f := range b.lengths {
		if f > 0 {
			_, _, extra := lengthCode(uint32(n))
			bits += int(f) * int(extra)
		}
	}
	for s, f := range b.offsets {
		_, extra := distanceBase(uint32(s))
		bits += int(f) * int(e.offsets[s].n+extra)
	}
	return bits
}

func (e *Encoder) writeHeader(last bool) {
	h, w := &e.header, &e.out
	w.begin(last, 2)
	w.put(uint64(h.literals-257)|uint64(h.distances-1)<<5|uint64(h.lengths-4)<<10, 14) //nolint:gosec // small counts
	for _, s := range order[:h.lengths] {
		w.put(uint64(h.codes[s].n), 3)
	}
	for _, op := range h.ops[:h.n] {
		c := h.codes[op&0xff]
		w.put(uint64(c.bits)|uint64(op>>8)<<c.n, uint(c.n+opExtra(int(op&0xff))))
	}
}

func (e *Encoder) writeTokens() {
	var lengths [256]code // with their extra bits
	for n := range lengths {
		c, low, extra := lengthCode(uint32(n))
		k := e.literals[endOfBlock+1+c]
		lengths[n] = code{k.bits | low<<k.n, k.n + extra}
	}
	w := e.out
	for _, t := range e.block.tokens[:e.block.n] {
		if t < matchToken {
			c := e.literals[t&0xff]
			w.put(uint64(c.bits), uint(c.n))
			continue
		}
		n, d := lengths[t.length()], e.offsets[t.code()]
		base, extra := distanceBase(t.code())
		far := uint64(d.bits) | uint64(t.distance()-base)<<d.n
		w.put(uint64(n.bits)|far<<n.n, uint(n.n+d.n+extra)) // at most 48
	}
	c := e.literals[endOfBlock]
	w.put(uint64(c.bits), uint(c.n))
	e.out = w
}

// bitWriter appends bits to buf, the first in the lowest place of a byte.
type bitWriter struct {
	buf  []byte // grown beyond at
	at   int    // bytes written
	acc  uint64 // bits not written yet
	bits uint   // how many: below 8
}

// grow makes room for n bits and the word that put writes.
func (w *bitWriter) grow(n int) {
	need := w.at + n/8 + 16
	w.buf = slices.Grow(w.buf[:w.at], need-w.at)[:need]
}

// put writes n bits, at most 56.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << (w.bits & 7)
	n += w.bits
	binary.LittleEndian.PutUint64(w.buf[w.at:], w.acc)
	w.at += int(n >> 3)
	w.acc >>= n &^ 7 & 63
	w.bits = n & 7
}

// begin writes the first bits of a block of a kind.
func (w *bitWriter) begin(last bool, kind uint64) {
	if last {
		kind = kind<<1 | 1
	} else {
		kind <<= 1
	}
	w.put(kind, 3)
}

// store writes a block of p, which is shorter than 64 KB, as it is.
func (w *bitWriter) store(p []byte, last bool) {
	w.grow(3 + 7 + 32 + 8*len(p))
	w.begin(last, 0)
	w.put(0, -w.bits&7)
	n := uint64(len(p))
	w.put(n|(n^0xffff)<<16, 32)
	w.at += copy(w.buf[w.at:], p)
}

// end completes the last byte and returns everything written.
func (w *bitWriter) end() []byte {
	w.grow(8)
	w.put(0, -w.bits&7)
	return w.buf[:w.at]
}
