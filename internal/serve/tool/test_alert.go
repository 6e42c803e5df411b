package tool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/research/firings"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/report"
	"candela/lib/fault"
	"candela/lib/market"
)

// alertTestArgs are the arguments of test_alert.
type alertTestArgs struct {
	alertArgs
	span
	seed int
	id   string
}

func (c *charts) testAlert() toolSpec {
	arguments := func() (*alertTestArgs, args) {
		r := &alertTestArgs{alertArgs: alertArgs{on: "close"}, span: span{bars: defaultPast}, seed: 1}
		return r, slices.Concat(args{
			symbolArg(&r.Symbol, "The instrument, such as BTCUSDT."),
			conditionArg(c.library, &r.Condition, &r.timed),
			stringArg("alert_id", &r.id, 64, "An alert of list_alerts, in place of symbol and condition."),
			intervalArg(&r.Interval, "Bar length; default 4h. Price conditions are tested on bars, too."),
		}, r.args(), args{intArg("seed", &r.seed, 0, 1<<31-1, "")})
	}
	return toolSpec{
		name: "test_alert", title: "Test an alert on the past", scope: principal.Charts, set: ResearchSet,
		description: "When a condition of set_alert would have fired on past bars, and what the price did 1, 3, 5, 10 and 20 bars later, compared with any bar. " +
			"A return counts from the next open. edge_95 is the interval of chance: an edge is shown only where it does not hold 0. About 2 KB.",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, r *alertTestArgs) (mcp.Result, error) {
			return c.long(ctx, caller, waiting{-1}, func(ctx context.Context) (mcp.Result, error) { return c.askAlert(ctx, caller, r) })
		}),
	}
}

func (c *charts) askAlert(ctx context.Context, caller principal.Caller, r *alertTestArgs) (mcp.Result, error) {
	interval := r.Interval
	want, err := c.wantedAlert(ctx, caller, r)
	if err != nil {
		return mcp.Result{}, err
	}
	if want.Condition.Type.OnPrice() {
		if interval == 0 {
			interval = market.Hour4
		}
	} else {
		interval = want.Interval
	}
	depth := 1
	if !want.Condition.Type.OnPrice() {
		tried := replay.New(c.library, want, replay.Where{})
		if depth, err = tried.Depth(), tried.CheckBars(r.bars); err != nil {
			return mcp.Result{}, err
		}
	}
	p, err := r.read(ctx, c.Bars, want.Symbol, interval, depth)
	if err != nil {
		return mcp.Result{}, err
	}
	var answer firings.Answer
	scripts := c.Turns.Run(ctx, caller, len(want.Condition.Scripts()) > 0)
	err = c.Turns.Study(ctx, caller, scripts, func(ctx context.Context) error {
		shown := startProgress(ctx, p.Bars.Len()-p.from)
		q := firings.Question{Library: c.library, Alert: want, Calendar: p.Calendar, Facts: p.Facts, Run: scripts, From: p.from, Horizons: []int{1, 3, 5, 10, 20}, Seed: uint64(r.seed)} //nolint:gosec // G115: the argument is not negative
		q.Step = func(done int) { shown.step(done, 0) }
		answer, err = firings.Ask(ctx, q, &p.Bars)
		return err
	})
	if err != nil {
		return mcp.Result{}, scriptFailure(err)
	}
	found := alertTestJSON(r, interval, &p, &answer, want.Describe())
	return c.keepReport(caller, fmt.Sprintf("Test of an alert: %s. %d firings in %d bars; %s", found.Describe, found.Firings, found.Data.Bars, found.Reading), &found.ReportID, &found, firingTable(&answer), forwardTable(&answer))
}

// wantedAlert returns the alert to test: a stored one, or that of the arguments.
func (c *charts) wantedAlert(ctx context.Context, caller principal.Caller, r *alertTestArgs) (alert.Alert, error) {
	switch given := !r.Symbol.IsZero() || r.Condition.Type != 0; {
	case r.id == "" && r.Symbol.IsZero():
		return alert.Alert{}, fault.Missing("symbol", "the instrument, such as BTCUSDT, or alert_id")
	case r.id == "" && r.Condition.Type == 0:
		return alert.Alert{}, fault.Missing("condition", "a condition of set_alert, or alert_id")
	case r.id == "":
		return r.alert(c.library)
	case given:
		return alert.Alert{}, fault.Field("alert_id", truncate(r.id), "alert_id, or symbol and condition")
	case c.alerts == nil || caller.Scope < principal.Read:
		return alert.Alert{}, fault.New(fault.Unsupported, "trading_disabled", "alerts need --trade and a client that may read them; pass symbol and condition instead").About("alert_id", truncate(r.id), "symbol and condition")
	}
	all, err := c.alerts.Alerts(ctx, caller)
	if err != nil {
		return alert.Alert{}, err
	}
	for _, a := range all {
		if a.ID == r.id {
			return a, nil
		}
	}
	return alert.Alert{}, fault.New(fault.NotFound, "alert_not_found", "there is no active alert %q", truncate(r.id)).About("alert_id", truncate(r.id), "an alert_id of list_alerts")
}

