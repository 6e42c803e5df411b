package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/serve/task"
	"candela/internal/trading/order"
	"candela/internal/work/ordering"
	"candela/lib/fault"
	"candela/lib/market"
)

// Orders places and lists orders. Errors are written for the client and name the rule,
// the limit and the value. If the guard denied or the venue rejected an order, Place
// returns the order along with the error.
type Orders interface {
	Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Placed, error)
	ordering.Orders
}

// Positions lists open positions.
type Positions interface {
	Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error)
	// InSymbol returns the caller's position in a symbol, which includes its venue, and
	// the orders that are open or have fills, newest first.
	InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error)
}

func (t *Trading) placeOrder() toolSpec {
	return toolSpec{
		name: "place_order", title: "Place an order", trading: true, scope: principal.Trade,
		description: "Place an order; the venue holds stop_loss and take_profit. " +
			"Read mode (paper or live) before you mention real money. Denied: not sent; the error says why. " +
			"pending_approval: not sent until the owner approves.",
		output: orderSchema(), hints: hints{destructive: true, openWorld: true},
		call: calling(t.declareOrder, func(ctx context.Context, caller principal.Caller, asked *orderArgs) (mcp.Result, error) {
			r, err := asked.request()
			if err != nil {
				return mcp.Result{}, err
			}
			r.Scope = caller.Scope.String()
			placed, err := t.Orders.Place(ctx, caller, r)
			record := toPlacedJSON(placed)
			record.DryRun = r.DryRun
			if err != nil && placed.Status != 0 {
				return deniedResult(ctx, err, placed.Order, record), nil
			}
			result, err := jsonResult(record, withRetryHint(err, r.Key))
			if err == nil && !r.DryRun && placed.Status == order.PendingApproval && placed.Token == caller.Key {
				result.Task = task.OfOrder(&placed.Order)
			}
			return result, err
		}),
	}
}

// OrderResult returns an order, and the error that placing it ended with, as place_order does when its key is used again.
func OrderResult(ctx context.Context, placed order.Placed, failed error) (mcp.Result, error) {
	record := toPlacedJSON(placed)
	if failed != nil {
		return deniedResult(ctx, failed, placed.Order, record), nil
	}
	return jsonResult(record, nil)
}

// withRetryHint adds to a retryable error that the key can be reused. An error with an
// unknown outcome explains the key itself.
func withRetryHint(err error, key string) error {
	f := fault.Of(err)
	if key == "" || f == nil || !f.Retryable || f.Code == "outcome_unknown" {
		return err
	}
	again := *f
	again.Message = f.Public() + "; it is safe to retry with the same idempotency_key"
	return &again
}

// deniedResult is the error result of an order that the guard denied or the venue
// rejected. It names the rule and includes the order.
func deniedResult(ctx context.Context, err error, o order.Order, record orderJSON) mcp.Result {
	p := newToolError(ctx, err)
	p.Rule, p.Limit, p.Order = o.Denial.Rule, o.Denial.Limit, &record
	return p.result()
}

// cancelArgs holds the arguments of cancel_order.
type cancelArgs struct {
	id     string
	symbol market.Symbol
}

func declareCancel() (*cancelArgs, args) {
	a := &cancelArgs{}
	return a, args{
		stringArg("order_id", &a.id, 64, `From place_order or get_orders, or "all" but stops and targets.`).allowing("the order_id from place_order or get_orders").require().unless("symbol"),
		symbolArg(&a.symbol, "All of this one."),
	}
}

func (t *Trading) cancelOrder() toolSpec {
	return toolSpec{
		name: "cancel_order", title: "Cancel an order", trading: true, scope: principal.Trade,
		description: "Cancel an open order: a stop or target alone, an entry with its legs. Check status: it may be filled; pending_cancel: not confirmed yet.",
		output:      cancelSchema(),
		hints:       hints{destructive: true, idempotent: true, openWorld: true},
		call: calling(declareCancel, func(ctx context.Context, caller principal.Caller, a *cancelArgs) (mcp.Result, error) {
			switch all := strings.EqualFold(a.id, "all"); {
			case all || a.id == "":
				done, err := ordering.CancelAll(ctx, t.Orders, caller, a.symbol)
				return jsonResult(cancelJSON{OK: true, OrderID: "all", Status: done.Status, Filled: "0", Cancelled: &done, Mode: string(t.Mode)}, err)
			case !a.symbol.IsZero():
				return mcp.Result{}, fault.Field("symbol", a.symbol.String(), `no symbol with order_id, or order_id "all"`)
			}
			o, err := t.Orders.Cancel(ctx, caller, a.id)
			record := cancelJSON{OK: true, OrderID: o.ID, Status: o.Status.String(), Filled: o.Filled.String(), Mode: string(o.Mode)}
			if err == nil && (o.IsStop() || o.Group.Name != "") {
				record.WithoutStop = ordering.WithoutStop(ctx, t.Positions, caller, o.Symbol)
			}
			return jsonResult(record, err)
		}),
	}
}

