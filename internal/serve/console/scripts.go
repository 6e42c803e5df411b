package console

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/store/scripts"
	"candela/lib/fault"
	"candela/lib/ta"
)

// Scripts are the stored Pine scripts.
type Scripts interface {
	List() ([]scripts.Entry, error)
	Source(name string) (string, error)
	Script(name string) (*ta.Def, error)
	Delete(name string) error
}

func hasScripts(p Ports) bool { return p.Scripts != nil }

// scriptsPage lists the scripts that agents wrote, and their back-tests.
func scriptsPage() page {
	return page{
		path: "/scripts", name: "scripts", title: "Scripts & back-tests", icon: "code", key: "b", group: 1, live: "alerts",
		needs: func(p Ports) bool { return hasScripts(p) || hasReports(p) }, data: (*Console).scriptsData,
	}
}

// scriptPage shows the text of one.
func scriptPage() page {
	return page{path: "/scripts/{id}", name: "scripts", title: "Script", template: "script", needs: hasScripts, data: (*Console).scriptData}
}

// scriptActs remove scripts.
func scriptActs() []act {
	return []act{{path: "/scripts/{id}/remove", asks: passphrase, form: removeScriptForm, do: (*Console).removeScript}}
}

type scriptsData struct {
	Scripts   bool // whether the server keeps any
	Rows      []scriptRow
	Tests     bool // whether agents can make any
	Backtests []backtestRow
}

// scriptRow is a stored script or library.
type scriptRow struct {
	Name, Title, Version, Uses string
	Path                       string // of its page
	Lines                      int
	Library                    bool
	Problem                    string // why it does not compile
}

func (c *Console) scriptsData(v *visit) (any, error) {
	d := scriptsData{Scripts: c.cfg.Scripts != nil, Tests: c.cfg.Reports != nil, Backtests: c.backtests(v)}
	if !d.Scripts {
		return d, nil
	}
	all, err := c.cfg.Scripts.List()
	if err != nil {
		return nil, err
	}
	used := c.scriptUses(v.ctx(), v)
	for _, e := range all {
		d.Rows = append(d.Rows, c.scriptRow(e, used))
	}
	return d, nil
}

func (c *Console) scriptRow(e scripts.Entry, used map[string]int) scriptRow {
	row := scriptRow{Name: e.Name, Version: e.Version[:min(8, len(e.Version))], Library: e.Library, Path: Root + "/scripts/" + url.PathEscape(e.Name), Uses: "nothing"}
	if source, err := c.cfg.Scripts.Source(e.Name); err == nil {
		row.Lines = strings.Count(strings.TrimRight(source, "\n"), "\n") + 1
	}
	if n := used[e.Name]; n > 0 {
		row.Uses = plural(n, "alert")
	}
	if e.Library {
		row.Title, row.Uses = "a library that scripts import", "–"
		return row
	}
	def, err := c.cfg.Scripts.Script(e.Name)
	switch {
	case err != nil:
		row.Problem = fault.Clean(err.Error(), 200)
	case def != nil:
		row.Title = fault.Clean(def.Doc, 120)
	}
	return row
}

// scriptUses counts the alerts on each script.
func (c *Console) scriptUses(ctx context.Context, v *visit) map[string]int {
	used := map[string]int{}
	if c.cfg.Alerts == nil {
		return used
	}
	all, err := c.cfg.Alerts.Alerts(ctx, v.caller())
	if err != nil {
		return used // the page is good without it
	}
	for i := range all {
		names := indicatorsOf(all[i].Condition)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			used[name]++
		}
	}
	return used
}

// indicatorsOf returns the indicators that a condition computes.
func indicatorsOf(cond alert.Condition) []string {
	names := slices.DeleteFunc([]string{cond.Indicator, cond.Left.Indicator, cond.Right.Indicator}, func(name string) bool { return name == "" })
	for _, m := range cond.Members {
		names = slices.Concat(names, indicatorsOf(m))
	}
	return names
}

type scriptData struct {
	Row    scriptRow
	Source string
}

func (c *Console) scriptData(v *visit) (any, error) {
	all, err := c.cfg.Scripts.List()
	if err != nil {
		return nil, err
	}
	source, err := c.cfg.Scripts.Source(v.id())
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(e scripts.Entry) bool { return e.Name == v.id() })
	if at < 0 {
		return nil, fault.New(fault.NotFound, scripts.NotFoundCode, "No script %s is stored.", fault.Clean(v.id(), 64))
	}
	return scriptData{Row: c.scriptRow(all[at], c.scriptUses(v.ctx(), v)), Source: source}, nil
}

func removeScriptForm(c *Console, v *visit) (form, error) {
	if c.cfg.Scripts == nil {
		return form{}, errNoScripts
	}
	if _, err := c.cfg.Scripts.Source(v.id()); err != nil {
		return form{}, err
	}
	return form{
		Title: "Remove this script?", Lead: fault.Clean(v.id(), 64) + " is deleted from the server. Alerts on it keep the version that they were set with.",
		Submit: "Remove", Keep: "Keep", Danger: true, Back: "/scripts", Page: "scripts",
	}, nil
}

var errNoScripts = fault.New(fault.NotFound, "no_scripts", "This server keeps no scripts of its own.")

func (c *Console) removeScript(v *visit) (done, error) {
	if c.cfg.Scripts == nil {
		return done{}, errNoScripts
	}
	if err := c.cfg.Scripts.Delete(v.id()); err != nil {
		return done{}, err
	}
	return done{Notice: "Removed: " + fault.Clean(v.id(), 64) + ".", To: "/scripts"}, nil
}
