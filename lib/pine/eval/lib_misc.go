package eval

import (
	"math"

	"candela/lib/pine/check"
)

// colorRows are the functions on colours.
func colorRows() functions {
	return functions{
		"color.b":             priced(flat(1), part(func(c uint32) float64 { return float64(c >> 8 & 255) })),
		"color.from_gradient": priced(flat(1), gradient),
		"color.g":             priced(flat(1), part(func(c uint32) float64 { return float64(c >> 16 & 255) })),
		"color.new":           priced(flat(1), newColor),
		"color.r":             priced(flat(1), part(func(c uint32) float64 { return float64(c >> 24) })),
		"color.rgb":           priced(flat(1), rgb),
		"color.t":             priced(flat(1), part(func(c uint32) float64 { return math.Round(100 - float64(float64(c&255)*100)/255) })),
	}
}

// part reads a part of a colour.
func part(of func(c uint32) float64) plain {
	return func(_ *site, a []float64) float64 {
		if a[0] != a[0] {
			return a[0]
		}
		return of(uint32(a[0]))
	}
}

func newColor(_ *site, a []float64) float64 {
	if a[0] != a[0] {
		return a[0]
	}
	return withAlpha(a[0], a[1])
}

func rgb(s *site, a []float64) float64 {
	x := 0.0
	for _, part := range a[:3] {
		if part != part {
			return part
		}
		x = x*256 + math.Round(min(max(part, 0), 255))
	}
	return withAlpha(x*256, s.number(a, 3, 0))
}

// withAlpha sets the transparency of a colour, from 0 to 100.
func withAlpha(x, transparency float64) float64 {
	if transparency != transparency {
		transparency = 0
	}
	alpha := math.Round(float64(255*(100-min(max(transparency, 0), 100))) / 100)
	return float64(uint32(x)&^255 | uint32(alpha))
}

func gradient(_ *site, a []float64) float64 {
	if a[0] != a[0] || a[3] != a[3] || a[4] != a[4] {
		return math.NaN()
	}
	share := (a[0] - a[1]) / (a[2] - a[1])
	if share != share {
		share = 0
	}
	share = min(max(share, 0), 1)
	from, to := uint32(a[3]), uint32(a[4])
	var out uint32
	for shift := 0; shift < 32; shift += 8 {
		x, y := float64(from>>shift&255), float64(to>>shift&255)
		out |= uint32(math.Round(x+float64(share*(y-x)))) << shift
	}
	return float64(out)
}

// How many lines a bar may log, and how many bytes before the last of them.
const (
	maxLogs   = 100
	maxLogged = 64 << 10
)

// messageRows are the functions that write messages.
func messageRows() functions {
	return functions{
		"alert":         priced(texts(0, 1), fire),
		"log.error":     priced(allTexts(), write),
		"log.info":      priced(allTexts(), write),
		"log.warning":   priced(allTexts(), write),
		"runtime.error": priced(texts(0), stop),
	}
}

func fire(s *site, a []float64) float64 {
	if len(s.m.fires) < 16 {
		s.m.fires = append(s.m.fires, Alert{Message: s.text(a, 0, ""), Freq: s.text(a, 1, "freq_once_per_bar")})
	}
	return math.NaN()
}

// write logs a text. One without values is no format: an apostrophe in it stays.
func write(s *site, a []float64) float64 {
	if len(s.m.logs) < maxLogs && s.m.logged < maxLogged {
		text := s.text(a, 0, "")
		if len(s.call.Rest) > 0 {
			text = s.format(a).b.String()
		}
		s.m.logs = append(s.m.logs, text)
		s.m.logged += len(text)
	}
	return math.NaN()
}

func stop(s *site, a []float64) float64 {
	s.fail("%s", s.text(a, 0, ""))
	return 0
}

// pointRows are the functions on points of the chart.
func pointRows() functions {
	return functions{
		"chart.point.copy":       priced(flat(1), func(s *site, a []float64) float64 { return s.h.add(s.h.get(s.at, a[0], "point").clone()) }),
		"chart.point.from_index": priced(flat(1), func(s *site, a []float64) float64 { return s.point(a[0], math.NaN(), a[1]) }),
		"chart.point.from_time":  priced(flat(1), func(s *site, a []float64) float64 { return s.point(math.NaN(), a[0], a[1]) }),
		"chart.point.new":        priced(flat(1), func(s *site, a []float64) float64 { return s.point(a[1], a[0], a[2]) }),
		"chart.point.now": priced(flat(1), func(s *site, a []float64) float64 {
			return s.point(float64(s.m.index), s.m.price[priceTime], s.number(a, 0, s.m.price[priceClose]))
		}),
	}
}

// point makes a chart.point.
func (s *site) point(index, time, price float64) float64 {
	t := s.call.Type().Object
	n := make([]float64, len(t.Fields))
	for i, f := range t.Fields {
		switch f.Name {
		case "index":
			n[i] = index
		case "time":
			n[i] = time
		case "price":
			n[i] = price
		}
	}
	return s.h.add(object{kind: check.Object, n: n, fields: t, from: math.NaN()})
}
