package tool

import (
	"context"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/internal/work/ordering"
	"candela/lib/fault"
	"candela/lib/market"
)

// tradesJSON is the answer of get_trades.
type tradesJSON struct {
	ordering.Trades

	More *more  `json:"more,omitempty"`
	Mode string `json:"mode"`
}

// tradeArguments are those of get_trades.
type tradeArguments struct {
	paging
	symbol   market.Symbol
	from, to int64
	reason   string
}

func (a *tradeArguments) query() (order.TradeQuery, error) {
	q := order.TradeQuery{Symbol: a.symbol, Reason: a.reason, Most: a.limit}
	if a.from != 0 {
		q.From = time.Unix(a.from, 0).UTC()
	}
	if a.to != 0 {
		q.To = time.Unix(a.to, 0).UTC()
	}
	if a.from != 0 && a.to != 0 && a.from >= a.to {
		return q, fault.Field("from", market.Stamp(a.from), "a time before to, "+market.Stamp(a.to-1))
	}
	var err error
	q.After, err = markOf("get_trades", a.after)
	return q, err
}

func (t *Trading) getTrades() toolSpec {
	const name, most = "get_trades", 50
	arguments := func() (*tradeArguments, args) {
		a := &tradeArguments{paging: paging{limit: most}}
		return a, args{
			symbolArg(&a.symbol, "Only this one."),
			momentArg("from", &a.from, 0, "Closed from here on: a date or RFC 3339 time, UTC."),
			momentArg("to", &a.to, 1, "Closed by then; a date includes its day."),
			enumArg("reason", &a.reason, "", order.Reasons()...), limitArg(&a.limit, maxItems, ""), a.cursor(name),
		}
	}
	return toolSpec{
		name: name, title: "List what was earned", trading: true, scope: principal.Read, set: AccountSet,
		description: "List what each exit, stop or target earned, newest first, and the sums of all that match. " +
			"fees hold the exit's and its part of the entry's; net is after them and funding. 0.4 KB each.",
		output: tradesSchema(), hints: hints{readOnly: true, idempotent: true},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, a *tradeArguments) (mcp.Result, error) {
			q, err := a.query()
			if err != nil {
				return mcp.Result{}, err
			}
			page, err := t.Account.Trades(ctx, caller, q)
			return jsonResult(t.toTradesJSON(page), err)
		}),
	}
}

func (t *Trading) toTradesJSON(p order.TradePage) tradesJSON {
	r := tradesJSON{Trades: ordering.TradesOf(p), Mode: string(t.Mode)}
	if p.Left > 0 {
		r.More = moreAfter("get_trades", markKey(p.Trades[len(p.Trades)-1].Mark()), p.Left)
	}
	return r
}

func tradesSchema() *schema {
	other := prop{"other_fees?", &schema{Type: "object", Description: "In other assets, by asset; net leaves them out."}}
	amounts := func(more ...prop) *schema {
		return object(append(more, typedProp("currency?", "string", "Of the price."), typedProp("realized_pnl", "string", "Before fees."), typedProp("fees", "string", ""), typedProp("funding?", "string", "Paid; negative if received."), typedProp("net", "string", ""), other)...)
	}
	trade := amounts(
		typedProp("symbol", "string", ""), typedProp("venue", "string", ""), enumProp("side", "Of the position.", order.Sides()...), typedProp("quantity", "string", "That was closed."),
		typedProp("entry_price", "string", "Average."), typedProp("exit_price", "string", "Average."), typedProp("opened_at", "string", ""), typedProp("closed_at", "string", ""),
		enumProp("reason", "", order.Reasons()...), typedProp("order_id?", "string", ""),
	)
	return object(
		listProp("trades", "", trade),
		listProp("sums", "By currency.", amounts(typedProp("wins", "integer", ""), typedProp("losses", "integer", ""))),
		moreSchema(), typedProp("complete_since?", "string", "Older trades are in the history only."), enumProp("mode", "", "paper", "live"),
	)
}

// earnedJSON says what was earned, by time.
type earnedJSON map[string]earnedSumJSON

type earnedSumJSON struct {
	Realised string   `json:"realized_pnl"`
	Fees     string   `json:"fees"`
	Funding  string   `json:"funding,omitempty"`
	Net      string   `json:"net"`
	Missing  []string `json:"leaves_out,omitempty"`
}

func toEarnedJSON(all []guard.Earned) earnedJSON {
	r := make(earnedJSON, len(all))
	for _, e := range all {
		sum := earnedSumJSON{Realised: e.Realised.String(), Fees: e.Fees.String(), Net: e.Realised.Sub(e.Fees).Sub(e.Funding).String(), Missing: e.Missing}
		if !e.Funding.IsZero() {
			sum.Funding = e.Funding.String()
		}
		r[e.Time] = sum
	}
	return r
}

func earnedSchema() *schema {
	return &schema{Type: "object", Description: "By time: today, days_7, days_30, year, all. Days are UTC; fees are those paid in the time."}
}
