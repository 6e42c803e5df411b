package oauth

import (
	"cmp"
	"strings"
	"time"

	"candela/internal/kit/principal"
)

// Access returns what a client with the grant may do. A grant of an earlier version has no
// scope and allows everything, an unknown one nothing. A browser session calls no tools.
func (g Grant) Access() principal.Scope {
	if g.Login {
		return principal.NoScope
	}
	return scopeOf(g.Scope)
}

// access returns what a client with the grant may do here. Where trading is with real
// money, only an approval for this account allows it: tokens that survive a restart may
// have been approved on paper.
func (s *Server) access(g Grant) principal.Scope {
	if s.cfg.Trading == LiveTrading && g.Account != s.cfg.Account {
		return min(g.Access(), principal.Read)
	}
	return g.Access()
}

// liveAccount returns the account with real money that an approval is for.
func (s *Server) liveAccount() string {
	if s.cfg.Trading != LiveTrading {
		return ""
	}
	return s.cfg.Account
}

// lifetime returns how long a token of the grant lasts.
func (g Grant) lifetime() time.Duration {
	if g.TTL <= 0 || g.TTL > TokenTTL {
		return TokenTTL
	}
	return g.TTL
}

func scopeOf(stored string) principal.Scope {
	scope, _ := principal.ParseScope(cmp.Or(stored, principal.Trade.String()))
	return scope
}

// askedScope returns the highest scope that a client asks for. Unknown names are ignored;
// a client that names no known scope leaves the choice to the owner.
func askedScope(names string) principal.Scope {
	most := principal.NoScope
	for name := range strings.SplitSeq(names, " ") {
		scope, _ := principal.ParseScope(name)
		most = max(most, scope)
	}
	return cmp.Or(most, principal.Trade)
}

// choice is what the owner grants on the consent page.
type choice struct {
	scope principal.Scope
	ttl   time.Duration
}

// limit returns the most that the owner can grant for a request.
func (s *Server) limit(q request) principal.Scope {
	if s.cfg.Trading == NoTrading {
		return min(scopeOf(q.Most), principal.Charts)
	}
	return scopeOf(q.Most)
}

// all grants everything that was asked for.
func (s *Server) all(q request) choice { return choice{s.limit(q), TokenTTL} }

// preselected is the choice that the page shows first. Trading with real money is never
// preselected.
func (s *Server) preselected(q request) choice {
	c := s.all(q)
	if s.cfg.Trading == LiveTrading {
		c.scope = min(c.scope, principal.Read)
	}
	return c
}

// readChoice reads the owner's choice from the form. A form without one grants everything
// that was asked for.
func (s *Server) readChoice(p params, q request) (choice, *Error) {
	c := s.all(q)
	if name := p.get("scope"); name != "" {
		scope, ok := principal.ParseScope(name)
		switch {
		case !ok:
			return choice{}, invalidRequest("scope is " + shown(name) + "; it must be charts, read or trade")
		case scope > c.scope:
			return choice{}, invalidRequest("scope is " + name + "; for this request it must be at most " + c.scope.String())
		}
		c.scope = scope
	}
	if name := p.get("ttl"); name != "" {
		ttl, ok := parseTTL(name)
		if !ok {
			return choice{}, invalidRequest("ttl is " + shown(name) + "; it must be 1h, 1d or 7d")
		}
		c.ttl = ttl
	}
	return c, nil
}

// lifetime is a duration of access that the owner can choose.
type lifetime struct {
	name, label string
	ttl         time.Duration
}

func lifetimes() []lifetime {
	return []lifetime{{"1h", "1 hour", time.Hour}, {"1d", "1 day", 24 * time.Hour}, {"7d", "7 days", TokenTTL}}
}

func parseTTL(name string) (time.Duration, bool) {
	for _, l := range lifetimes() {
		if l.name == name {
			return l.ttl, true
		}
	}
	return 0, false
}

// option is a radio button of the consent page.
type option struct {
	Value, Label, Note string
	Money              string // the kind of account that the option trades on, else ""
	Checked            bool
}

// scopeOptions returns the scopes to choose from, none if there is nothing to choose.
func (s *Server) scopeOptions(q request, c choice) []option {
	if s.cfg.Trading == NoTrading {
		return nil
	}
	trade := option{Label: "Trade", Note: "Also set alerts, and place and cancel orders without real money", Money: "on paper"}
	if s.cfg.Trading == LiveTrading {
		trade.Note, trade.Money = "Also set alerts, and place and cancel orders", "real money"
		if venue, _, _ := strings.Cut(strings.TrimPrefix(s.cfg.Account, SoleOwner+"/"), "/"); venue != "" {
			trade.Note += " at " + venue
		}
	}
	if s.cfg.InForce != nil {
		trade.Note += ": " + s.cfg.InForce()
	}
	all := []option{
		{Label: "Charts only", Note: "Charts and indicators of any symbol"},
		{Label: "Read", Note: "Also see positions, orders, alerts and notifications"},
		trade,
	}
	for i, scope := range principal.Scopes() {
		if scope > s.limit(q) {
			return all[:i]
		}
		all[i].Value, all[i].Checked = scope.String(), scope == c.scope
	}
	return all
}

func ttlOptions(c choice) []option {
	lives := lifetimes()
	all := make([]option, len(lives))
	for i, l := range lives {
		all[i] = option{Value: l.name, Label: l.label, Checked: l.ttl == c.ttl}
	}
	return all
}
