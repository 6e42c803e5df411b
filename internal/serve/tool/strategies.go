package tool

import (
	"context"
	"encoding/json"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/research"
	"candela/internal/work/strategies"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
)

// proposal holds the arguments of propose_deployment.
type proposal struct {
	strategies.Proposal
	long, short json.RawMessage
}

func (c *charts) declareProposal() (*proposal, args) {
	p := &proposal{}
	r := &p.Backtest
	*r = research.Backtest{
		Interval: market.Hour1, Span: research.Span{Bars: research.UsualBars}, Seed: 1,
		Account: research.Account{Capital: 10000, Percent: 100, Fee: 10, Slip: 5, Leverage: research.LeastLeverage},
	}
	r.Rules.Read = func(name string, text []byte) (*research.Side, error) { return readSide(c.library, name, text) }
	return p, args{
		stringArg("name", &p.Name, strategies.MostName, "Short, such as eth-cross.").require(),
		symbolArg(&r.Symbol, "Such as BTCUSDT, or BTCUSDT.P for a perpetual future.").require(),
		intervalArg(&r.Interval, "5m or longer."),
		sideArg("long", &p.long, &r.Rules.Given), sideArg("short", &p.short, &r.Rules.Given),
		stringArg("script", &r.Script, pine.MaxSource, "A Pine script with strategy(), in place of long and short."),
		stringArg("script_name", &r.ScriptName, 160, "A stored script in place of script; the strategy keeps its source of now."),
		inputsArg(&r.Inputs),
		floatArg("capital", &r.Capital, 1, 1e12, "Money that the strategy counts with. Default: 10000, or that of the script.").note(&r.Chosen.Capital),
		floatArg("size_pct", &r.Percent, 0.01, 1000, "Percent of its equity for a position, in place of the script's size.").note(&r.Chosen.Percent),
		floatArg("quantity", &r.Quantity, 1e-9, 1e12, "Units for a position, in place of size_pct.").note(&r.Chosen.Quantity),
		floatArg("fee_bps", &r.Fee, 0, 1000, "Fee a side that it counts with. Default: 10; in a perpetual future 5.").note(&r.Chosen.Fee),
		floatArg("slip_bps", &r.Slip, 0, 1000, "Slippage that it counts with. Default: 5.").note(&r.Chosen.Slip),
		floatArg("leverage", &r.Leverage, research.LeastLeverage, research.MostLeverage, "Of a perpetual future. Default: 1."),
		boolArg("long_only", &p.LongOnly, "Sales only close."),
		intArg("bars", &r.Bars, research.LeastBars, strategies.MostBars, "Past bars that it is tested on and begins with. Default: 5000."),
		stringArg("note", &p.Note, strategies.MostNote, "For the owner."),
	}
}

// proposedJSON is the answer of propose_deployment.
type proposedJSON struct {
	strategies.View
	TermsHash string           `json:"terms_sha256"`
	Needs     strategies.Needs `json:"needs"`
	Report    string           `json:"report_id"`
	Result    research.Result  `json:"result"`
	Honesty   research.Honesty `json:"honesty"`
}

// strategyTools are the tools of the set strategies.
func (c *charts) strategyTools(t *Trading) []toolSpec {
	return []toolSpec{c.proposeDeployment(t), t.listDeployments(), t.getDeployment(), t.stopDeployment()}
}

func (c *charts) proposeDeployment(t *Trading) toolSpec {
	return toolSpec{
		name: "propose_deployment", title: "Propose a strategy", trading: true, scope: principal.Trade, set: StrategiesSet, long: true,
		description: "Propose a strategy that runs by itself on closed bars. It is tested on past bars as the paper account would trade it, and recorded with its source; nothing runs until the owner starts it. " +
			"Report honesty.flags with the result. A refusal names what cannot run. About 3 KB.",
		hints: hints{openWorld: true},
		call: onStrategies(t, c.declareProposal, func(ctx context.Context, caller principal.Caller, p *proposal) (mcp.Result, error) {
			p.Rules.Long, p.Rules.Short = p.long, p.short
			made, err := t.Strategies.Propose(ctx, caller, p.Proposal)
			if err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(proposedJSON{
				View: strategies.ViewOf(&made.Deployment), TermsHash: made.TermsHash, Needs: made.Needs, Report: made.Report, Result: made.Backtest.Result, Honesty: made.Backtest.Honesty,
			}, nil)
		}),
	}
}

