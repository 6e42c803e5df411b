package guard

import (
	"slices"
	"time"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Reported is what was last reported of the trading state to the owner's clients. It is stored with it, so
// that each change is reported once, whatever restarts come between.
type Reported struct {
	Level Level    `json:"level,omitempty"`
	Bare  []string `json:"bare,omitempty"` // subjects of Unprotected, sorted
	// Parts is how much of an open order was reported as filled, of those whose parts were reported together.
	Parts map[string]string `json:"parts,omitempty"`
}

// Report returns the state with all of it reported, and the notices of what was not: another level, and
// positions that lack their stop or have it again.
func (s State) Report(mode order.Mode, at time.Time) (State, []order.Notice) {
	now, was := Reported{Level: s.Level(), Parts: s.Reported.Parts}, s.Reported
	why := make(map[string]string)
	for _, c := range s.Restrictions {
		if c.Kind == Unprotected {
			now.Bare, why[c.Subject] = append(now.Bare, c.Subject), c.Reason
		}
	}
	slices.Sort(now.Bare)
	stamp := at.UTC().Format(time.RFC3339Nano)
	var notices []order.Notice
	if now.Level != was.Level {
		r := order.NoticeRecord{Event: order.NoticeState, State: now.Level.String(), Reason: s.Explain(), Mode: string(mode)}
		notices = append(notices, order.NewNotice(r, market.Symbol{}, at, r.State, stamp))
	}
	report := func(event string, subjects, except []string) {
		for _, subject := range subjects {
			if !slices.Contains(except, subject) {
				r := order.NoticeRecord{Event: event, Reason: why[subject], Mode: string(mode)}
				notices = append(notices, order.NewNotice(r, symbolOf(subject), at, subject, stamp))
			}
		}
	}
	report(order.NoticeUnprotected, now.Bare, was.Bare)
	report(order.NoticeProtected, was.Bare, now.Bare)
	s.Reported = now
	return s, notices
}

// symbolOf returns the symbol that a restriction is about.
func symbolOf(subject string) market.Symbol {
	s, err := market.ParseSymbol(subject)
	if err != nil {
		return market.Symbol{}
	}
	return s
}
