package deploy

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"candela/lib/market"
)

// Bounds of the blocks in which bars are recorded.
const (
	blockBars   = 64   // without intents, before they are recorded
	historyBars = 1000 // of what was there at the start
	barBytes    = 7 * 8
)

// pack writes bars as columns of bits, deflated. The same bars come back to the bit.
func pack(bars []market.Bar) ([]byte, error) {
	raw := make([]byte, 0, len(bars)*barBytes)
	for _, column := range []func(b *market.Bar) uint64{
		func(b *market.Bar) uint64 { return uint64(b.T) }, //nolint:gosec // G115: the bits are kept as they are
		func(b *market.Bar) uint64 { return math.Float64bits(b.O) },
		func(b *market.Bar) uint64 { return math.Float64bits(b.H) },
		func(b *market.Bar) uint64 { return math.Float64bits(b.L) },
		func(b *market.Bar) uint64 { return math.Float64bits(b.C) },
		func(b *market.Bar) uint64 { return math.Float64bits(b.V) },
		func(b *market.Bar) uint64 { return math.Float64bits(b.TakerBuy) },
	} {
		for i := range bars {
			raw = binary.BigEndian.AppendUint64(raw, column(&bars[i]))
		}
	}
	return blocks.deflate(raw)
}

// deflaters make writers of one level, and keep them: each has tables that take longer to clear than a bar to write.
type deflaters struct {
	level int
	kept  sync.Pool
}

var blocks = deflaters{level: flate.DefaultCompression} //nolint:gochecknoglobals // a cache

func (d *deflaters) deflate(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	w, ok := d.kept.Get().(*flate.Writer)
	if !ok {
		var err error
		if w, err = flate.NewWriter(&out, d.level); err != nil {
			return nil, err
		}
	}
	defer d.kept.Put(w)
	w.Reset(&out)
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// inflaters are readers that are used again.
var inflaters = sync.Pool{New: func() any { return new(inflater) }} //nolint:gochecknoglobals // a cache

type inflater struct{ io.ReadCloser }

// inflate reads at most so many bytes.
func inflate(data []byte, most int64) ([]byte, error) {
	r, _ := inflaters.Get().(*inflater)
	defer inflaters.Put(r)
	if again, ok := r.ReadCloser.(flate.Resetter); !ok {
		r.ReadCloser = flate.NewReader(bytes.NewReader(data))
	} else if err := again.Reset(bytes.NewReader(data), nil); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, most))
}

// unpack reads what pack wrote.
func unpack(data []byte) ([]market.Bar, error) {
	raw, err := inflate(data, historyBars*barBytes+1)
	if err != nil || len(raw)%barBytes != 0 || len(raw) > historyBars*barBytes {
		return nil, fmt.Errorf("a block of bars cannot be read (%d bytes): %w", len(raw), err)
	}
	n := len(raw) / barBytes
	bars := make([]market.Bar, n)
	at := func(column, i int) uint64 { return binary.BigEndian.Uint64(raw[(column*n+i)*8:]) }
	for i := range bars {
		bars[i] = market.Bar{
			T: int64(at(0, i)), //nolint:gosec // G115: the bits are kept as they are
			O: math.Float64frombits(at(1, i)), H: math.Float64frombits(at(2, i)), L: math.Float64frombits(at(3, i)),
			C: math.Float64frombits(at(4, i)), V: math.Float64frombits(at(5, i)), TakerBuy: math.Float64frombits(at(6, i)),
		}
	}
	return bars, nil
}

// barTo appends a bar as bits. The same bar comes back to the bit.
func barTo(to []byte, b *market.Bar) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(b.T)) //nolint:gosec // G115: the bits are kept as they are
	for _, x := range [...]float64{b.O, b.H, b.L, b.C, b.V, b.TakerBuy} {
		to = binary.BigEndian.AppendUint64(to, math.Float64bits(x))
	}
	return to
}

// barFrom reads what barTo wrote.
func barFrom(data []byte) market.Bar {
	at := func(i int) float64 { return math.Float64frombits(binary.BigEndian.Uint64(data[i*8:])) }
	return market.Bar{
		T: int64(binary.BigEndian.Uint64(data)), //nolint:gosec // G115: the bits are kept as they are
		O: at(1), H: at(2), L: at(3), C: at(4), V: at(5), TakerBuy: at(6),
	}
}
