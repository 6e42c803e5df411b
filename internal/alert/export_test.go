package alert

import "candela/internal/indicator"

// Define lets alerts name a selection that has other parameters than the
// catalogue's defaults, which conditions cannot carry yet.
func (b *Book) Define(name string, s *indicator.Selection) {
	b.selections[name] = selected{s.Key(), s}
}

// Nearest is what thresholds are compared as.
var Nearest = nearest

// Held counts what the book holds for its alerts, and the rows it keeps for
// alerts to come.
func (b *Book) Held() (held, rows int) {
	held = len(b.byID) + len(b.owners.index) + len(b.symbols.index) + len(b.notes) + len(b.wide) +
		len(b.needs) + len(b.expiries.entries) + len(b.pending)
	return held, len(b.owners.rows) + len(b.symbols.rows) + len(b.queues) + len(b.pages)*pageSize
}
