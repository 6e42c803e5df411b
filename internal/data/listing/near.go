package listing

import (
	"slices"
	"strings"

	"candela/internal/data/provider"
	"candela/lib/fault"
)

// maxNear bounds the suggestions.
const maxNear = 4

// Near returns the instruments that somebody may mean with a text that is no symbol, best
// first, and an explanation, which may be empty. It leaves out venues without keys.
func (d *Directory) Near(text string) (near []Instrument, why string) {
	text = strings.ToUpper(strings.TrimSpace(text[:min(len(text), maxText)]))
	all := slices.DeleteFunc(d.all(), func(e entry) bool { return e.Locked })
	hits, why := d.guess(all, text)
	for _, h := range hits[:min(len(hits), maxNear)] {
		near = append(near, h.Instrument)
	}
	return near, why
}

// guess returns the entries that a text may mean. Each step is tried if those before find
// nothing.
func (d *Directory) guess(all []entry, text string) (hits []entry, why string) {
	text = strings.ToUpper(text)
	venue, rest := d.split(text)
	places := [][]entry{all}
	if d.has(venue) { // there first, then anywhere
		own := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.Symbol.Venue != venue })
		places = [][]entry{own, all}
	}
	for _, from := range places {
		if spot, ends, ok := future(rest); ok {
			if hits := exact(from, spot, provider.Perpetual); len(hits) > 0 && !ends {
				return hits, "perpetuals are written as their pair and .P"
			}
			if hits := exact(from, spot, provider.Crypto); len(hits) > 0 {
				return hits, "such futures are not offered, the spot market is"
			}
		}
		if venue != "" && !d.has(venue) {
			why = strings.ToLower(venue) + " is not a venue here"
			if hits := exact(from, rest+exchangeSuffix(venue), provider.Stock); len(hits) > 0 {
				return hits, why
			}
		}
		if hits := exact(from, rest, ""); len(hits) > 0 {
			return hits, why
		}
	}
	if base, quote, ok := strings.Cut(rest, "/"); ok {
		if hits := exact(all, quote+base, provider.Currency); len(hits) > 0 {
			return hits, "the pair is listed the other way around"
		}
	}
	if short := withoutExchange(rest); short != rest {
		if hits := exact(all, short, ""); len(hits) > 0 {
			return hits, why
		}
	}
	for _, from := range places {
		if hits := similar(from, rest); len(hits) > 0 {
			return hits, why
		}
	}
	return nil, why
}

// split separates the venue or exchange in front of a symbol. The colon in BTC/USDT:USDT
// is not such a one.
func (d *Directory) split(text string) (venue, rest string) {
	before, after, ok := strings.Cut(text, ":")
	if !ok || before == "" || after == "" || strings.ContainsAny(before, "/. ") {
		return "", text
	}
	if slices.Contains(quoteCodes(), after) && !d.has(strings.ToLower(before)) {
		return "", before + "/" + after
	}
	if v := strings.ToLower(before); d.has(v) {
		return v, after
	}
	return before, after
}

func (d *Directory) has(venue string) bool {
	return slices.ContainsFunc(d.sources, func(s Source) bool { return s.Venue == venue })
}

// exact returns the entries of a class, "" for all, that a text is the symbol or a name of.
func exact(all []entry, text string, class provider.Class) []entry {
	p := newPattern(text)
	return rank(all, func(e *entry) int {
		if class != "" && e.Class != class {
			return no
		}
		return e.fits(p, begins)
	})
}

// similar returns the entries whose symbol or name is spelled almost like a text: those of
// the most similar word, because less similar ones mislead.
func similar(all []entry, text string) []entry {
	want := newPattern(text).whole
	var words []string
	seen := make(map[string]bool)
	note := func(word string) {
		if !seen[word] && alike(want, word) {
			seen[word] = true
			words = append(words, word)
		}
	}
	for i := range all {
		note(all[i].symbol)
		for _, code := range all[i].codes {
			note(code)
		}
	}
	near := fault.Nearest(want, words)
	if len(near) == 0 {
		return nil
	}
	return rank(all, func(e *entry) int {
		switch {
		case e.symbol == near[0]:
			return isSymbol
		case slices.Contains(e.codes, near[0]):
			return isName
		}
		return no
	})
}

// alike reports whether two words can be similar at all, which is cheaper to find out
// than how similar they are.
func alike(a, b string) bool {
	return max(len(a)-len(b), len(b)-len(a)) <= max(1, len(a)/3) || strings.HasPrefix(a, b) || strings.HasPrefix(b, a) || strings.HasSuffix(b, a)
}

// future returns the pair or coin of a name such as BTCUSDT.P, BTC-USDT-SWAP, BTC-PERP,
// XBTUSDTM, BTC/USDT:USDT or BTCUSDT_260327, and whether the future ends.
func future(name string) (spot string, ends, ok bool) {
	if pair, settled, colon := strings.Cut(name, ":"); colon && slices.Contains(quoteCodes(), settled) {
		return pair, false, true
	}
	for _, suffix := range []string{".P", ".PERP", "-PERP-INTX", "PERPETUAL", "PERP", "SWAP"} {
		if base, cut := strings.CutSuffix(name, suffix); cut && base != "" {
			return strings.TrimSpace(base), false, true
		}
	}
	if base, cut := strings.CutSuffix(name, "USDTM"); cut && base != "" {
		return base + "USDT", false, true
	}
	base, date, dated := strings.Cut(name, "_")
	if !dated {
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			base, date, dated = name[:i], name[i+1:], true
		}
	}
	return base, true, dated && len(date) == 6 && strings.Trim(date, "0123456789") == ""
}

// exchangeSuffix returns how symbols of an exchange end that other programs name before
// the symbol: XETR:SIE is SIE.DE.
func exchangeSuffix(exchange string) string {
	return map[string]string{
		"XETR": ".DE", "XETRA": ".DE", "FRA": ".DE", "EPA": ".PA", "AMS": ".AS", "SIX": ".SW", "SWX": ".SW", "LSE": ".L", "LON": ".L",
		"TSE": ".T", "TYO": ".T", "HKEX": ".HK", "NSE": ".NS", "TSX": ".TO", "ASX": ".AX",
	}[exchange]
}

// withoutExchange drops the exchange behind a symbol, as in AAPL.US, AAPL.O or AAPL US,
// and the month of a continuous future such as ES1!.
func withoutExchange(name string) string {
	if base, cut := strings.CutSuffix(name, "1!"); cut && base != "" {
		return base
	}
	if i := strings.LastIndexAny(name, ". "); i > 0 {
		return name[:i]
	}
	return name
}
