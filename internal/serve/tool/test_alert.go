package tool

import (
	"context"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/research"
	"candela/lib/fault"
	"candela/lib/ta"
)

// alertTestArgs are the arguments of test_alert.
type alertTestArgs struct {
	alertArgs
	research.Span
	seed    int
	id      string
	library ta.Library
}

func (c *charts) declareAlertTest() (*alertTestArgs, args) {
	r := &alertTestArgs{library: c.library, alertArgs: alertArgs{on: "close"}, Span: research.Span{Bars: research.UsualBars}, seed: 1}
	return r, slices.Concat(args{
		symbolArg(&r.Symbol, "Such as BTCUSDT."),
		conditionArg(c.library, &r.Condition, &r.timed).typed(&schema{Type: "object", Description: "As in set_alert."}),
		stringArg("alert_id", &r.id, 64, "An alert of list_alerts, in place of symbol and condition."),
		intervalArg(&r.Interval, "").describe("As in generate_chart; default 4h. Price conditions are tested on bars, too."),
	}, spanArgs(&r.Span), args{intArg("seed", &r.seed, 0, 1<<31-1, "")})
}

func (c *charts) testAlert() toolSpec {
	return toolSpec{
		name: "test_alert", title: "Test an alert on the past", scope: principal.Charts, set: ResearchSet, long: true,
		description: "When a condition of set_alert would have fired on past bars, and what the price did 1, 3, 5, 10 and 20 bars later, compared with any bar. " +
			"A return counts from the next open. edge_95 is the interval of chance: an edge is shown only where it does not hold 0. About 2 KB.",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(c.declareAlertTest, func(ctx context.Context, caller principal.Caller, r *alertTestArgs) (mcp.Result, error) {
			return c.long(ctx, caller, waiting{-1}, r.ask)
		}),
	}
}

// ask asks for the test of the arguments.
func (r *alertTestArgs) ask(ctx context.Context, of *research.Research, caller principal.Caller) (*research.Answer, error) {
	q, err := r.question()
	if err != nil {
		return nil, err
	}
	return of.TestAlert(ctx, caller, q)
}

// question is the test that the arguments ask for: of a stored alert, or of their own.
func (r *alertTestArgs) question() (q research.AlertTest, err error) {
	q = research.AlertTest{ID: r.id, Interval: r.Interval, Span: r.Span, Seed: r.seed}
	switch given := !r.Symbol.IsZero() || r.Condition.Type != 0; {
	case r.id == "" && r.Symbol.IsZero():
		return q, fault.Missing("symbol", "the instrument, such as BTCUSDT, or alert_id")
	case r.id == "" && r.Condition.Type == 0:
		return q, fault.Missing("condition", "a condition of set_alert, or alert_id")
	case r.id == "":
		if r.Condition.Type.OnPrice() {
			r.Interval = 0 // that of the bars on which it is tested, in the question
		}
		q.Alert, err = r.alert(r.library)
	case given:
		return q, fault.Field("alert_id", truncate(r.id), "alert_id, or symbol and condition")
	}
	return q, err
}