// forwardTable lists what the price did after the firings.
func forwardTable(a *firings.Answer) report.Table {
	return report.Table{
		Name: "forward", Len: len(a.Forward),
		Columns: []string{"bars", "n", "apart", "mean_pct", "median_pct", "up", "base_mean_pct", "base_up", "edge_pct", "edge_low", "edge_high"},
		Row: func(i int) []any {
			f := &a.Forward[i]
			return []any{f.Bars, f.N, f.Apart, f.Mean, f.Median, f.Hit, f.BaseMean, f.BaseHit, f.Edge, f.EdgeLow, f.EdgeHigh}
		},
	}
}

// firingTable lists the firings of an alert.
func firingTable(a *firings.Answer) report.Table {
	return report.Table{
		Name: "firings", Columns: []string{"time", "price"}, Len: len(a.Firings),
		Row: func(i int) []any { return []any{market.Stamp(a.Firings[i].Time), a.Firings[i].Price} },
	}
}

type forwardJSON struct {
	Bars     int       `json:"bars"`
	N        int       `json:"n"`
	Apart    int       `json:"apart"`
	Mean     figure    `json:"mean_pct"`
	Median   figure    `json:"median_pct"`
	Hit      figure    `json:"up_pct"`
	BaseMean figure    `json:"base_mean_pct"`
	BaseHit  figure    `json:"base_up_pct"`
	Edge     figure    `json:"edge_pct"`
	Edge95   [2]figure `json:"edge_95"`
}

type firingJSON struct {
	Time  string `json:"time"`
	Price figure `json:"price"`
}

type alertAnswerJSON struct {
	Symbol   string         `json:"symbol"`
	Interval string         `json:"interval"`
	Describe string         `json:"describe"`
	Firings  int            `json:"firings"`
	PerMonth map[string]int `json:"per_month"`
	Last     []firingJSON   `json:"last"`
	Forward  []forwardJSON  `json:"forward"`
	Adverse  figure         `json:"worst_20_pct"`
	Favour   figure         `json:"best_20_pct"`
	Reading  string         `json:"reading"`
	Anchored string         `json:"anchored_at,omitempty"`
	WarmupOK bool           `json:"warmup_ok"`
	Data     dataJSON       `json:"data"`
	Seed     int            `json:"seed"`
	Caution  string         `json:"caution,omitempty"`
	ReportID string         `json:"report_id"`
}

// lastFirings is the number of firings that are listed.
const lastFirings = 5

func alertTestJSON(r *alertTestArgs, i market.Interval, p *past, a *firings.Answer, describe string) alertAnswerJSON {
	out := alertAnswerJSON{
		Symbol: p.Symbol.String(), Interval: i.String(), Describe: describe, Firings: len(a.Firings), PerMonth: map[string]int{},
		Last: []firingJSON{}, Adverse: figure(a.Adverse), Favour: figure(a.Favour), Reading: a.Reading(), WarmupOK: a.WarmUp,
		Data: p.json(i), Seed: r.seed,
	}
	if a.Anchored != 0 {
		out.Anchored = market.Stamp(a.Anchored)
	}
	for k, f := range a.Firings {
		at := time.Unix(f.Time, 0).UTC()
		if len(a.Firings)-k <= lastFirings {
			out.Last = append(out.Last, firingJSON{at.Format(time.RFC3339), figure(f.Price)})
		}
		month := at.Format("2006-01")
		if a.Bars > 24*monthsBars(i) {
			month = at.Format("2006")
		}
		out.PerMonth[month]++
	}
	for _, f := range a.Forward {
		out.Forward = append(out.Forward, forwardJSON{
			f.Bars, f.N, f.Apart, figure(f.Mean), figure(f.Median), figure(f.Hit), figure(f.BaseMean), figure(f.BaseHit),
			figure(f.Edge),
			[2]figure{figure(f.EdgeLow), figure(f.EdgeHigh)},
		})
	}
	if p.Synthetic {
		out.Caution = "the bars are made-up samples: the answer says nothing about a market"
	}
	return out
}

// monthsBars returns about how many bars a month has.
func monthsBars(i market.Interval) int {
	return max(1, int(30*24*time.Hour/(time.Duration(i.Seconds())*time.Second)))
}
