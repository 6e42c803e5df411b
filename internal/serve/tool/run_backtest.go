package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/research"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/ta"
)

// backtestArgs are the arguments of run_backtest.
type backtestArgs struct {
	research.Backtest
	long, short json.RawMessage
	waiting
}

func (c *charts) declareBacktest() (*backtestArgs, args) {
	r := &backtestArgs{waiting: waiting{-1}, Backtest: research.Backtest{
		Interval: market.Hour4, Span: research.Span{Bars: research.UsualBars}, Seed: 1, Format: research.FormatSummary, Sweep: research.Sweep{OutOfSample: 30},
		Account: research.Account{Capital: 10000, Percent: 100, Fee: 10, Slip: 5, Leverage: research.LeastLeverage, Fills: research.FillsPine},
	}}
	r.Rules.Read = func(name string, text []byte) (*research.Side, error) { return readSide(c.library, name, text) }
	return r, slices.Concat(args{
		symbolArg(&r.Symbol, "Such as BTCUSDT.").require(),
		intervalArg(&r.Interval, "").describe("As in generate_chart."),
		sideArg("long", &r.long, &r.Rules.Given),
		sideArg("short", &r.short, &r.Rules.Given),
		stringArg("script", &r.Script, pine.MaxSource, "A Pine script with strategy(), in place of long and short. Its strategy() sets capital, sizes and costs; capital, size_pct, quantity, fee_bps and slip_bps replace them."),
		stringArg("script_name", &r.ScriptName, 160, "A stored script in place of script."),
		inputsArg(&r.Inputs),
	}, spanArgs(&r.Span), args{magnifyArg(&r.Magnify)}, accountArgs(&r.Account), sweepArgs(&r.Sweep), r.args(), args{
		intArg("seed", &r.Seed, 0, 1<<31-1, ""), enumArg("format", &r.Format, "", research.FormatSummary, research.FormatPNG, research.FormatBoth),
	})
}

// ask asks for the back-test of the arguments.
func (r *backtestArgs) ask(ctx context.Context, of *research.Research, caller principal.Caller) (*research.Answer, error) {
	r.Rules.Long, r.Rules.Short = r.long, r.short
	return of.Backtest(ctx, caller, r.Backtest)
}

// sideArg reads how positions of one direction begin and end.
func sideArg(name string, dst *json.RawMessage, raw *[]byte) arg {
	allowed := "an object with enter, such as " + research.SideExample
	object := &schema{Type: "object"}
	number := &schema{Type: "number"}
	s := &schema{
		Type: "object", Description: "How " + name + " positions begin and end. enter and exit are conditions of set_alert on closed bars; stop_pct and target_pct are percent of the entry price. Such as " + research.SideExample + ".",
		Properties: props{{"enter", object}, {"exit", object}, {"stop_pct", number}, {"target_pct", number}, {"max_bars", &schema{Type: "integer"}}},
		Required:   []string{"enter"},
	}
	if name != "long" {
		s = &schema{Type: "object", Description: "The same as long, for sales."}
	}
	return newArg(name, dst, allowed, s, func(text json.RawMessage) (json.RawMessage, error) {
		if text[0] != '{' {
			return nil, wording.NoObject(name, text, allowed)
		}
		*raw = append(append(*raw, name...), text...)
		return text, nil
	})
}

func readSide(l ta.Library, name string, text json.RawMessage) (*research.Side, error) {
	side := &research.Side{}
	var enter, exit json.RawMessage
	list := args{
		rawArg("enter", &enter).require().allowing("a condition of set_alert"), rawArg("exit", &exit),
		floatArg("stop_pct", &side.Stop, 0.01, 99, ""), floatArg("target_pct", &side.Target, 0.01, 1000, ""),
		intArg("max_bars", &side.MaxBars, 1, research.MostBars, ""),
	}
	if err := list.decode(text); err != nil {
		return nil, prefixField(name, err)
	}
	c, err := readBarCondition(l, name+".enter", enter)
	if err != nil {
		return nil, err
	}
	side.Enter = c
	if exit != nil {
		if c, err = readBarCondition(l, name+".exit", exit); err != nil {
			return nil, err
		}
		side.Exit = &c
	}
	if side.Exit == nil && side.Stop == 0 && side.Target == 0 && side.MaxBars == 0 {
		return nil, fault.Missing(name+".exit", "an exit, stop_pct, target_pct or max_bars: without one a position would never end")
	}
	return side, nil
}

func readBarCondition(l ta.Library, at string, raw json.RawMessage) (alert.Condition, error) {
	c, err := (&conditionReader{library: l}).read(at, raw)
	return c, cmp.Or(err, onBars(at, &c))
}

func (c *charts) runBacktest() toolSpec {
	return toolSpec{
		name: "run_backtest", title: "Run a back-test", scope: principal.Charts, set: ResearchSet, long: true,
		description: "What a set of rules would have earned on past bars, by TradingView's fill rules: orders of a closed bar fill from the next open on. " +
			"honesty says how far the result can be trusted: report its flags with the result. Fees and slippage are never left out in silence. get_report has all trades and the picture. About 3 KB.",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(c.declareBacktest, func(ctx context.Context, caller principal.Caller, r *backtestArgs) (mcp.Result, error) {
			return c.long(ctx, caller, r.waiting, r.ask)
		}),
	}
}
