package alert

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"github.com/shopspring/decimal"
)

// record is an alert in the index: one cache line without pointers, so that the garbage
// collector does not scan a million of them. Shared values are in tables, rare ones (a
// note) in maps of the index.
type record struct {
	id      Key
	created int64  // unix milliseconds
	coef    int64  // the threshold is coef x 10^exp
	exp     int16  // or wide
	barOpen uint16 // seconds from BarOpen to created, plus one; 0 for none
	owner   uint32
	symbol  uint32 // as the client wrote it
	queue   uint32 // its queue
	pos     uint32 // position in the queue; noSlot while it is uncommitted or inactive
	expiry  uint32 // position in expiries; noSlot if it does not expire
	prev    uint32 // of the same owner, in the order of addition
	next    uint32 // also links the free slots
}

// compare orders alerts by creation, independent of the order of addition.
func (r *record) compare(o *record) int {
	return cmp.Or(cmp.Compare(r.created, o.created), bytes.Compare(r.id[:], o.id[:]))
}

// Records are stored in pages that never move: growing copies nothing.
const (
	pageBits = 9
	pageSize = 1 << pageBits
)

type page [pageSize]record

// record returns the record in a slot.
func (b *Index) record(slot uint32) *record {
	return &b.pages[slot>>pageBits][slot%pageSize]
}

// allocSlot returns a free slot with a zero record.
func (b *Index) allocSlot() uint32 {
	if b.free == noSlot {
		first := toUint32(len(b.pages)) << pageBits
		b.pages = append(b.pages, new(page))
		for i := range uint32(pageSize) {
			b.freeSlot(first + pageSize - 1 - i)
		}
	}
	slot := b.free
	r := b.record(slot)
	b.free, r.next = r.next, 0
	return slot
}

// freeSlot frees a slot.
func (b *Index) freeSlot(slot uint32) {
	*b.record(slot) = record{next: b.free}
	b.free = slot
}

// wide is the exponent of a record whose threshold has more digits than coef holds and is
// in Index.bigThresholds.
const wide = math.MaxInt16

// packDecimal returns d as coef x 10^exp, and false if its digits do not fit.
func packDecimal(d decimal.Decimal) (coef int64, exp int16, fits bool) {
	// Not 18, which would fit: NumDigits may be one too low.
	e := d.Exponent()
	if d.NumDigits() > 17 || e <= math.MinInt16 || e >= wide {
		return 0, 0, false
	}
	coef, exp = d.CoefficientInt64(), int16(e)
	if coef == 0 {
		exp = 0
	}
	return coef, exp, true
}

// packBarOpen returns BarOpen as a record stores it, or 0 if the bar is longer than a
// record can store.
func packBarOpen(a *Alert) uint16 {
	before := a.Created.Unix() - a.BarOpen.Unix()
	if a.BarOpen.IsZero() || before < 0 || before >= math.MaxUint16 {
		return 0
	}
	return uint16(before + 1)
}

// countsFrom returns the open time in milliseconds from which the high and low of a bar
// count.
func (r *record) countsFrom() int64 {
	if r.barOpen == 0 {
		return r.created
	}
	return r.created - r.created%1000 - int64(r.barOpen-1)*1000
}

// toFloat returns the float64 nearest to d, infinite beyond the range. It works on digits:
// 10^exp may be too long to write out.
func toFloat(d decimal.Decimal) float64 {
	var buf [32]byte
	f, _ := strconv.ParseFloat(string(appendDigits(buf[:0], d)), 64) // on the only error, a range error, f is infinite
	return f
}

// appendDigits appends d as its coefficient and exponent.
func appendDigits(dst []byte, d decimal.Decimal) []byte {
	if coef, exp, fits := packDecimal(d); fits {
		dst = strconv.AppendInt(dst, coef, 10)
		return strconv.AppendInt(append(dst, 'e'), int64(exp), 10)
	}
	dst = d.Coefficient().Append(dst, 10)
	return strconv.AppendInt(append(dst, 'e'), int64(d.Exponent()), 10)
}

// parseID parses an ID of id.New.
func parseID(text string) (id Key, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, false
	}
	n := 0
	for i := 0; i < len(text); i += 2 {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			i++
		}
		high, low := digit(text[i]), digit(text[i+1])
		if high|low > 15 {
			return Key{}, false
		}
		id[n] = high<<4 | low
		n++
	}
	return id, true
}

// digit returns the value of a lower-case hexadecimal digit, and more than 15 for anything else.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return math.MaxUint8
}

func formatID(id Key) string {
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// milli returns a time as records store it.
func milli(t time.Time) int64 { return t.UnixMilli() }

func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// table assigns numbers to values that many alerts share, and deletes a value with its last
// user.
type table[K comparable, V any] struct {
	index map[K]uint32
	rows  []row[K, V]
	free  []uint32
}

type row[K comparable, V any] struct {
	key  K
	refs int
	data V
}

// acquire adds a user of key and returns its number.
func (t *table[K, V]) acquire(key K) uint32 {
	n, known := t.index[key]
	if !known {
		n = t.allocate()
		t.index[key] = n
		t.rows[n].key = key
	}
	t.rows[n].refs++
	return n
}

// allocate returns an unused number.
func (t *table[K, V]) allocate() uint32 {
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		return n
	}
	t.rows = append(t.rows, row[K, V]{})
	return toUint32(len(t.rows) - 1)
}

// release removes a user of number n.
func (t *table[K, V]) release(n uint32) {
	r := &t.rows[n]
	if r.refs--; r.refs > 0 {
		return
	}
	delete(t.index, r.key)
	*r = row[K, V]{}
	t.free = append(t.free, n)
}
