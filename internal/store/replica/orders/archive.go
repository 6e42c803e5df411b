package orders

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
)

// segmentSize is how many orders a segment of an account has at most.
const segmentSize = 1 << 16

// span is the messages that tell of an order: from the first to the last, with those
// of others in between.
type span struct{ First, Last uint64 }

// ref is a name, as a hash, and the place of what it names.
type ref struct {
	hash uint64
	at   uint32 // in segment.spans
}

// segment says where the orders are that are no longer in memory, in a few dozen
// bytes each. It does not change, but that the names of trades may go. A hash that is
// not there is of no order; one that is there may be of another, so the order is read
// and looked at.
type segment struct {
	spans  []span
	names  []ref // of ids and keys, by hash
	trades []ref // of trades that are known, by hash
	kept   blob  // where it is stored; zero for nowhere
}

// The kinds of name. An id and a key may be the same text.
const (
	idName    = "id"
	keyName   = "key"
	tradeName = "trade"
)

func hashName(kind, text string) uint64 {
	sum := sha256.Sum256([]byte(kind + " " + text))
	return binary.BigEndian.Uint64(sum[:])
}

// leaver is an order that leaves memory.
type leaver struct {
	id, key string
	trades  []string
	span    span
}

// with returns a segment that has orders besides those of s, which may be nil.
func (s *segment) with(leavers []leaver) *segment {
	next := &segment{}
	if s != nil {
		next.spans, next.names, next.trades = slices.Clone(s.spans), slices.Clone(s.names), slices.Clone(s.trades)
	}
	for _, l := range leavers {
		at := uint32(len(next.spans)) //nolint:gosec // G115: a segment is small
		next.spans = append(next.spans, l.span)
		next.names = append(next.names, ref{hashName(idName, l.id), at})
		if l.key != "" {
			next.names = append(next.names, ref{hashName(keyName, l.key), at})
		}
		for _, t := range l.trades {
			next.trades = append(next.trades, ref{hashName(tradeName, t), at})
		}
	}
	byHash := func(a, b ref) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) }
	slices.SortFunc(next.names, byHash)
	slices.SortFunc(next.trades, byHash)
	return next
}

// encode writes the segment.
func (s *segment) encode() []byte {
	data := make([]byte, 0, 12+16*len(s.spans)+12*(len(s.names)+len(s.trades)))
	for _, n := range []int{len(s.spans), len(s.names), len(s.trades)} {
		data = binary.BigEndian.AppendUint32(data, uint32(n)) //nolint:gosec // G115: a segment is small
	}
	for _, one := range s.spans {
		data = binary.BigEndian.AppendUint64(data, one.First)
		data = binary.BigEndian.AppendUint64(data, one.Last)
	}
	for _, r := range slices.Concat(s.names, s.trades) {
		data = binary.BigEndian.AppendUint64(data, r.hash)
		data = binary.BigEndian.AppendUint32(data, r.at)
	}
	return data
}

var errSegment = errors.New("it is no index of orders")

// decodeSegment reads what encode wrote.
func decodeSegment(data []byte) (*segment, error) {
	if len(data) < 12 {
		return nil, errSegment
	}
	spans, names, trades := int(binary.BigEndian.Uint32(data)), int(binary.BigEndian.Uint32(data[4:])), int(binary.BigEndian.Uint32(data[8:]))
	data = data[12:]
	if len(data) != 16*spans+12*(names+trades) {
		return nil, errSegment
	}
	s := &segment{spans: make([]span, spans), names: make([]ref, names), trades: make([]ref, trades)}
	for i := range s.spans {
		s.spans[i] = span{binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])}
		data = data[16:]
	}
	for _, refs := range [][]ref{s.names, s.trades} {
		for i := range refs {
			refs[i] = ref{binary.BigEndian.Uint64(data), binary.BigEndian.Uint32(data[8:])}
			if int(refs[i].at) >= spans {
				return nil, errSegment
			}
			data = data[12:]
		}
	}
	return s, nil
}

// cold is the orders of an account that are no longer in memory.
type cold []*segment

// named returns where an order of a name may be, the newest first.
func (c cold) named(kind, text string) []span {
	return c.find(hashName(kind, text), func(s *segment) []ref { return s.names })
}

// traded is named for the trades that are known.
func (c cold) traded(key string) []span {
	return c.find(hashName(tradeName, key), func(s *segment) []ref { return s.trades })
}

func (c cold) find(hash uint64, in func(*segment) []ref) []span {
	var found []span
	for _, s := range c {
		refs := in(s)
		from, _ := slices.BinarySearchFunc(refs, hash, func(r ref, h uint64) int { return cmp.Compare(r.hash, h) })
		for _, r := range refs[from:] {
			if r.hash != hash {
				break
			}
			found = append(found, s.spans[r.at])
		}
	}
	// An order that was in memory again since has more than one; the newest tells all.
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(b.Last, a.Last) })
	return found
}

// with returns cold with more orders, size of them at most in a segment.
func (c cold) with(leavers []leaver, size int) cold {
	next := slices.Clone(c)
	for len(leavers) > 0 {
		n := len(next)
		if n == 0 || len(next[n-1].spans) >= size {
			next, n = append(next, nil), n+1
		}
		room := size
		if next[n-1] != nil {
			room -= len(next[n-1].spans)
		}
		room = min(room, len(leavers))
		next[n-1] = next[n-1].with(leavers[:room])
		leavers = leavers[room:]
	}
	return next
}

// untraded returns cold without the names of trades, which a wipe sets free.
func (c cold) untraded() cold {
	next := make(cold, len(c))
	for i, s := range c {
		next[i] = s
		if len(s.trades) > 0 {
			next[i] = &segment{spans: s.spans, names: s.names}
		}
	}
	return next
}
