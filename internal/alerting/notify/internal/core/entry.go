package core

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/market"
)

// logEntry is an entry as the log holds it.
type logEntry struct {
	seq    uint64
	at     int64 // unix nanoseconds
	symbol market.Symbol
	typ    string
	event  notify.Event
}

func newLogEntry(e notify.Entry) logEntry {
	return logEntry{seq: e.Seq, at: e.At.UnixNano(), symbol: e.Symbol, typ: e.Type, event: notify.NewEvent(e.Seq, notify.AlertTriggered, e.Data)}
}

func (e *logEntry) entry(owner string) notify.Entry {
	return notify.Entry{Seq: e.seq, Owner: owner, Symbol: e.symbol, Type: e.typ, At: time.Unix(0, e.at).UTC(), Data: e.event.Params()}
}

func (e *logEntry) youngerThan(age time.Duration, now int64) bool { return now-e.at < int64(age) }

// matcher is a filter prepared for lookups. It is immutable.
type matcher struct {
	symbols map[market.Symbol]struct{} // nil for all
	types   []string                   // nil for all
}

func newMatcher(f notify.Filter) *matcher {
	m := &matcher{types: slices.Clone(f.Types)}
	if len(f.Symbols) > 0 {
		m.symbols = make(map[market.Symbol]struct{}, len(f.Symbols)+len(f.Instruments))
		for _, s := range slices.Concat(f.Symbols, f.Instruments) {
			m.symbols[s] = struct{}{}
		}
	}
	return m
}

func (m *matcher) matches(e *logEntry) bool {
	if len(m.types) > 0 && !slices.Contains(m.types, e.typ) {
		return false
	}
	if m.symbols == nil {
		return true
	}
	_, ok := m.symbols[e.symbol]
	if !ok {
		_, ok = m.symbols[market.Symbol{Name: e.symbol.Name}]
	}
	return ok
}

// maxFilterChecks is up to how many new entries are matched before a stream is woken. One
// of more than that is assumed to match.
const maxFilterChecks = 8

func (m *matcher) matchesAny(added []logEntry) bool {
	if len(added) > maxFilterChecks {
		return true
	}
	for i := range added {
		if m.matches(&added[i]) {
			return true
		}
	}
	return false
}