// onStrategies is calling for a tool that needs strategies to run.
func onStrategies[A any](t *Trading, declare func() (*A, args), run func(context.Context, principal.Caller, *A) (mcp.Result, error)) call {
	return calling(declare, func(ctx context.Context, caller principal.Caller, a *A) (mcp.Result, error) {
		if t.Strategies == nil {
			return mcp.Result{}, fault.New(fault.Unsupported, "strategies_off", "strategies are off here: the owner starts candela with --strategies shadow")
		}
		return run(ctx, caller, a)
	})
}

func (t *Trading) listDeployments() toolSpec {
	return toolSpec{
		name: "list_deployments", title: "List strategies", trading: true, scope: principal.Read, set: StrategiesSet,
		description: "List the strategies that run by themselves, or are proposed or ended, the newest first. 0.4 KB each.",
		hints:       hints{readOnly: true, idempotent: true},
		call: onStrategies(t, noArgs, func(ctx context.Context, caller principal.Caller, _ *struct{}) (mcp.Result, error) {
			all, err := t.Strategies.List(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			answer := struct {
				Deployments []strategies.View `json:"deployments"`
				More        int               `json:"more,omitempty"`
			}{Deployments: []strategies.View{}, More: max(0, len(all)-maxItems)}
			for i := range all[:min(len(all), maxItems)] {
				answer.Deployments = append(answer.Deployments, strategies.ViewOf(&all[i]))
			}
			return jsonResult(answer, nil)
		}),
	}
}

// deploymentArgs name a strategy and a part of it.
type deploymentArgs struct {
	id, part string
	close    bool
}

func declareDeployment() (*deploymentArgs, args) {
	a := &deploymentArgs{part: "state"}
	return a, args{
		stringArg("deployment_id", &a.id, 64, "From list_deployments; its name does, too.").require(),
		enumArg("part", &a.part, "state: terms and how it stands. intents: what it wanted, newest first. drift: why its account earned something else than its model. Default: state.", "state", "intents", "drift"),
	}
}

func (t *Trading) getDeployment() toolSpec {
	return toolSpec{
		name: "get_deployment", title: "Show a strategy", trading: true, scope: principal.Read, set: StrategiesSet,
		description: "Show a strategy with its terms, the orders that it wanted at its newest bars, or its drift: where each cent between model and account comes from. 1 to 7 KB.",
		hints:       hints{readOnly: true, idempotent: true},
		call: onStrategies(t, declareDeployment, func(ctx context.Context, caller principal.Caller, a *deploymentArgs) (mcp.Result, error) {
			if a.part == "drift" {
				is, err := t.Strategies.Drift(ctx, caller, a.id)
				return jsonResult(is, err)
			}
			d, book, err := t.Strategies.Get(ctx, caller, a.id)
			if err != nil {
				return mcp.Result{}, err
			}
			if a.part == "state" {
				return jsonResult(struct {
					strategies.Detail
					Book *strategies.Book `json:"book,omitempty"`
				}{strategies.DetailOf(&d), book}, nil)
			}
			answer := struct {
				ID      string              `json:"deployment_id"`
				Intents []strategies.Intent `json:"intents"`
				More    int                 `json:"more,omitempty"`
			}{ID: d.ID}
			answer.Intents, answer.More = strategies.IntentsOf(&d)
			return jsonResult(answer, nil)
		}),
	}
}

func (t *Trading) stopDeployment() toolSpec {
	arguments := func() (*deploymentArgs, args) {
		a := &deploymentArgs{}
		return a, args{stringArg("deployment_id", &a.id, 64, "From list_deployments.").require(), boolArg("close", &a.close, "Close what it holds at the market. Else that stays, with its stops.")}
	}
	return toolSpec{
		name: "stop_deployment", title: "Stop a strategy", trading: true, scope: principal.Trade, set: StrategiesSet,
		description: "Stop a strategy, or withdraw a proposal, for good. What it holds stays with its stops, unless close is set. Only the owner starts another.",
		hints:       hints{destructive: true, idempotent: true},
		call: onStrategies(t, arguments, func(ctx context.Context, caller principal.Caller, a *deploymentArgs) (mcp.Result, error) {
			d, err := t.Strategies.Stop(ctx, caller, a.id, a.close)
			if err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(strategies.ViewOf(&d), nil)
		}),
	}
}
