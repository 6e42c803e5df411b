package console

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/work/strategies"
	"candela/lib/fault"
)

// Strategies are those that run by themselves.
type Strategies interface {
	ListOwn(ctx context.Context) ([]strategies.View, error)
	ShowOwn(ctx context.Context, id string) (strategies.Shown, error)
	DriftOwn(ctx context.Context, id string) (strategies.Drift, error)
	Act(ctx context.Context, by, act, id string, how strategies.How) (strategies.View, error)
	// Stages returns the stages that this server runs.
	Stages(ctx context.Context) ([]string, error)
}

func hasStrategies(p Ports) bool { return p.Strategies != nil }

// strategiesPage lists the strategies, those that wait for the owner first.
func strategiesPage() page {
	return page{path: "/strategies", name: "strategies", title: "Strategies", icon: "play", key: "t", group: 1, live: "state", needs: hasStrategies, data: (*Console).strategiesData}
}

// strategyPage shows one, and where its account differs from its model.
func strategyPage() page {
	return page{path: "/strategies/{id}", name: "strategies", title: "Strategy", template: "strategy", needs: hasStrategies, data: (*Console).strategyData}
}

// strategyActs are what the owner does with strategies. Whatever lets one trade asks for the passphrase.
func strategyActs() []act {
	all := make([]act, 0, len(strategies.Acts()))
	for _, name := range strategies.Acts() {
		one := act{path: "/strategies/{id}/" + name, asks: confirmOnly, form: strategyForm(name), do: actOnStrategy(name)}
		if name == "start" || name == "resume" || name == "promote" {
			one.asks = passphrase
		}
		all = append(all, one)
	}
	return all
}

// strategyRow is a strategy in a list.
type strategyRow struct {
	ID, Name, On, Program, Path string
	State                       statusWord
	Stage, Cause                string
	Model                       *strategies.Model
}

// statusWord is where something stands: a word with its icon and colour.
type statusWord struct{ Tone, Icon, Word string }

func strategyRowOf(v *strategies.View) strategyRow {
	return strategyRow{
		ID: v.ID, Name: fault.Clean(v.Name, strategies.MostName), On: v.Symbol + " " + v.Interval, Program: fault.Clean(v.Program, 64), Path: Root + "/strategies/" + url.PathEscape(v.ID),
		State: strategyState(v.State), Stage: v.Stage, Cause: strings.ReplaceAll(v.Cause, "_", " "), Model: v.Model,
	}
}

func strategyState(state string) statusWord {
	switch state {
	case strategies.StateProposed:
		return statusWord{"warn", "clock", "waits for you"}
	case strategies.StateRunning:
		return statusWord{"up", "check", "running"}
	case strategies.StatePaused:
		return statusWord{"warn", "pause", "paused"}
	case strategies.StateStopping:
		return statusWord{"warn", "clock", "stopping"}
	default:
		return statusWord{"", "x", state}
	}
}

type strategiesData struct{ Rows []strategyRow }

// maxStrategies bounds how many strategies a page lists.
const maxStrategies = 100

func (c *Console) strategiesData(v *visit) (any, error) {
	all, err := c.cfg.Strategies.ListOwn(v.ctx())
	if err != nil {
		return nil, err
	}
	rank := []string{strategies.StateProposed, strategies.StatePaused, strategies.StateStopping, strategies.StateRunning}
	slices.SortStableFunc(all, func(a, b strategies.View) int {
		place := func(state string) int {
			if i := slices.Index(rank, state); i >= 0 {
				return i
			}
			return len(rank)
		}
		return place(a.State) - place(b.State)
	})
	d := strategiesData{}
	for i := range all[:min(len(all), maxStrategies)] {
		d.Rows = append(d.Rows, strategyRowOf(&all[i]))
	}
	return d, nil
}

type strategyData struct {
	strategyRow
	strategies.Shown
	Acts   []strategyAct // that are open now
	Report string        // path of the back-test beside the proposal, "" if it is not kept any more
	Drift  *driftData
	Detail string
	Asked  time.Time
	Began  time.Time
	Wanted []strategies.Intent
	Trust  *trust // of a proposal whose back-test is kept
	Asks   string // what it asked the venue for in its back-test
	Flags  string // of the honesty of its back-test
	Newest time.Time
}

// driftData is the sum from the model to the account, with a drawing of each step.
type driftData struct {
	strategies.Drift
	Rows  []driftRow
	Notes []string
	Curve *curves
}

// curves are what model and account earned, drawn on one scale.
type curves struct {
	Model, Account, Zero string // paths
	Low, High            decimal.Decimal
}

// The size of the curves, in points.
const curveWidth, curveHeight = 640, 160

