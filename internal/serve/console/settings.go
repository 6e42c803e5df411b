package console

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// Part is a part of the program and how it is.
type Part struct {
	Name, Text string
	Bad        bool
}

// settingsPage shows how the parts of the program are, the policy and how pages look.
func settingsPage() page {
	return page{path: "/settings", name: "settings", title: "Settings & health", icon: "gear", key: "s", group: 1, live: "state", data: (*Console).settingsData}
}

// settingsActs are what the owner does on that page.
func settingsActs() []act {
	return []act{{path: "/settings/test", asks: withoutAsking, do: (*Console).testReceivers}}
}

// testWithin limits how long a browser waits for the answers of receivers.
const testWithin = 10 * time.Second

// testReceivers sends a test message to every receiver, side by side, and says what each answered.
func (c *Console) testReceivers(v *visit) (done, error) {
	if c.cfg.Receivers == nil {
		return done{}, errNoTrading
	}
	all := c.cfg.Receivers()
	ctx, cancel := context.WithTimeout(v.ctx(), testWithin)
	defer cancel()
	said := make([]string, len(all))
	var wg sync.WaitGroup
	for i, to := range all {
		wg.Go(func() {
			answer, ok := to.Test(ctx)
			said[i] = to.Name + " accepted it"
			if !ok {
				said[i] = to.Name + " did not: " + fault.Clean(answer, 120)
			}
		})
	}
	wg.Wait()
	return done{Notice: "Test message: " + cmp.Or(strings.Join(said, "; "), "no receiver is set") + ".", To: "/settings"}, nil
}

type settingsData struct {
	Version   string
	Running   string
	Parts     []Part
	Bad       int
	Receivers []Receiver
	Trading   bool
	Limits    []figure
	Lines     [][2]string // of the policy
	Rules     []guard.Rule
	Own       []guard.OwnCondition // conditions of the owner's own
	InForce   string               // which policy is in force
	File      string               // what is wrong with its file, "" for nothing
	Problem   string
	Looks     []look
	Zone      string
}

// look is a preference with its choices.
type look struct {
	Label, Name string
	Choices     []lookChoice
}

type lookChoice struct {
	Label, Value string
	Current      bool
}

func (c *Console) settingsData(v *visit) (any, error) {
	f := v.format()
	d := settingsData{Version: c.cfg.Version, Running: days(v.now.Sub(c.began)), Trading: c.cfg.Account != nil, Zone: v.prefs.Zone, Looks: looks(v.prefs)}
	if c.cfg.Health != nil {
		d.Parts = c.cfg.Health()
	}
	for _, p := range d.Parts {
		if p.Bad {
			d.Bad++
		}
	}
	if c.cfg.Receivers != nil {
		d.Receivers = c.cfg.Receivers()
	}
	if !d.Trading {
		return d, nil
	}
	account, err := c.cfg.Account.Account(v.ctx(), v.caller())
	if err != nil {
		d.Problem = c.public(v.ctx(), err)
		return d, nil
	}
	for _, u := range account.Usage {
		fig := newFigure(usageWords(u.Rule), f.Num(u.Used.Round(2)), u, f, "")
		if u.Rule == guard.LossRule { // a profit is no negative loss
			fig.Value, fig.Unit = f.Signed(u.Used.Neg()), strings.Replace(fig.Unit, "of ", "may lose ", 1)
		}
		if fig.Title != "" {
			d.Limits = append(d.Limits, fig)
		}
	}
	if c.cfg.PolicyText != nil {
		d.InForce, d.File = c.cfg.PolicyText()
	}
	d.Lines, d.Rules = policyLines(c.cfg.Policy(), f), account.Rules
	d.Own = guard.OwnConditions(c.cfg.Policy())
	return d, nil
}

func usageWords(rule string) string {
	return map[string]string{
		guard.LossRule: "P&L today", "max_exposure": "Exposure, with open orders", "max_daily_notional": tradedTitle, "max_open_orders": "Open orders",
	}[rule]
}

// policyLines are the limits that are not used up.
func policyLines(p guard.Policy, f format) [][2]string {
	limit := func(l guard.Limit) string {
		if l.Off {
			return "none"
		}
		return f.Whole(l.Value)
	}
	names := make([]string, 0, len(p.AllowedSymbols))
	for _, s := range p.AllowedSymbols {
		names = append(names, s.String())
	}
	symbols := strings.Join(names, ", ")
	if symbols == "" {
		symbols = "all"
	}
	return [][2]string{{"One order, at most", limit(p.MaxOrderNotional)}, {"Needs approval above", limit(p.Approval.Above)}, {"Symbols", symbols}}
}

// looks lists the preferences that have choices.
func looks(p prefs) []look {
	of := func(label, name, now string, pairs ...string) look {
		l := look{Label: label, Name: name}
		for i := 0; i+1 < len(pairs); i += 2 {
			l.Choices = append(l.Choices, lookChoice{pairs[i], pairs[i+1], pairs[i+1] == now})
		}
		return l
	}
	return []look{
		of("Theme", "theme", p.Theme, "System", "", "Dark", "dark", "Light", "light"),
		of("Up and down", "marks", p.Marks, "Teal and red", "", "Blue and orange", "blue"),
		of("Numbers", "numbers", p.Numbers, "1,234.50", "en", "1.234,50", "de", "1\u202f234,50", "fr"),
		of("Single-letter keys", "keys", p.Keys, "On", "", "Off", "off"),
	}
}
