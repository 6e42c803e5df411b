package ta

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"candela/lib/market"
)

// FuzzCompute runs any indicator with any parameters over any bars: it may refuse
// the request, but must not panic, and every series has the length of the bars.
func FuzzCompute(f *testing.F) {
	for i := range len(All()) {
		f.Add(uint8(i), uint16(14), 2.0, []byte("seed of some bars, long enough for a few of them to be made out of it"))
	}
	f.Fuzz(func(t *testing.T, which uint8, size uint16, num float64, raw []byte) {
		d := All()[int(which)%len(All())]
		r := Request{Name: d.Name, Params: map[string]json.RawMessage{}}
		for i, p := range d.Params {
			switch p.Kind {
			case IntParam:
				r.Params[p.Name] = strconv.AppendInt(nil, int64(size)>>(i%8), 10)
			case NumParam:
				// Not all the same: a lower level must be below its upper one.
				other := num + float64(i)*float64(int8(size))
				r.Params[p.Name] = strconv.AppendFloat(nil, other, 'g', -1, 64)
			case BoolParam:
				r.Params[p.Name] = strconv.AppendBool(nil, (size>>i)&1 == 1)
			case TextParam, ListParam:
				r.Params[p.Name] = []byte(strconv.Quote(p.Enum[int(size)%len(p.Enum)]))
			case ColorParam, SymbolParam, FreeParam:
			}
		}
		s, err := Resolve(r)
		if err != nil {
			if s, err = Resolve(Request{Name: d.Name}); err != nil {
				t.Fatal(err)
			}
		}
		bars := fuzzBars(raw)
		result := s.Compute(input(bars, market.Intervals()[int(size)%len(market.Intervals())]))
		checkResult(t, d.Name, s, result, bars.Len())
	})
}

// fuzzBars reads bars of any values at all, ascending in time.
func fuzzBars(raw []byte) *market.Bars {
	var b market.Bars
	t := int64(0)
	for len(raw) >= 8 {
		bits := binary.LittleEndian.Uint64(raw)
		t += int64(1 + bits%100_000)
		x := math.Float64frombits(bits)
		small := float64(int8(raw[0])) / 4
		bar := market.Bar{T: t, O: small, H: small + float64(raw[1])/8, L: small - float64(raw[2])/8, C: small + float64(int8(raw[3]))/16, V: float64(raw[4])}
		switch raw[5] % 8 {
		case 0:
			bar.C = x
		case 1:
			bar.H = x
		case 2:
			bar.L = x
		case 3:
			bar.V = x
		}
		b.Append(bar)
		raw = raw[1:]
	}
	return &b
}
