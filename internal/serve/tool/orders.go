package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/serve/mcp"
	"candela/internal/trading/order"
)

// Orders is where orders go. Errors are written for the client: which rule, which
// limit, which value. Place returns the order beside the error when there is one:
// the guard or the venue has refused it.
type Orders interface {
	Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Order, error)
	Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error)
	Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error)
}

// Positions is where open positions are known.
type Positions interface {
	Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error)
	// InSymbol tells what a caller has in one symbol, which bears its venue: the orders
	// that are open or have traded, newest first, and the position.
	InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error)
}

func (t *Trading) orderSpecs() []toolSpec {
	return []toolSpec{t.placeOrder(), t.cancelOrder(), t.getOrders(), t.getPositions(), getBalance()}
}

// orderArgs is an order as the arguments tell it.
type orderArgs struct {
	order.Request
	side, kind string
	priced     bool
}

func placeArguments() (*orderArgs, args) {
	p := &orderArgs{}
	return p, args{
		symbolArg(&p.Symbol, "The instrument, such as BTCUSDT.").require(),
		enumArg("side", &p.side, "", order.Sides()...).require(),
		enumArg("type", &p.kind, "market trades at once at the best price there is; limit waits for price or better.", order.Types()...).require(),
		amountArg("quantity", &p.Quantity, "How many coins of a pair (BTC of BTCUSDT) or shares, not how much money. Never rounded.").require(),
		priceArg("price", &p.Price, &p.priced, "The limit price. Required for limit orders, not allowed for market orders."),
		keyArg("idempotency_key", &p.Key, 64, "A name you choose for this order. Sent again, it returns the same order instead of a second one. Use it when you retry."),
		boolArg("dry_run", &p.DryRun, "Check the order against every rule and send nothing."),
	}
}

// request checks what the fields cannot see alone.
func (p *orderArgs) request() (order.Request, error) {
	switch {
	case p.kind == order.Limit.String() && !p.priced:
		return p.Request, fault.Missing("price", "a number, because type is limit")
	case p.kind == order.Market.String() && p.priced:
		return p.Request, fault.Field("price", p.Price.String(), "no price for a market order; use type limit to name one", "limit")
	}
	var err error
	if p.Side, err = order.ParseSide(p.side); err != nil {
		return p.Request, err
	}
	p.Type, err = order.ParseType(p.kind)
	return p.Request, err
}

func (t *Trading) placeOrder() toolSpec {
	_, input := placeArguments()
	return toolSpec{
		name: "place_order", title: "Place an order", trading: true,
		description: "Submit a market or limit order. The answer is the order record with order_id, status and mode (paper or live): check mode before you speak of real money. " +
			"A refused order is an error that names the rule, the limit and the value; nothing was sent then. Try dry_run first when unsure. About 0.5 KB.",
		input: input, output: orderSchema(), hints: hints{destructive: true, openWorld: true},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			asked, input := placeArguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			r, err := asked.request()
			if err != nil {
				return mcp.Result{}, err
			}
			o, err := t.Orders.Place(ctx, caller, r)
			record := toOrderJSON(o)
			record.DryRun = r.DryRun
			if err != nil && o.Status != 0 {
				return deniedResult(ctx, err, o, record), nil
			}
			if err != nil {
				return mcp.Result{}, withRetryHint(err, r.Key)
			}
			return jsonResult(record)
		},
	}
}

// withRetryHint tells a client that may call again that its key is as good as before. Where
// the outcome is not known, the error has said what the key does.
func withRetryHint(err error, key string) error {
	f := fault.Of(err)
	if key == "" || f == nil || !f.Retryable || f.Code == "outcome_unknown" {
		return err
	}
	again := *f
	again.Message = f.Public() + "; it is safe to try again with the same idempotency_key"
	return &again
}

// deniedResult is the failure of an order that there is: it cannot be taken for
// one that was placed, and names what refused it.
func deniedResult(ctx context.Context, err error, o order.Order, record orderJSON) mcp.Result {
	p := newToolError(ctx, err)
	p.Rule, p.Limit, p.Order = o.Denial.Rule, o.Denial.Limit, &record
	return p.result()
}

func (t *Trading) cancelOrder() toolSpec {
	arguments := func() (*string, args) {
		id := new(string)
		return id, args{stringArg("order_id", id, 64, "The order_id that place_order or get_orders gave.").allowing("the one that place_order or get_orders gave").require()}
	}
	_, input := arguments()
	return toolSpec{
		name: "cancel_order", title: "Cancel an order", trading: true,
		description: "Cancel an open order by its order_id. Answers {ok, order_id, status, mode}; status says what became of it, because a fill may have come first.",
		input:       input,
		output: object("", prop{"ok", &schema{Type: "boolean", Const: true}}, typedProp("order_id", "string", ""), typedProp("status", "string", ""),
			typedProp("filled_quantity", "string", "Exact decimal."), enumProp("mode", "", "paper", "live")),
		hints: hints{destructive: true, idempotent: true, openWorld: true},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			id, input := arguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			o, err := t.Orders.Cancel(ctx, caller, *id)
			if err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(struct {
				OK      bool   `json:"ok"`
				OrderID string `json:"order_id"`
				Status  string `json:"status"`
				Filled  string `json:"filled_quantity"`
				Mode    string `json:"mode"`
			}{true, o.ID, o.Status.String(), o.Filled.String(), string(o.Mode)})
		},
	}
}

