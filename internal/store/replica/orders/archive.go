package orders

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"candela/internal/trading/order"
)

// segmentSize bounds the orders of a segment.
const segmentSize = 1 << 16

// seqRange is the range of messages that contains all events of an order, and others.
type seqRange struct{ First, Last uint64 }

// hashRef is the hash of a name and the index of its order.
type hashRef struct {
	hash uint64
	at   uint32 // in segment.spans
}

// A segment indexes archived orders in a few dozen bytes each. A missing hash means there is no
// such order; a matching hash may be a collision, so the order is read and compared. Only its
// trades may be dropped later.
type segment struct {
	spans  []seqRange
	names  []hashRef // of IDs and keys, by hash
	trades []hashRef // of known trades, by hash
	stored blobRef   // zero if not stored
}

// The kinds of name. An ID and a key may be equal.
const (
	idName    = "id"
	keyName   = "key"
	tradeName = "trade"
)

func hasName(o order.Order, kind, name string) bool {
	switch kind {
	case idName:
		return o.ID == name
	case keyName:
		return o.Key == name
	default:
		return slices.ContainsFunc(o.Fills, func(f order.Fill) bool { return f.Key() == name })
	}
}

func hashName(kind, text string) uint64 {
	sum := sha256.Sum256([]byte(kind + " " + text))
	return binary.BigEndian.Uint64(sum[:])
}

// evictedOrder is an order on its way from memory to the archive.
type evictedOrder struct {
	id, key string
	trades  []string
	span    seqRange
}

// with returns a segment with the orders of s, which may be nil, and the evicted ones.
func (s *segment) with(evicted []evictedOrder) *segment {
	next := &segment{}
	if s != nil {
		next.spans, next.names, next.trades = slices.Clone(s.spans), slices.Clone(s.names), slices.Clone(s.trades)
	}
	for _, l := range evicted {
		at := uint32(len(next.spans)) //nolint:gosec // G115: a segment is small
		next.spans = append(next.spans, l.span)
		next.names = append(next.names, hashRef{hashName(idName, l.id), at})
		if l.key != "" {
			next.names = append(next.names, hashRef{hashName(keyName, l.key), at})
		}
		for _, t := range l.trades {
			next.trades = append(next.trades, hashRef{hashName(tradeName, t), at})
		}
	}
	byHash := func(a, b hashRef) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) }
	slices.SortFunc(next.names, byHash)
	slices.SortFunc(next.trades, byHash)
	return next
}

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

var errCorruptSegment = errors.New("invalid archive segment")

func decodeSegment(data []byte) (*segment, error) {
	if len(data) < 12 {
		return nil, errCorruptSegment
	}
	spans, names, trades := int(binary.BigEndian.Uint32(data)), int(binary.BigEndian.Uint32(data[4:])), int(binary.BigEndian.Uint32(data[8:]))
	data = data[12:]
	if len(data) != 16*spans+12*(names+trades) {
		return nil, errCorruptSegment
	}
	s := &segment{spans: make([]seqRange, spans), names: make([]hashRef, names), trades: make([]hashRef, trades)}
	for i := range s.spans {
		s.spans[i] = seqRange{binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])}
		data = data[16:]
	}
	for _, refs := range [][]hashRef{s.names, s.trades} {
		for i := range refs {
			refs[i] = hashRef{binary.BigEndian.Uint64(data), binary.BigEndian.Uint32(data[8:])}
			if int(refs[i].at) >= spans {
				return nil, errCorruptSegment
			}
			data = data[12:]
		}
	}
	return s, nil
}

// archive indexes the orders of an account that are not in memory.
type archive []*segment

// lookup returns the possible ranges of a named order, newest first.
func (c archive) lookup(kind, text string) []seqRange {
	hash := hashName(kind, text)
	var found []seqRange
	for _, s := range c {
		refs := s.names
		if kind == tradeName {
			refs = s.trades
		}
		from, _ := slices.BinarySearchFunc(refs, hash, func(r hashRef, h uint64) int { return cmp.Compare(r.hash, h) })
		for _, r := range refs[from:] {
			if r.hash != hash {
				break
			}
			found = append(found, s.spans[r.at])
		}
	}
	// An order that returned to memory has several ranges; the newest is complete.
	slices.SortFunc(found, func(a, b seqRange) int { return cmp.Compare(b.Last, a.Last) })
	return found
}

// with returns the archive with more orders, at most size in a segment.
func (c archive) with(evicted []evictedOrder, size int) archive {
	next := slices.Clone(c)
	for len(evicted) > 0 {
		n := len(next)
		if n == 0 || len(next[n-1].spans) >= size {
			next, n = append(next, nil), n+1
		}
		room := size
		if next[n-1] != nil {
			room -= len(next[n-1].spans)
		}
		room = min(room, len(evicted))
		next[n-1] = next[n-1].with(evicted[:room])
		evicted = evicted[room:]
	}
	return next
}

// withoutTrades returns the archive without trades, after the venue was reset.
func (c archive) withoutTrades() archive {
	next := make(archive, len(c))
	for i, s := range c {
		next[i] = s
		if len(s.trades) > 0 {
			next[i] = &segment{spans: s.spans, names: s.names}
		}
	}
	return next
}
