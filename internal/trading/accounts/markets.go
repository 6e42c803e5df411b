package accounts

import (
	"slices"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/trading/desk"
	"candela/lib/market"
)

// markets adds up what the desks follow: a market has one list of symbols.
type markets struct {
	to desk.Market

	mu       sync.Mutex
	followed map[principal.Owner][]market.Symbol // by owner
	count    map[market.Symbol]int               // owners who follow it
}

// of returns the market of one owner.
func (m *markets) of(owner principal.Owner) desk.Market { return ownMarket{m.to, m, owner} }

// ownMarket is the market that one desk uses.
type ownMarket struct {
	desk.Market
	all   *markets
	owner principal.Owner
}

// Follow replaces the symbols of one owner.
func (m ownMarket) Follow(symbols []market.Symbol) { m.all.follow(m.owner, symbols) }

func (m *markets) follow(owner principal.Owner, symbols []market.Symbol) {
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