// How many orders a list has: each is half a kilobyte of a conversation.
const defaultOrders = 50

func (t *Trading) getOrders() toolSpec {
	const name = "get_orders"
	type listing struct {
		filter string
		paging
	}
	arguments := func() (*listing, args) {
		a := &listing{"all", paging{limit: defaultOrders}}
		return a, args{
			enumArg("filter", &a.filter, "open: only orders that can still fill, all of them.", "open", "all"),
			intArg("limit", &a.limit, 1, maxItems, "How many that are over."),
			a.cursor(name),
		}
	}
	_, input := arguments()
	return toolSpec{
		name: name, title: "List orders", trading: true,
		description: "List tracked orders, newest first. Those with external true were not placed here. About 0.5 KB per order.",
		input:       input, output: object("", listProp("orders", "", orderSchema()), moreSchema(), enumProp("mode", "", "paper", "live")),
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			a, input := arguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			if a.filter == "open" && a.after != "" {
				return mcp.Result{}, fault.Field("cursor", "", "none with filter open, which lists all at once")
			}
			orders, err := t.Orders.Orders(ctx, caller, true)
			var left *more
			if err == nil && a.filter == "all" {
				orders, left, err = t.appendClosed(ctx, caller, orders, a.paging)
			}
			if err != nil {
				return mcp.Result{}, err
			}
			records := make([]orderJSON, len(orders))
			for i, o := range orders {
				records[i] = toOrderJSON(o)
			}
			array, err := marshalPlain(records)
			if err != nil {
				return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
			}
			return arrayResult(name, "orders", array, left, t.modeField())
		},
	}
}

// orderKey is an order's place in the list.
func orderKey(o order.Order) string { return fmt.Sprintf("%020d %s", o.Created.UnixMicro(), o.ID) }

// appendClosed adds the newest that are over to open orders. None of the open is left
// out, however old: who does not see it might place it again. A later page has only
// such that are over.
func (t *Trading) appendClosed(ctx context.Context, caller principal.Caller, open []order.Order, p paging) ([]order.Order, *more, error) {
	all, err := t.Orders.Orders(ctx, caller, false)
	if err != nil {
		return nil, nil, err
	}
	rest := make(map[string]bool, len(open))
	for _, o := range open {
		rest[o.ID] = true
	}
	var left *more
	var last order.Order
	listed := make([]order.Order, 0, len(open)+min(p.limit, len(all)))
	for _, o := range olderThan(all, p.after) {
		switch {
		case rest[o.ID]:
			if delete(rest, o.ID); p.after == "" {
				listed = append(listed, o)
			}
		case p.limit > 0:
			p.limit--
			listed, last = append(listed, o), o
		case left == nil:
			left = moreAfter("get_orders", orderKey(last), 1)
		default:
			left.Left++
		}
	}
	for _, o := range open { // from before all of those
		if rest[o.ID] && p.after == "" {
			listed = append(listed, o)
		}
	}
	return listed, left, nil
}

// olderThan returns the orders that follow the one with a key, newest first. When that
// one is gone they begin with the first that is older.
func olderThan(all []order.Order, key string) []order.Order {
	if key == "" {
		return all
	}
	if i := slices.IndexFunc(all, func(o order.Order) bool { return orderKey(o) == key }); i >= 0 {
		return all[i+1:]
	}
	i := slices.IndexFunc(all, func(o order.Order) bool { return orderKey(o) < key })
	if i < 0 {
		return nil
	}
	return all[i:]
}

func (t *Trading) getPositions() toolSpec {
	const name = "get_positions"
	return toolSpec{
		name: name, title: "List positions", trading: true,
		description: "List open positions with entry price, current price and unrealized profit or loss, which are null while no price is known. About 0.3 KB per position.",
		input:       (&paging{limit: maxItems}).fields(name),
		output:      object("", listProp("positions", "", positionSchema()), moreSchema(), enumProp("mode", "", "paper", "live")),
		hints:       hints{readOnly: true, idempotent: true, openWorld: true},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			p := paging{limit: maxItems}
			if err := p.fields(name).decode(raw); err != nil {
				return mcp.Result{}, err
			}
			positions, err := t.Positions.Positions(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			all := ordered[order.PricedPosition]{items: positions, key: func(m order.PricedPosition) string { return m.Symbol.String() }}
			array, left, err := page(name, p, all, func(m order.PricedPosition) any { return positionOf(m) })
			if err != nil {
				return mcp.Result{}, err
			}
			return arrayResult(name, "positions", array, left, t.modeField())
		},
	}
}

// modeField ends a list of what money may be at stake in: an empty list says so, too.
func (t *Trading) modeField() string { return `,"mode":"` + string(t.Mode) + `"` }

// getBalance exists because clients of the interface expect it; it always
// refuses, with and without --trade.
func getBalance() toolSpec {
	return toolSpec{
		name: "get_balance", title: "Balance (not supported)",
		description: "Always answers with an error: use get_positions instead.",
		output:      object(""), hints: hints{readOnly: true, idempotent: true},
		run: withoutArgs(func(context.Context, principal.Caller) (mcp.Result, error) {
			return mcp.Result{}, &fault.Error{Kind: fault.Unsupported, Code: "not_supported", Message: "get_balance is not supported: use get_positions, which has open positions only; no tool shows cash or equity, at a real venue its own account page does"}
		}),
	}
}

// number writes a decimal as a JSON number, to the last digit.
func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }
