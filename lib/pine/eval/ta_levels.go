package eval

import (
	"math"

	"candela/lib/pine/check"
)

// The numbers that ta.pivot_point_levels keeps of a period.
const (
	periodOpen = iota
	periodHigh
	periodLow
	periodClose
	periodCells
)

// pivotLevels is ta.pivot_point_levels: an array of the pivot and its levels, from the
// period before the anchor, or from the one that is developing.
func pivotLevels(c *compiler, call *check.Call) num {
	kind, anchor := c.num(call.Args[0]), c.cond(call.Args[1])
	developing := func() bool { return false }
	if len(call.Args) > 2 && call.Args[2] != nil {
		developing = c.cond(call.Args[2])
	}
	now, before, anchored := c.m.slab.Cells(periodCells), c.m.slab.Cells(periodCells), c.m.keep.add(0)
	m, p := c.m, &c.m.price
	started := c.m.keep.add(0)
	return func() float64 {
		n, old := now.Mem(), before.Mem()
		first := anchor()
		if first && *started == 1 {
			copy(old, n)
			*anchored++
		}
		if first || *started == 0 {
			n[periodOpen], n[periodHigh], n[periodLow] = p[priceOpen], p[priceHigh], p[priceLow]
			*started = 1
		}
		n[periodHigh], n[periodLow], n[periodClose] = max(n[periodHigh], p[priceHigh]), min(n[periodLow], p[priceLow]), p[priceClose]
		from, open := old, n[periodOpen]
		if developing() {
			from, open = n, p[priceClose]
		}
		m.spend(m.place, 1)
		levels := make([]float64, 11)
		for i := range levels {
			levels[i] = math.NaN()
		}
		if *anchored > 0 {
			setLevels(levels, m.heap.text(kind()), from, open)
		}
		return m.heap.newArray(m.types.plain(check.Float), levels)
	}
}

// setLevels writes the pivot, then resistance and support in turn. Open is the open of the
// period that runs, which Woodie's pivot uses.
func setLevels(out []float64, kind string, from []float64, open float64) {
	h, l, x := from[periodHigh], from[periodLow], from[periodClose]
	span, pivot := h-l, (h+l+x)/3
	around := func(base float64, shares ...float64) {
		for i, share := range shares {
			out[1+2*i], out[2+2*i] = base+float64(share*span), base-float64(share*span)
		}
	}
	switch kind {
	case "Traditional", "Classic", "Woodie":
		if kind == "Woodie" {
			pivot = (h + l + float64(2*open)) / 4
		}
		around(pivot, 0, 1)
		out[1], out[2] = float64(2*pivot)-l, float64(2*pivot)-h
		out[5], out[6] = out[1]+span, out[2]-span
	case "Fibonacci":
		around(pivot, 0.382, 0.618, 1)
	case "Camarilla":
		around(x, 1.1/12, 1.1/6, 1.1/4, 1.1/2)
	case "DM":
		total := h + l + float64(2*x)
		if x < from[periodOpen] {
			total = h + float64(2*l) + x
		} else if x > from[periodOpen] {
			total = float64(2*h) + l + x
		}
		pivot = total / 4
		out[1], out[2] = total/2-l, total/2-h
	default:
		return
	}
	out[0] = pivot
}
