package eval

import (
	"strings"

	"candela/lib/market"
)

// heikinAshi begins the name of a symbol whose bars are Heikin-Ashi bars.
const heikinAshi = "heikinashi:"

// tickerRows are the functions that make the symbol of a request and take it apart.
func tickerRows() functions {
	return functions{
		"syminfo.prefix":    priced(allTexts(), func(s *site, a []float64) float64 { return s.newSymbol(strings.TrimSuffix(s.venue(a), ":")) }),
		"syminfo.ticker":    priced(allTexts(), func(s *site, a []float64) float64 { return s.newSymbol(s.symbol(a, 0, "")[len(s.venue(a)):]) }),
		"ticker.heikinashi": priced(allTexts(), func(s *site, a []float64) float64 { return s.newSymbol(heikinAshi + s.symbol(a, 0, "")) }),
		"ticker.inherit":    priced(allTexts(), inherit),
		"ticker.modify":     priced(allTexts(), modify),
		"ticker.new":        priced(allTexts(), newTicker),
		"ticker.standard":   priced(allTexts(), func(s *site, a []float64) float64 { return s.newSymbol(s.symbol(a, 0, s.m.env.Symbol.id())) }),
	}
}

// symbol returns an argument as a symbol of plain bars.
func (s *site) symbol(a []float64, i int, other string) string {
	return strings.TrimPrefix(s.text(a, i, other), heikinAshi)
}

// venue is what begins the symbol of the first argument, with the colon.
func (s *site) venue(a []float64) string {
	symbol := s.symbol(a, 0, "")
	return symbol[:strings.IndexByte(symbol, ':')+1]
}

func (s *site) newSymbol(text string) float64 { return s.h.newText(strings.Clone(text)) }

func newTicker(s *site, a []float64) float64 {
	s.refuseModifiers(a)
	return s.h.newText(s.text(a, 0, "") + ":" + s.text(a, 1, ""))
}

func modify(s *site, a []float64) float64 {
	s.refuseModifiers(a)
	return a[0]
}

func inherit(s *site, a []float64) float64 {
	symbol := s.symbol(a, 1, "")
	if strings.HasPrefix(s.text(a, 0, ""), heikinAshi) {
		symbol = heikinAshi + symbol
	}
	return s.newSymbol(symbol)
}

// refuseModifiers refuses sessions and adjustments that candela's bars do not have. The chart's own symbol takes them
// where they change nothing: one that trades round the clock has one session and no dividends.
func (s *site) refuseModifiers(a []float64) {
	if own := &s.m.env.Symbol; s.m.env.Calendar.RoundTheClock() && own.Type == "crypto" && s.ofOwn(a) {
		return
	}
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

// ofOwn reports whether a call is about the chart's own symbol: ticker.new has a prefix and a ticker, ticker.modify
// the whole name.
func (s *site) ofOwn(a []float64) bool {
	name := s.text(a, s.param("tickerid"), "")
	if s.param("tickerid") < 0 {
		name = s.text(a, s.param("prefix"), "") + ":" + s.text(a, s.param("ticker"), "")
	}
	return strings.TrimPrefix(name, heikinAshi) == s.m.env.Symbol.id()
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