// newCurves draws both, nil for fewer than two points.
func newCurves(points []strategies.Point) *curves {
	if len(points) < 2 {
		return nil
	}
	low, high := 0.0, 0.0
	for _, p := range points {
		low, high = min(low, p.Model, p.Account), max(high, p.Model, p.Account)
	}
	if high-low < 1e-9 {
		return nil
	}
	line := func(value func(strategies.Point) float64) string {
		var path strings.Builder
		for i, p := range points {
			x, y := float64(i)*curveWidth/float64(len(points)-1), 2+(high-value(p))/(high-low)*(curveHeight-4)
			path.WriteString([]string{"L", "M"}[max(0, 1-i)] + number(round2(x)) + "," + number(round2(y)))
		}
		return path.String()
	}
	return &curves{
		Model: line(func(p strategies.Point) float64 { return p.Model }), Account: line(func(p strategies.Point) float64 { return p.Account }), Zero: line(func(strategies.Point) float64 { return 0 }),
		Low: decimal.NewFromFloat(low).Round(2), High: decimal.NewFromFloat(high).Round(2),
	}
}

type driftRow struct {
	What, Cause string
	Amount      decimal.Decimal
	Total       bool
	Line        string // from where the sum was to where it is
}

// maxIntents bounds the intents of the page.
const maxIntents = 20

func (c *Console) strategyData(v *visit) (any, error) {
	one, err := c.cfg.Strategies.ShowOwn(v.ctx(), v.id())
	if err != nil {
		return nil, err
	}
	d := strategyData{strategyRow: strategyRowOf(&one.View), Shown: one, Acts: openActs(&one), Detail: fault.Clean(one.View.Detail, 500), Asked: one.ProposedAt, Began: one.StartedAt}
	d.Wanted = one.Recent[:min(len(one.Recent), maxIntents)]
	d.Asks, d.Flags = asks(&one.Needs), flagged(one.Flags)
	d.Newest, _ = time.Parse(time.RFC3339, one.Through) // none before the first bar
	if c.cfg.Reports != nil && one.Report != "" {
		if found, ok := c.cfg.Reports.Report(v.caller(), one.Report); ok && found.Curve != nil {
			d.Report = Root + "/backtests/" + url.PathEscape(one.Report)
			if one.State == strategies.StateProposed {
				d.Trust = newTrust(found)
			}
		}
	}
	if !one.StartedAt.IsZero() {
		if is, err := c.cfg.Strategies.DriftOwn(v.ctx(), one.ID); err == nil {
			d.Drift = newDrift(is)
		} // the page is good without it
	}
	return d, nil
}

// openActs lists what the owner can do with a strategy now.
func openActs(one *strategies.Shown) []strategyAct {
	start, decline, pause := strategyAct{"start", "Start", "primary"}, strategyAct{"decline", "Decline", ""}, strategyAct{"pause", "Pause", ""}
	resume, stop := strategyAct{"resume", "Resume", "primary"}, strategyAct{"stop", "Stop", "danger"}
	switch one.State {
	case strategies.StateProposed:
		return []strategyAct{start, decline}
	case strategies.StateRunning:
		if len(one.Gates) > 0 && !slices.ContainsFunc(one.Gates, func(g strategies.Gate) bool { return g.Open() && !g.Waive }) {
			return []strategyAct{{"promote", "Promote", "primary"}, pause, stop}
		}
		return []strategyAct{pause, stop}
	case strategies.StatePaused:
		return []strategyAct{resume, stop}
	default:
		return nil
	}
}

// strategyAct is a button of the page.
type strategyAct struct{ Name, Word, Class string }

func newDrift(is strategies.Drift) *driftData {
	d := &driftData{Drift: is, Notes: is.Notes(), Curve: newCurves(is.Curve)}
	if is.Account == nil {
		return d
	}
	d.Rows = append(d.Rows, driftRow{What: "Model", Amount: is.Model, Total: true})
	for _, s := range is.Steps {
		d.Rows = append(d.Rows, driftRow{What: s.Name, Cause: strings.ReplaceAll(s.Cause, "_", " "), Amount: s.Amount})
	}
	d.Rows = append(d.Rows, driftRow{What: "Account", Amount: *is.Account, Total: true})
	draw(d.Rows)
	return d
}

// draw sets the lines of a sum: of a total from zero, of a step from the sum before it.
func draw(rows []driftRow) {
	from, to := make([]float64, len(rows)), make([]float64, len(rows))
	least, most, at := 0.0, 0.0, 0.0
	for i := range rows {
		amount := rows[i].Amount.InexactFloat64()
		if from[i], to[i] = at, at+amount; rows[i].Total {
			from[i], to[i] = 0, amount
		}
		at = to[i]
		least, most = min(least, at), max(most, at)
	}
	if most == least {
		return
	}
	const margin = 2
	x := func(value float64) string {
		return number(round2(margin + (value-least)/(most-least)*(dayWidth-2*margin)))
	}
	for i := range rows {
		rows[i].Line = "M" + x(from[i]) + " 12H" + x(to[i])
	}
}

