package eval

import (
	"math"
	"strings"

	"candela/lib/pine/check"
)

// colorFunction are the functions on colours.
func colorFunction(name string) function {
	rest, ok := strings.CutPrefix(name, "color.")
	if !ok {
		return function{}
	}
	switch rest {
	case "new":
		return priced(flat(1), func(_ *site, a []float64) float64 {
			if a[0] != a[0] {
				return a[0]
			}
			return withAlpha(a[0], a[1])
		})
	case "rgb":
		return priced(flat(1), func(s *site, a []float64) float64 {
			x := 0.0
			for _, part := range a[:3] {
				if part != part {
					return part
				}
				x = x*256 + math.Round(min(max(part, 0), 255))
			}
			return withAlpha(x*256, s.number(a, 3, 0))
		})
	case "r", "g", "b", "t":
		return priced(flat(1), func(_ *site, a []float64) float64 {
			if a[0] != a[0] {
				return a[0]
			}
			c := uint32(a[0])
			switch rest {
			case "r":
				return float64(c >> 24)
			case "g":
				return float64(c >> 16 & 255)
			case "b":
				return float64(c >> 8 & 255)
			}
			return math.Round(100 - float64(float64(c&255)*100)/255)
		})
	case "from_gradient":
		return priced(flat(1), gradient)
	}
	return function{}
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

// miscFunction are the functions of no family.
func miscFunction(name string) function {
	switch name {
	case "runtime.error":
		return priced(texts(0), func(s *site, a []float64) float64 {
			s.fail("%s", s.text(a, 0, ""))
			return 0
		})
	case "log.info", "log.warning", "log.error":
		return priced(allTexts(), func(s *site, a []float64) float64 {
			if len(s.m.logs) < maxLogs && s.m.logged < maxLogged {
				text := s.format(a).b.String()
				s.m.logs = append(s.m.logs, text)
				s.m.logged += len(text)
			}
			return math.NaN()
		})
	case "alert":
		return priced(texts(0, 1), func(s *site, a []float64) float64 {
			if len(s.m.fires) < 16 {
				s.m.fires = append(s.m.fires, Alert{Message: s.text(a, 0, ""), Freq: s.text(a, 1, "freq_once_per_bar")})
			}
			return math.NaN()
		})
	case "max_bars_back", "indicator", "strategy", "library":
		return priced(flat(1), func(*site, []float64) float64 { return math.NaN() })
	case "chart.point.new", "chart.point.from_index", "chart.point.from_time", "chart.point.now", "chart.point.copy":
		return priced(flat(1), func(s *site, a []float64) float64 { return s.point(name, a) })
	}
	if f := tickerFunction(name); f.run != nil {
		return f
	}
	if !strings.HasPrefix(name, "strategy.") {
		return function{}
	}
	if f := strategyFunction(name); f.run != nil {
		return f
	}
	return priced(flat(1), strategyCall)
}

// strategyCall is a call that places orders or reads trades: a chart simulates none.
func strategyCall(s *site, _ []float64) float64 {
	if t := s.call.Type(); t != nil && (t.Kind == check.Int || t.Kind == check.Bool) {
		return 0
	}
	return math.NaN()
}

// point makes a chart.point with the fields index, time and price.
func (s *site) point(name string, a []float64) float64 {
	t := s.call.Type().Object
	n := make([]float64, len(t.Fields))
	for i := range n {
		n[i] = math.NaN()
	}
	set := func(field string, x float64) {
		for i, f := range t.Fields {
			if f.Name == field {
				n[i] = x
			}
		}
	}
	switch name {
	case "chart.point.copy":
		return s.h.add(s.h.get(s.at, a[0], "point").clone())
	case "chart.point.new":
		for i, p := range s.call.Builtin.Params {
			set(p.Name, a[i])
		}
	case "chart.point.from_index":
		set("index", a[0])
		set("price", a[1])
	case "chart.point.from_time":
		set("time", a[0])
		set("price", a[1])
	default:
		set("index", float64(s.m.index))
		set("time", s.m.price[priceTime])
		set("price", s.number(a, 0, s.m.price[priceClose]))
	}
	return s.h.add(object{kind: check.Object, n: n, fields: t, from: math.NaN()})
}
