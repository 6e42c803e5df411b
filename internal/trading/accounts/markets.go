package accounts

import (
	"slices"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/trading/desk"
	"candela/lib/market"
)

// Markets adds up what the desks follow: a market has one list of symbols.
type Markets struct {
	to desk.Market

	mu       sync.Mutex
	followed map[principal.Owner][]market.Symbol // by owner
	count    map[market.Symbol]int               // owners who follow it
}

// NewMarkets returns the markets of desks that share one.
func NewMarkets(to desk.Market) *Markets {
	return &Markets{to: to, followed: make(map[principal.Owner][]market.Symbol), count: make(map[market.Symbol]int)}
}

// Of returns the market of one owner.
func (m *Markets) Of(owner principal.Owner) desk.Market { return ownMarket{m.to, m, owner} }

// ownMarket is the market that one desk uses.
type ownMarket struct {
	desk.Market
	all   *Markets
	owner principal.Owner
}

// Follow replaces the symbols of one owner.
func (m ownMarket) Follow(symbols []market.Symbol) { m.all.follow(m.owner, symbols) }

func (m *Markets) follow(owner principal.Owner, symbols []market.Symbol) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.followed[owner]
	if slices.Equal(before, symbols) {
		return
	}
	changed := false
	for _, s := range symbols {
		m.count[s]++
		changed = changed || m.count[s] == 1
	}
	for _, s := range before {
		if m.count[s]--; m.count[s] == 0 {
			delete(m.count, s)
			changed = true
		}
	}
	if m.followed[owner] = slices.Clone(symbols); len(symbols) == 0 {
		delete(m.followed, owner)
	}
	if !changed {
		return
	}
	all := make([]market.Symbol, 0, len(m.count))
	for s := range m.count {
		all = append(all, s)
	}
	m.to.Follow(all)
}
