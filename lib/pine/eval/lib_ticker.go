package eval

import (
	"strings"

	"candela/lib/market"
)

// heikinAshi begins the name of a symbol whose bars are Heikin-Ashi bars.
const heikinAshi = "heikinashi:"

// tickerFunction are the functions that make the symbol of a request.
func tickerFunction(name string) function {
	switch name {
	case "ticker.new":
		return priced(allTexts(), func(s *site, a []float64) float64 {
			s.refuseModifiers(a)
			return s.h.newText(s.text(a, 0, "") + ":" + s.text(a, 1, ""))
		})
	case "ticker.modify":
		return priced(allTexts(), func(s *site, a []float64) float64 {
			s.refuseModifiers(a)
			return a[0]
		})
	case "ticker.heikinashi":
		return priced(allTexts(), func(s *site, a []float64) float64 {
			return s.h.newText(heikinAshi + strings.TrimPrefix(s.text(a, 0, ""), heikinAshi))
		})
	case "ticker.standard":
		return priced(allTexts(), func(s *site, a []float64) float64 {
			return s.h.newText(strings.Clone(strings.TrimPrefix(s.text(a, 0, s.m.env.Symbol.id()), heikinAshi)))
		})
	case "ticker.inherit":
		return priced(allTexts(), func(s *site, a []float64) float64 {
			symbol := strings.TrimPrefix(s.text(a, 1, ""), heikinAshi)
			if strings.HasPrefix(s.text(a, 0, ""), heikinAshi) {
				symbol = heikinAshi + symbol
			}
			return s.h.newText(strings.Clone(symbol))
		})
	}
	return symbolPart(name)
}

// symbolPart are the functions that take a symbol apart.
func symbolPart(name string) function {
	if name != "syminfo.prefix" && name != "syminfo.ticker" {
		return function{}
	}
	return priced(allTexts(), func(s *site, a []float64) float64 {
		prefix, ticker, found := strings.Cut(strings.TrimPrefix(s.text(a, 0, ""), heikinAshi), ":")
		if !found {
			prefix, ticker = "", prefix
		}
		if name == "syminfo.prefix" {
			return s.h.newText(strings.Clone(prefix))
		}
		return s.h.newText(strings.Clone(ticker))
	})
}

// refuseModifiers refuses sessions and adjustments that candela's bars do not have.
func (s *site) refuseModifiers(a []float64) {
	for i, p := range s.call.Builtin.Params {
		var kept string
		switch p.Name {
		case "session":
			kept = "regular"
		case "adjustment":
			kept = "none splits"
		case "settlement_as_close", "backadjustment":
			kept = "inherit off"
		default:
			continue
		}
		if given := s.text(a, i, ""); given != "" && !strings.Contains(kept, given) {
			s.fail("%s cannot change %s to %q: the bars are those of the venue. Leave this argument out.", s.call.Builtin.Name, p.Name, given)
		}
	}
}

// id is the symbol as syminfo.tickerid has it.
func (s *Symbol) id() string {
	if s.Prefix == "" {
		return s.Ticker
	}
	return s.Prefix + ":" + s.Ticker
}

// smoothed makes Heikin-Ashi bars one after the other.
type smoothed struct {
	on          bool
	began       bool
	open, close float64 // of the last bar that was kept
}

// bar returns the Heikin-Ashi bar of a bar.
func (h *smoothed) bar(b market.Bar) market.Bar {
	if !h.on {
		return b
	}
	first, last := (b.O+b.C)/2, (b.O+b.H+b.L+b.C)/4
	if h.began {
		first = (h.open + h.close) / 2
	}
	b.O, b.H, b.L, b.C = first, max(b.H, first, last), min(b.L, first, last), last
	return b
}

// keep notes a bar that bar has returned.
func (h *smoothed) keep(b market.Bar) { h.began, h.open, h.close = true, b.O, b.C }