// actOnStrategy carries out an act.
func actOnStrategy(name string) func(*Console, *visit) (done, error) {
	return func(c *Console, v *visit) (done, error) {
		if c.cfg.Strategies == nil {
			return done{}, errNoStrategies
		}
		how := strategies.How{Stage: v.r.PostFormValue("stage"), Close: v.r.PostFormValue("held") == closeHeld}
		if accept := v.r.PostFormValue("accept"); accept != "" {
			how.Accept = strings.Split(accept, " ")
		}
		var err error
		if how.Limits, err = strategies.LimitsOf(v.r.PostFormValue("cap"), v.r.PostFormValue("max_loss")); err != nil {
			return done{}, err
		}
		now, err := c.cfg.Strategies.Act(v.ctx(), byConsole, name, v.id(), how)
		if err != nil {
			return done{}, err
		}
		return done{Notice: fault.Clean(now.Name, strategies.MostName) + " is " + now.State + ".", To: "/strategies/" + url.PathEscape(now.ID)}, nil
	}
}

// closeHeld is the choice of a stop that sells.
const closeHeld = "close it at the market"

var errNoStrategies = fault.New(fault.NotFound, "strategies_off", "This server runs no strategies. Start candela with --strategies shadow.")

// strategyForm asks before an act.
func strategyForm(name string) func(*Console, *visit) (form, error) {
	return func(c *Console, v *visit) (form, error) {
		if c.cfg.Strategies == nil {
			return form{}, errNoStrategies
		}
		one, err := c.cfg.Strategies.ShowOwn(v.ctx(), v.id())
		if err != nil {
			return form{}, err
		}
		row := strategyRowOf(&one.View)
		f := form{Back: "/strategies/" + url.PathEscape(one.ID), Page: "strategies", Keep: "Back", Title: upperFirst(name) + " " + row.Name + "?", Submit: upperFirst(name)}
		err = c.describe(v, &f, name, &one)
		return f, err
	}
}

// describe says what an act does, and asks for what it needs.
func (c *Console) describe(v *visit, f *form, name string, one *strategies.Shown) error {
	row := strategyRowOf(&one.View)
	most := field{Name: "cap", Label: "Most that it may hold", Hint: "in the currency of its prices; not needed in shadow"}
	loss := field{Name: "max_loss", Label: "Most that it may lose", Hint: "it pauses at the close at which its account has lost that; empty for any loss"}
	switch name {
	case "start":
		stages, err := c.cfg.Strategies.Stages(v.ctx())
		if err != nil {
			return err
		}
		f.Lead = row.Program + " on " + row.On + ", from the next closed bar on. In shadow it records what it wants; on paper it trades on the paper account, and its orders need no approval up to the cap."
		f.Fields = []field{{Name: "stage", Label: "Stage", Value: stages[0], Options: stages}, most, loss}
	case "promote":
		most.Hint = "in the currency of its prices"
		f.Lead = row.Program + " on " + row.On + " trades on the account of the broker from the next closed bar on, and its orders need no approval up to the cap. What it holds on paper is closed; the account begins without a position."
		f.Fields = []field{most, loss}
		if open := openGates(one.Gates); open != "" {
			f.Fields = append(f.Fields, field{Name: "accept", Label: "Accept", Hint: "names of what is not met and may be accepted: " + open})
		}
	case "resume":
		loss.Hint = "since its start; empty for the limit that it has"
		f.Fields = []field{loss}
		f.Lead = "It goes on from the newest closed bar. What it wanted since the pause does not count."
	case "pause":
		f.Lead = "Its entries are cancelled and its stops stay. Its bars are still computed."
	case "stop":
		f.Danger, f.Lead = true, "It ends for good, and only you start another."
		f.Fields = []field{{Name: "held", Label: "What it holds", Value: keepHeld, Options: []string{keepHeld, closeHeld}}}
	case "decline":
		f.Lead = "The proposal ends. The agent may propose another."
	}
	return nil
}

// openGates names the gates that are not met.
func openGates(all []strategies.Gate) string {
	var open []string
	for _, g := range all {
		if g.Open() {
			open = append(open, g.Name)
		}
	}
	return strings.Join(open, " ")
}

// keepHeld is the choice of a stop that sells nothing.
const keepHeld = "keep it, with its stops; it is yours then"