// defaultOrders is the default number of closed orders in a list; each takes 0.5 KB.
const defaultOrders = 50

// orderQuery holds the arguments of get_orders.
type orderQuery struct {
	ordering.Query
	state string
	paging
}

func (t *Trading) getOrders() toolSpec {
	const name = "get_orders"
	arguments := func() (*orderQuery, args) {
		a := &orderQuery{state: string(ordering.All), paging: paging{limit: defaultOrders}}
		return a, args{
			enumArg("filter", &a.state, "open: only those that can still fill, without a limit.", ordering.States()...),
			symbolArg(&a.Symbol, ""),
			stringArg("order_id", &a.ID, 64, "With its legs."),
			limitArg(&a.limit, maxItems, "Of closed orders; open ones are always listed."),
			a.cursor(name),
		}
	}
	return toolSpec{
		name: name, title: "List orders", trading: true, scope: principal.Read,
		description: "List orders, newest first. external: placed outside candela. About 0.5 KB each.",
		output:      object(listProp("orders", "", orderSchema()), moreSchema(), enumProp("mode", "", "paper", "live")),
		hints:       hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, a *orderQuery) (mcp.Result, error) {
			a.State, a.Most = ordering.State(a.state), a.limit
			if (a.State == ordering.Open || a.ID != "") && a.after != "" {
				return mcp.Result{}, fault.Field("cursor", "", "no cursor with filter open or order_id, which list all at once")
			}
			var err error
			if a.After, err = markOf(name, a.after); err != nil {
				return mcp.Result{}, err
			}
			list, err := ordering.Find(ctx, t.Orders, caller, a.Query)
			if err != nil {
				return mcp.Result{}, err
			}
			records := make([]orderJSON, len(list.Orders))
			for i, o := range list.Orders {
				records[i] = toOrderJSON(o)
				records[i].ReplacedBy = list.Replaced[o.ID]
				if a.ID != "" {
					records[i].Evidence, records[i].Conditions = toEvidenceJSON(o.Evidence), toEvidenceJSON(o.Conditions)
				}
			}
			array, err := strictjson.Marshal(records)
			if err != nil {
				return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
			}
			var left *more
			if list.Left > 0 && list.Last.ID != "" {
				left = moreAfter(name, markKey(list.Last), list.Left)
			}
			return arrayResult(name, "orders", array, left, t.modeField()), nil
		}),
	}
}

// markKey is the place in a list as a text.
func markKey(m order.Mark) string { return fmt.Sprintf("%020d %s", m.Created.UnixNano(), m.ID) }

// markOf is the opposite of markKey; "" is the zero mark.
func markOf(tool, key string) (order.Mark, error) {
	if key == "" {
		return order.Mark{}, nil
	}
	created, id, _ := strings.Cut(key, " ")
	nanos, err := strconv.ParseInt(created, 10, 64)
	if err != nil || id == "" {
		return order.Mark{}, fault.Field("cursor", fault.Clean(key, 64), "the cursor from the previous result of "+tool+", or none for the first page")
	}
	return order.Mark{Created: time.Unix(0, nanos).UTC(), ID: id}, nil
}

