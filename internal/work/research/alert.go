package research

import (
	"context"
	"fmt"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/work/research/firings"
	"candela/internal/work/research/past"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/report"
	"candela/lib/fault"
	"candela/lib/market"
)

// AlertTest asks when an alert would have fired.
type AlertTest struct {
	ID       string          // of a stored alert, in place of Alert
	Alert    alert.Alert     // as it would be set
	Interval market.Interval // of the bars on which a price condition is tested; 0 for four hours
	Span
	Seed int // of the interval of chance; not negative
}

// TestAlert looks when an alert would have fired on past bars and what the price did then, and keeps the report.
func (r *Research) TestAlert(ctx context.Context, caller principal.Caller, q AlertTest) (*Answer, error) {
	interval := q.Interval
	want, err := r.wantedAlert(ctx, caller, &q)
	if err != nil {
		return nil, err
	}
	if want.Condition.Type.OnPrice() {
		if interval == 0 {
			interval = market.Hour4
		}
	} else {
		interval = want.Interval
	}
	depth, longer := 1, past.LongerNeed(nil)
	if !want.Condition.Type.OnPrice() {
		tried := replay.New(r.Library, want, replay.Where{})
		if depth, err = tried.Depth(), tried.CheckBars(q.Bars); err != nil {
			return nil, err
		}
		longer = tried.Longer()
	}
	p, err := q.Read(ctx, r.Charting.Bars, want.Symbol, interval, depth)
	if err != nil {
		return nil, err
	}
	if err := p.ReadLonger(ctx, r.Charting.Bars, q.Request(want.Symbol, interval), longer); err != nil {
		return nil, err
	}
	var answer firings.Answer
	scripts := r.Charting.Turns.Run(ctx, caller, len(want.Condition.Scripts()) > 0)
	err = r.Charting.Turns.Study(ctx, caller, scripts, func(ctx context.Context) error {
		shown := startProgress(ctx, p.Bars.Len()-p.From)
		asked := firings.Question{Library: r.Library, Alert: want, Calendar: p.Calendar, Facts: p.Facts, Longer: p.Longer, Run: scripts, From: p.From, Horizons: []int{1, 3, 5, 10, 20}, Seed: uint64(q.Seed)} //nolint:gosec // G115: the argument is not negative
		asked.Step = func(done int) { shown.step(done, 0) }
		answer, err = firings.Ask(ctx, asked, &p.Bars)
		return err
	})
	if err != nil {
		return nil, scriptFailure(err)
	}
	found := alertAnswer(&q, interval, &p, &answer, want.Describe())
	found.Notes = r.Library.Notes(want.Condition.Scripts())
	kept, err := r.keep(caller, fmt.Sprintf("Test of an alert: %s. %d firings in %d bars; %s", found.Describe, found.Firings, found.Data.Bars, found.Reading), &found.ReportID, &found, firingTable(&answer), forwardTable(&answer))
	return &Answer{Report: kept, Alert: &found}, err
}

// wantedAlert returns the alert to test: a stored one, or that of the question.
func (r *Research) wantedAlert(ctx context.Context, caller principal.Caller, q *AlertTest) (alert.Alert, error) {
	id := fault.Truncate(q.ID, 80)
	switch {
	case q.ID == "":
		return q.Alert, nil
	case r.Alerts == nil:
		return alert.Alert{}, fault.New(fault.Unsupported, "trading_disabled", "alerts need --trade; pass symbol and condition instead").About("alert_id", id, "symbol and condition")
	case caller.Scope < principal.Read:
		return alert.Alert{}, fault.New(fault.Unauthorized, "insufficient_scope", "alert_id needs the scope %s, and the token of this client has %s; pass symbol and condition instead", principal.Read, caller.Scope).
			About("alert_id", id, "symbol and condition")
	}
	all, err := r.Alerts.Alerts(ctx, caller)
	if err != nil {
		return alert.Alert{}, err
	}
	for _, a := range all {
		if a.ID == q.ID {
			return a, nil
		}
	}
	return alert.Alert{}, fault.New(fault.NotFound, "alert_not_found", "there is no active alert %q", id).About("alert_id", id, "an alert_id of list_alerts")
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

// Forward is what the price did so many bars after the firings.
type Forward struct {
	Bars     int       `json:"bars"`
	N        int       `json:"n"`
	Apart    int       `json:"apart"`
	Mean     Figure    `json:"mean_pct"`
	Median   Figure    `json:"median_pct"`
	Hit      Figure    `json:"up_pct"`
	BaseMean Figure    `json:"base_mean_pct"`
	BaseHit  Figure    `json:"base_up_pct"`
	Edge     Figure    `json:"edge_pct"`
	Edge95   [2]Figure `json:"edge_95"`
}

// Firing is when an alert would have fired, and the price.
type Firing struct {
	Time  string `json:"time"`
	Price Figure `json:"price"`
}

// AlertAnswer is the answer to a test of an alert.
type AlertAnswer struct {
	Symbol   string         `json:"symbol"`
	Interval string         `json:"interval"`
	Describe string         `json:"describe"`
	Firings  int            `json:"firings"`
	PerMonth map[string]int `json:"per_month"`
	Last     []Firing       `json:"last"`
	Forward  []Forward      `json:"forward"`
	Adverse  Figure         `json:"worst_20_pct"`
	Favour   Figure         `json:"best_20_pct"`
	Reading  string         `json:"reading"`
	Anchored string         `json:"anchored_at,omitempty"`
	WarmupOK bool           `json:"warmup_ok"`
	Data     Data           `json:"data"`
	Seed     int            `json:"seed"`
	Caution  string         `json:"caution,omitempty"`
	Notes    []string       `json:"script_notes,omitempty"`
	ReportID string         `json:"report_id"`
}

// lastFirings is the number of firings that are listed.
const lastFirings = 5

// alertAnswer writes what a test has found.
func alertAnswer(q *AlertTest, i market.Interval, p *past.Bars, a *firings.Answer, describe string) AlertAnswer {
	out := AlertAnswer{
		Symbol: p.Symbol.String(), Interval: i.String(), Describe: describe, Firings: len(a.Firings), PerMonth: map[string]int{},
		Last: []Firing{}, Adverse: Figure(a.Adverse), Favour: Figure(a.Favour), Reading: a.Reading(), WarmupOK: a.WarmUp,
		Data: p.Data(i), Seed: q.Seed,
	}
	if a.Anchored != 0 {
		out.Anchored = market.Stamp(a.Anchored)
	}
	for k, f := range a.Firings {
		at := time.Unix(f.Time, 0).UTC()
		if len(a.Firings)-k <= lastFirings {
			out.Last = append(out.Last, Firing{at.Format(time.RFC3339), Figure(f.Price)})
		}
		month := at.Format("2006-01")
		if a.Bars > 24*monthsBars(i) {
			month = at.Format("2006")
		}
		out.PerMonth[month]++
	}
	for _, f := range a.Forward {
		out.Forward = append(out.Forward, Forward{
			f.Bars, f.N, f.Apart, Figure(f.Mean), Figure(f.Median), Figure(f.Hit), Figure(f.BaseMean), Figure(f.BaseHit),
			Figure(f.Edge),
			[2]Figure{Figure(f.EdgeLow), Figure(f.EdgeHigh)},
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
