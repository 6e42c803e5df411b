package desk

import (
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// markOwner notes in events which cancels the owner asked for: at the console, at the machine or by a
// halt. The client that placed the order hears of them.
func markOwner(by principal.Caller, events []order.Event) {
	if by.Key != "" && by.Key != principal.ConsoleKey {
		return
	}
	for i := range events {
		if e := &events[i]; e.Kind == order.KindCancelRequested && e.Reason == "" && e.VenueID == "" {
			e.ByOwner = true
		}
	}
}

// addressed names the owner whose clients get notices: the person, who may have several accounts.
func (l *loop) addressed(notices []order.Notice) []order.Notice {
	owner := l.cfg.Owner
	if len(l.cfg.OwnerAliases) > 0 {
		owner = l.cfg.OwnerAliases[0]
	}
	for i := range notices {
		notices[i].Owner = owner
	}
	return notices
}

// reportState reports what changed of the trading state, after a comparison has found all of it, and the parts
// of orders that were not reported when they were filled. What cannot be stored is reported later.
func (l *loop) reportState() {
	next, notices := l.state.Report(l.cfg.Broker.Mode(), l.now())
	parts, reported := l.book.PartNotices(l.now(), next.Reported.Parts)
	if len(parts) > 0 {
		next.Reported.Parts, notices = reported, append(notices, parts...)
	}
	if len(notices) == 0 || l.fenced != nil || l.unsaved || l.state.AwaitsReconciliation() {
		return
	}
	err := saveGuard(l.drainCtx, l.cfg.Store, l.systemCaller(), next, l.addressed(notices)...)
	if err == nil {
		l.state = next
		return
	}
	if !l.checkFenced(err) {
		l.logUnsaved("notice of the trading state", err)
		l.unsaved = true // the next tick saves it first
	}
}