func (t *Trading) getPositions() toolSpec {
	const name = "get_positions"
	return toolSpec{
		name: name, title: "List positions", trading: true, scope: principal.Read,
		description: "List open positions. Current price and unrealized profit are null until a price is known. 0.5 KB each.",
		output:      object(listProp("positions", "", positionSchema()), moreSchema(), enumProp("mode", "", "paper", "live")),
		hints:       hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(pages(name), func(ctx context.Context, caller principal.Caller, p *symbolPaging) (mcp.Result, error) {
			positions, err := t.Positions.Positions(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			if positions, err = ordering.Held(positions, p.symbol); err != nil {
				return mcp.Result{}, err
			}
			all := ordered[order.PricedPosition]{items: positions, key: func(m order.PricedPosition) string { return m.Symbol.String() }}
			return pageResult(name, "positions", &p.paging, all, t.modeField(), func(m order.PricedPosition) any { return toPositionJSON(m) })
		}),
	}
}

// modeField is the last member of a list result, so that an empty list states it too.
func (t *Trading) modeField() string { return `,"mode":"` + string(t.Mode) + `"` }

// getBalance exists because clients expect it. It always returns an error, which names the
// tool that shows cash, or how to turn it on.
func getBalance(account bool) toolSpec {
	advice := "cash and equity are shown by get_account, which the owner turns on with --toolsets " + AccountSet
	if account {
		advice = "use get_account for cash and equity"
	}
	return toolSpec{
		name: "get_balance", title: "Balance (not supported)", scope: principal.Read,
		description: "Not supported: always an error. Use get_positions.",
		output:      object(), hints: hints{readOnly: true, idempotent: true},
		call: calling(noArgs, func(context.Context, principal.Caller, *struct{}) (mcp.Result, error) {
			return mcp.Result{}, fault.New(fault.Unsupported, "not_supported", "get_balance is not supported: use get_positions for open positions; %s", advice)
		}),
	}
}

// number formats a decimal as an exact JSON number.
func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

// positionJSON is a position in a result.
type positionJSON struct {
	Symbol        string            `json:"symbol"`
	Venue         string            `json:"venue"`
	Side          string            `json:"side"`
	Quantity      json.Number       `json:"quantity"`
	EntryPrice    json.Number       `json:"entry_price"`
	CurrentPrice  *json.Number      `json:"current_price"`
	UnrealizedPnL *json.Number      `json:"unrealized_pnl"`
	RealizedPnL   string            `json:"realized_pnl"`
	Fees          string            `json:"fees"`
	FeesByAsset   map[string]string `json:"fees_by_asset,omitempty"`
	Protected     string            `json:"protected_quantity"`
	Unprotected   string            `json:"unprotected_quantity,omitempty"`
	PriceAt       string            `json:"price_at,omitempty"`
	Mode          string            `json:"mode"`

	UnprotectedReason string `json:"unprotected_reason,omitempty"`
	UnprotectedFor    string `json:"unprotected_for,omitempty"`

	Plan []lineJSON `json:"plan,omitempty"`

	MarkPrice           *json.Number `json:"mark_price,omitempty"`
	Margin              string       `json:"margin,omitempty"`
	Leverage            string       `json:"leverage,omitempty"`
	LiquidationPrice    *json.Number `json:"liquidation_price,omitempty"`
	LiquidationDistance *json.Number `json:"liquidation_distance_pct,omitempty"`
	Funding             string       `json:"funding,omitempty"`
}

// margin says what stands behind a position in a perpetual future.
func (r *positionJSON) margin(p order.PricedPosition) {
	m := p.Margin
	if m == nil {
		return
	}
	r.Margin, r.Leverage, r.Funding = m.Margin.String(), m.Leverage.String(), m.Funding.String()
	if m.Mark.IsPositive() {
		r.MarkPrice = new(number(m.Mark))
	}
	if price, distance, ok := p.Liquidation(); ok {
		r.LiquidationPrice, r.LiquidationDistance = new(number(price)), new(number(distance))
	}
}

func toPositionJSON(p order.PricedPosition) positionJSON {
	entry, _ := p.Average()
	now := p.Current()
	r := positionJSON{
		Symbol: p.Symbol.Name, Venue: p.Symbol.Venue, Side: p.Side().String(), Quantity: number(p.Quantity.Abs()), EntryPrice: number(entry),
		RealizedPnL: now.Realised.String(), Protected: p.Protected.String(), Mode: string(p.Mode),
	}
	r.Fees, r.FeesByAsset = now.Fees.Texts()
	r.unprotected(p.Gaps)
	r.Plan = toPlanJSON(p.Plan)
	r.margin(p)
	if last := p.Quote.Last; last.IsPositive() {
		current, unrealised := number(last), number(p.Unrealised(last))
		r.CurrentPrice, r.UnrealizedPnL, r.PriceAt = &current, &unrealised, formatTime(p.Quote.At)
	}
	return r
}

// unprotected says what should have a stop and has none, why, and for how long.
func (r *positionJSON) unprotected(gaps []order.Gap) {
	if len(gaps) == 0 {
		return
	}
	var sum decimal.Decimal
	var longest time.Duration
	reasons := make([]string, 0, len(gaps))
	for _, g := range gaps {
		sum, longest = sum.Add(g.Quantity), max(longest, g.For)
		reasons = append(reasons, fmt.Sprintf("%v: %s", g.Quantity, g.Reason))
	}
	r.Unprotected, r.UnprotectedReason, r.UnprotectedFor = sum.String(), strings.Join(reasons, ". "), longest.Round(time.Second).String()
}

// positionSchema has the fields of every position. Beside unprotected_quantity there is a reason,
// and for how long.
func positionSchema() *schema {
	maybe := func(name string) prop {
		return prop{name, &schema{AnyOf: []*schema{{Type: "number"}, {Type: "null"}}}}
	}
	s := object(
		typedProp("symbol", "string", ""), typedProp("venue", "string", ""), enumProp("side", "", order.Sides()...), typedProp("quantity", "number", ""),
		typedProp("entry_price", "number", ""), maybe("current_price"), maybe("unrealized_pnl"),
		typedProp("realized_pnl", "string", "Since opened."), typedProp("fees", "string", "Since opened."), feesSchema(),
		typedProp("protected_quantity", "string", "That stops close."),
		typedProp("unprotected_quantity?", "string", "Lacks its stop."),
		typedProp("price_at?", "string", ""), enumProp("mode", "", "paper", "live"))
	s.AdditionalProperties = nil
	return s
}
