package deploy

import (
	"errors"

	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// mostWants bounds the orders that a program may want at one close.
const mostWants = 500

// errWants reports a program that wants more orders than a deployment follows.
var errWants = errors.New("the program wants more than 500 orders at one close; end those that are no longer needed with strategy.cancel")

// Model is what a deployment computes: its program on the simulated account, and what that wants. It is not safe for
// concurrent use.
type Model struct {
	deployment string
	live       *backtest.Live
	exact      exact
	from       int64
	wants      []want          // after the newest bar, in the order of their places
	newest     int             // number of the newest trade
	entered    map[int]entered // by number of the trade; nil unless somebody asks
	credited   int             // closed trades that are in it
}

// entered is what a trade of the model came from: the order of its entry, and the bar since which that was wanted.
type entered struct {
	key   string
	since int64
}

// NewModel starts the model of a deployment.
func NewModel(deployment string, t *Terms, p backtest.Program) (*Model, error) {
	live, err := backtest.NewLive(p)
	if err != nil {
		return nil, err
	}
	if t.LongOnly {
		live.Account().Limit(simulate.Risk{Only: simulate.Long})
	}
	return &Model{deployment: deployment, live: live, exact: exact{price: digitsOf(t.Tick), quantity: digitsOf(t.Step)}, from: t.From}, nil
}

// Close gives back what the model holds.
func (m *Model) Close() { m.live.Close() }

// Account returns the account of the model, to be read.
func (m *Model) Account() *simulate.Account { return m.live.Account() }

// result returns how the account stands at the newest bar.
func (m *Model) result(perpetual bool) *Result {
	a := m.live.Account()
	return &Result{Position: a.Position(), Average: a.AveragePrice(), Net: a.NetProfit(), Open: a.OpenProfit(), Trades: len(a.Trades()), Price: a.Price(), Target: m.target(perpetual)}
}

// Bars returns how many bars were computed.
func (m *Model) Bars() int { return m.live.Bars() }

// Step computes the next closed bar and returns what is wanted now and was not before, what makes the position
// smaller first. The same bars always give the same intents.
func (m *Model) Step(b market.Bar) ([]Intent, error) {
	before := m.live.Account().Position()
	if err := m.live.Step(b, b.T >= m.from); err != nil {
		return nil, err
	}
	account := m.live.Account()
	standing := account.Standing()
	if b.T < m.from || len(standing) == 0 && len(m.wants) == 0 {
		m.newest = newestOf(account)
		return nil, nil
	}
	if len(standing) > mostWants {
		return nil, errWants
	}
	was := m.wants
	m.wants = m.exact.wantsOf(standing)
	if account.Position() != before {
		keepQuantities(m.wants, was)
	}
	intents := m.changes(b.T, was)
	m.credit(was)
	m.newest = newestOf(account)
	return intents, nil
}

// credit notes from which orders the newest trades came.
func (m *Model) credit(was []want) {
	if m.entered == nil {
		return
	}
	note := func(number int, id string) {
		if _, known := m.entered[number]; known {
			return
		}
		var from entered
		for i := range was {
			if w := &was[i]; w.kind == EntryKind && w.id == id {
				from = entered{w.Key, w.since}
			}
		}
		m.entered[number] = from
	}
	open, closed := m.live.Account().Open(), m.live.Account().Trades()
	for i := range open {
		note(open[i].Number(), open[i].ID)
	}
	for ; m.credited < len(closed); m.credited++ {
		note(closed[m.credited].Number(), closed[m.credited].EntryID)
	}
}

// newestOf returns the number of the newest open trade, 0 without one.
func newestOf(a *simulate.Account) int {
	newest := 0
	open := a.Open()
	for i := range open {
		newest = max(newest, open[i].Number())
	}
	return newest
}

// changes returns the intents of a bar: what is wanted now beside what was wanted before it.
func (m *Model) changes(bar int64, was []want) []Intent {
	var all []Intent
	old := oldOf(was)
	for i := range m.wants {
		w := &m.wants[i]
		before := old.take(w.place)
		if before != nil && !w.Market() && w.same(before) {
			w.Key, w.since = before.Key, before.since
			continue
		}
		w.since = bar
		w.Key = key(m.deployment, bar, w.kind, w.place)
		all = append(all, w.Intent)
	}
	for i := range was {
		if !old.taken[i] && !was[i].Market() && !m.over(&was[i]) {
			all = append(all, was[i].withdrawal(m.deployment, bar))
		}
	}
	sortIntents(all)
	return all
}

// over reports whether an order that is no longer wanted was filled, or the trade that it protected has ended.
func (m *Model) over(w *want) bool {
	open := m.live.Account().Open()
	for i := range open {
		l := &open[i]
		if w.kind == LineKind && l.Number() == w.lot {
			return false
		}
		if w.kind == EntryKind && l.ID == w.id && l.Number() > m.newest {
			return true
		}
	}
	return w.kind == LineKind
}
