package console

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// frame is what stands around every page.
type frame struct {
	Title  string
	Name   string // of the page
	Path   string // of the page, to come back to
	Groups [][]entry
	Tabs   []entry
	Host   string
	Until  time.Time // end of the session
	Notice string    // what the last act did
	Prefs  prefs
	Live   string

	Token func(path string) string // of the form that is sent to a path
	state
}

// entry is a line of the navigation.
type entry struct {
	Title, Path, Icon, Key string
	Current                bool
	Count                  int
	Hot                    bool // the count waits for the owner
	Hint                   string
}

// state is what the top bar says about the account.
type state struct {
	Trading bool // there is an account
	Known   bool // its state is known
	Mode    order.Mode
	Broker  string
	Level   string // ACTIVE, REDUCING or HALTED
	Why     string
	Halt    *guard.Restriction // of the owner's halt, or the first that halts
	Open    int
	Pending int
	Held    int // positions
}

// stateWithin limits how long a page waits for the state of the account.
const stateWithin = time.Second

// state reads the state of the account.
func (c *Console) state(ctx context.Context) state {
	if c.cfg.Account == nil {
		return state{}
	}
	ctx, cancel := context.WithTimeout(ctx, stateWithin)
	defer cancel()
	now, files, known := c.cfg.Account.Status(ctx)
	if !known {
		return state{Trading: true}
	}
	return newState(now, files)
}

func newState(now desk.Status, files []string) state {
	s := state{
		Trading: true, Known: true, Mode: now.Mode, Broker: now.Broker, Level: now.State.Level().String(),
		Why: now.State.Explain(), Open: now.Open, Pending: now.Pending,
	}
	for _, r := range now.State.Restrictions {
		if r.Halts() && (s.Halt == nil || r.Ordered()) {
			if strings.HasPrefix(r.By, byConsole) {
				r.By = "you"
			}
			s.Halt = &r
		}
	}
	if len(files) > 0 && !strings.Contains(s.Why, files[0]) {
		s.Why = strings.TrimSpace(s.Why + " The file " + files[0] + " halts trading; remove it first.")
	}
	return s
}

// Halted reports whether no order passes.
func (s state) Halted() bool { return s.Level == guard.Halted.String() }

// Reducing reports whether only orders that reduce a position pass.
func (s state) Reducing() bool { return s.Level == guard.Reducing.String() }

// Working returns how many orders are at the venue.
func (s state) Working() int { return max(0, s.Open-s.Pending) }

// frame collects what stands around a page.
func (c *Console) frame(v *visit, p page) frame {
	f := frame{
		Title: p.title, Name: p.name, Path: v.r.URL.RequestURI(), Host: c.base.Host, Until: v.session.Expires,
		Token: v.session.FormToken, Prefs: v.prefs, Live: p.live, state: c.state(v.ctx()),
	}
	if v.r.Method != http.MethodGet {
		f.Path = Root + "/"
	}
	// A page that refreshes its parts must not take the notice from the one that comes next.
	if mode := v.r.Header.Get("Sec-Fetch-Mode"); mode == "" || mode == "navigate" {
		f.Notice = c.cfg.Owner.Notice(v.session)
	}
	counts := c.counts(v, f.state)
	for _, one := range c.table() {
		e := entry{Title: one.title, Path: Root + plainPath(one.path), Icon: one.icon, Key: one.key, Current: one.name == p.name}
		e.Count, e.Hot = counts[one.name], one.name == "approvals"
		if one.icon != "" && one.name != "more" {
			for len(f.Groups) <= one.group {
				f.Groups = append(f.Groups, nil)
			}
			f.Groups[one.group] = append(f.Groups[one.group], e)
		}
		if one.tab != "" {
			e.Title = one.tab
			if !e.Hot {
				e.Count = 0
			}
			f.Tabs = append(f.Tabs, e)
		}
	}
	return f
}

// plainPath returns a page's path without what varies.
func plainPath(path string) string {
	path, _, _ = strings.Cut(path, "/{")
	return cmp.Or(path, "/")
}

// counts returns the numbers in the navigation, by page.
func (c *Console) counts(v *visit, s state) map[string]int {
	counts := map[string]int{"approvals": s.Pending, "orders": s.Open}
	if c.cfg.Clients != nil {
		if all, err := c.clients(v.ctx(), v); err == nil {
			counts["clients"] = len(all)
		}
	}
	if c.cfg.Alerts != nil {
		if all, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller()); err == nil {
			counts["alerts"] = len(all)
		}
	}
	return counts
}

// frameOf returns the state for a page without a session, which says no more than the consent
// page does.
func (c *Console) frameOf(r *http.Request) state {
	s := c.state(r.Context())
	return state{Trading: s.Trading, Known: s.Known, Mode: s.Mode}
}

// morePage lists the pages that have no tab on a phone.
func morePage() page {
	return page{path: "/more", name: "more", title: "More", icon: "more", tab: "More", data: func(*Console, *visit) (any, error) { return struct{}{}, nil }}
}
