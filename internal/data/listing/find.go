package listing

import (
	"cmp"
	"slices"
	"strings"

	"candela/internal/data/provider"
)

// Query selects instruments.
type Query struct {
	Text  string         // a symbol, code or name, or a part of one
	Venue string         // "" for all
	Class provider.Class // "" for all
	Limit int            // at least 1
}

// Kinds returns the names of the kinds of instruments.
func Kinds() []string {
	kinds := make([]string, 0, len(provider.Classes()))
	for _, c := range provider.Classes() {
		kinds = append(kinds, string(c))
	}
	return kinds
}

// SetKind selects the instruments of a kind, "" for all.
func (q *Query) SetKind(kind string) { q.Class = provider.Class(kind) }

// How well an instrument fits a text, best first.
const (
	isSymbol = iota // the text is its symbol or its pair of currencies
	isName          // the text is the code or a name of the asset
	begins          // a symbol or name begins with the text
	contains        // a name contains the text
	no
)

// maxText bounds the text of a query, in bytes.
const maxText = 80

// Find returns the instruments that fit a query, best first, and how many there are
// without the limit. If none fits, it returns those with similar symbols or names.
func (d *Directory) Find(q Query) (found []Instrument, total int) {
	text := q.Text[:min(len(q.Text), maxText)]
	all := slices.DeleteFunc(d.all(), func(e entry) bool {
		return q.Venue != "" && e.Symbol.Venue != q.Venue || q.Class != "" && e.Class != q.Class
	})
	hits := rank(all, func(e *entry) int { return e.fits(newPattern(text), no) })
	if len(hits) == 0 {
		hits, _ = d.guess(all, text)
	}
	total = len(hits)
	for _, h := range hits[:min(total, q.Limit)] {
		found = append(found, h.Instrument)
	}
	return found, total
}

// rank returns the entries that fit, best first. Of equally good ones the first of each
// venue come before the second.
func rank(all []entry, fits func(*entry) int) []entry {
	type hit struct {
		*entry
		score int
	}
	var hits []hit
	for i := range all {
		if score := fits(&all[i]); score < no {
			hits = append(hits, hit{&all[i], score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.nth, b.nth)) })
	ranked := make([]entry, len(hits))
	for i, h := range hits {
		ranked[i] = *h.entry
	}
	return ranked
}

// pattern is a text to look for.
type pattern struct {
	whole string
	pairs [][2]string // the ways to read it as a pair of base and quote
}

// quoteCodes are the currencies that the symbol of a pair may end with.
func quoteCodes() []string {
	return strings.Fields("USDT USDC FDUSD USD EUR GBP JPY CHF AUD CAD NZD BTC ETH BNB CNY INR MXN BRL KRW SEK NOK DKK PLN TRY ZAR SGD HKD THB HUF CZK ILS")
}

func newPattern(text string) pattern {
	p := pattern{whole: fold(withoutKind(text))}
	for _, quote := range quoteCodes() {
		if base, ok := strings.CutSuffix(p.whole, quote); ok && base != "" {
			p.pairs = append(p.pairs, [2]string{base, quote})
		}
	}
	return p
}

// withoutKind drops words that say what an asset is: tesla stock is Tesla.
func withoutKind(text string) string {
	words := strings.Fields(text)
	for len(words) > 1 && slices.Contains(strings.Fields("STOCK STOCKS SHARE SHARES PRICE CHART SPOT COIN TOKEN CRYPTO INC CORP"), fold(words[len(words)-1])) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

// fits returns how well an entry fits, no if it is worse than or as bad as worst.
func (e *entry) fits(p pattern, worst int) int {
	score := e.score(p)
	if score >= worst {
		return no
	}
	return score
}

func (e *entry) score(p pattern) int {
	if p.whole == "" {
		return no
	}
	if p.whole == e.symbol {
		return isSymbol
	}
	for _, pair := range p.pairs {
		if slices.Contains(e.codes, pair[0]) && e.Class != provider.Currency || pair[0] == e.Asset {
			if pair[1] == e.Quote && e.Class != provider.Perpetual {
				return isSymbol
			}
			if dollar(pair[1]) && dollar(e.Quote) && (e.Class == provider.Crypto || e.Class == provider.Perpetual) {
				return isName
			}
		}
	}
	switch {
	case slices.Contains(e.codes, p.whole):
		return isName
	case len(p.whole) < 2:
		return no
	case strings.HasPrefix(e.symbol, p.whole) || strings.HasPrefix(e.title, p.whole) ||
		slices.ContainsFunc(e.codes, func(c string) bool { return strings.HasPrefix(c, p.whole) }):
		return begins
	case len(p.whole) > 2 && strings.Contains(e.title, p.whole):
		return contains
	}
	return no
}

// dollar reports whether a currency is the dollar or a coin that is worth one.
func dollar(code string) bool {
	return slices.Contains([]string{"USD", "USDT", "USDC", "FDUSD"}, code)
}
