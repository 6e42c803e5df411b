package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/fault"
	"candela/internal/market"
	"candela/internal/mcp"
)

// Orders is where orders go. Errors are written for the client: which rule, which
// limit, which value.
type Orders interface {
	Place(ctx context.Context, caller mcp.Caller, r OrderRequest) (Order, error)
	Cancel(ctx context.Context, caller mcp.Caller, orderID string) (Order, error)
	Orders(ctx context.Context, caller mcp.Caller, openOnly bool) ([]Order, error)
}

// Positions is where open positions are known.
type Positions interface {
	Positions(ctx context.Context, caller mcp.Caller) ([]Position, error)
}

// OrderRequest is an order as a client asked for it, exact to the last digit.
type OrderRequest struct {
	Symbol         market.Symbol
	Side           string          // buy or sell
	Type           string          // market or limit
	Quantity       decimal.Decimal // above zero
	Price          decimal.Decimal // of a limit order
	IdempotencyKey string          // the same key gives the same order again
	DryRun         bool            // check everything, send nothing
}

// Order is an order as the client sees it.
type Order struct {
	ID, ClientID     string
	Symbol           string
	Side, Type       string
	Quantity         decimal.Decimal
	Price            *decimal.Decimal // nil for market orders
	Status           string           // the precise state; see stateOf
	Filled           decimal.Decimal
	AvgPrice         *decimal.Decimal // nil before the first fill
	Fees             decimal.Decimal
	RejectReason     string
	Broker, Mode     string // mode is paper or live
	Created, Updated time.Time
	DryRun           bool
}

// Position is an open position as the client sees it.
type Position struct {
	Symbol                   string
	Side                     string // buy or sell
	Quantity, Entry, Current decimal.Decimal
	Unrealized, Realized     decimal.Decimal
	Fees                     decimal.Decimal
	Mode                     string
}

// orderRecord is an order on the wire. The keys that clients have long known are
// JSON numbers; the newer ones are exact decimals in text.
type orderRecord struct {
	ID            string      `json:"id"`
	OrderID       string      `json:"order_id"`
	ClientOrderID string      `json:"client_order_id"`
	Symbol        string      `json:"symbol"`
	Side          string      `json:"side"`
	Type          string      `json:"type"`
	Quantity      json.Number `json:"quantity"`
	Price         json.Number `json:"price,omitempty"`
	LimitPrice    string      `json:"limit_price,omitempty"`
	State         string      `json:"state"`
	Status        string      `json:"status"`
	Filled        string      `json:"filled_quantity"`
	AvgFillPrice  *string     `json:"avg_fill_price"`
	Fees          string      `json:"fees"`
	RejectReason  string      `json:"reject_reason,omitempty"`
	Broker        string      `json:"broker"`
	Mode          string      `json:"mode"`
	CreatedAt     string      `json:"created_at"`
	UpdatedAt     string      `json:"updated_at"`
	DryRun        bool        `json:"dry_run,omitempty"`
}

// stamp is how times are written: ISO 8601 in UTC with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (o Order) record() orderRecord {
	r := orderRecord{
		ID: o.ID, OrderID: o.ID, ClientOrderID: o.ClientID, Symbol: o.Symbol, Side: o.Side, Type: o.Type,
		Quantity: json.Number(o.Quantity.String()), State: stateOf(o.Status), Status: o.Status,
		Filled: o.Filled.String(), Fees: o.Fees.String(), RejectReason: o.RejectReason,
		Broker: o.Broker, Mode: o.Mode, CreatedAt: stamp(o.Created), UpdatedAt: stamp(o.Updated), DryRun: o.DryRun,
	}
	if o.Price != nil {
		r.Price, r.LimitPrice = json.Number(o.Price.String()), o.Price.String()
	}
	if o.AvgPrice != nil {
		average := o.AvgPrice.String()
		r.AvgFillPrice = &average
	}
	return r
}

// stateOf folds the precise state into the five that older clients know.
func stateOf(status string) string {
	switch status {
	case "accepted", "partially_filled", "pending_cancel":
		return "Open"
	case "filled":
		return "Filled"
	case "canceled", "expired":
		return "Cancelled"
	case "denied", "rejected":
		return "Rejected"
	default: // new, submitted, uncertain
		return "Pending"
	}
}

func orderSchema() *schema {
	return object("",
		is("id", "string", ""), is("order_id", "string", ""), is("client_order_id", "string", ""),
		is("symbol", "string", ""), oneOf("side", "", "buy", "sell"), oneOf("type", "", "market", "limit"),
		is("quantity", "number", ""), is("price?", "number", "Of a limit order."), is("limit_price?", "string", "The same, exact."),
		oneOf("state", "", "Pending", "Open", "Filled", "Cancelled", "Rejected"),
		oneOf("status", "The precise state; uncertain while the venue's answer is not known.",
			"new", "denied", "submitted", "accepted", "partially_filled", "filled", "pending_cancel", "canceled", "expired", "rejected", "uncertain"),
		is("filled_quantity", "string", "Exact decimal."),
		prop{"avg_fill_price", &schema{AnyOf: []*schema{{Type: "string"}, {Type: "null"}}, Description: "Exact decimal; null before the first fill."}},
		is("fees", "string", "Exact decimal."), is("reject_reason?", "string", ""),
		is("broker", "string", ""), oneOf("mode", "", "paper", "live"),
		is("created_at", "string", ""), is("updated_at", "string", ""),
		is("dry_run?", "boolean", "Checked only, nothing was sent."),
	)
}

func (t *Trading) orderSpecs() []spec {
	return []spec{t.placeOrder(), t.cancelOrder(), t.getOrders(), t.getPositions(), getBalance()}
}

func placeArguments() (*OrderRequest, *bool, fields) {
	r, priced := &OrderRequest{}, new(bool)
	return r, priced, fields{
		symbol(&r.Symbol, "The instrument, such as BTCUSDT.").must(),
		choice("side", &r.Side, "", "buy", "sell").must(),
		choice("type", &r.Type, "market trades at once at the best price there is; limit waits for price or better.", "market", "limit").must(),
		amount("quantity", &r.Quantity, "How much, in units of the instrument. A number, not text; it is never rounded.").must(),
		price("price", &r.Price, priced, "The limit price. Required for limit orders, not allowed for market orders."),
		text("idempotency_key", &r.IdempotencyKey, 64, "A name you choose for this order. Sent again, it returns the same order instead of a second one. Use it when you retry."),
		boolean("dry_run", &r.DryRun, "Check the order against every rule and send nothing."),
	}
}

func (t *Trading) placeOrder() spec {
	_, _, input := placeArguments()
	return spec{
		name: "place_order", title: "Place an order", trading: true,
		description: "Submit a market or limit order. The answer is the order record with order_id, status and mode (paper or live): check mode before you speak of real money. " +
			"A refused order names the rule, the limit and the value. Try dry_run first when unsure. About 0.5 KB.",
		input: input, output: orderSchema(), hints: hints{destructive: true, openWorld: true},
		run: func(ctx context.Context, caller mcp.Caller, raw json.RawMessage) (mcp.Result, error) {
			r, priced, input := placeArguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			switch {
			case r.Type == "limit" && !*priced:
				return mcp.Result{}, fault.Missing("price", "a number, because type is limit")
			case r.Type == "market" && *priced:
				return mcp.Result{}, fault.Field("price", r.Price.String(), "no price for a market order; use type limit to name one", "limit")
			}
			order, err := t.Orders.Place(ctx, caller, *r)
			if err != nil {
				return mcp.Result{}, err
			}
			return answer(order.record())
		},
	}
}

func (t *Trading) cancelOrder() spec {
	arguments := func() (*string, fields) {
		id := new(string)
		return id, fields{text("order_id", id, 64, "The order_id that place_order or get_orders gave.").must()}
	}
	_, input := arguments()
	return spec{
		name: "cancel_order", title: "Cancel an order", trading: true,
		description: "Cancel an open order by its order_id. Answers {ok, order_id, status}; status says what became of it, because a fill may have come first.",
		input:       input,
		output:      object("", prop{"ok", &schema{Type: "boolean", Const: true}}, is("order_id", "string", ""), is("status", "string", "")),
		hints:       hints{destructive: true, idempotent: true, openWorld: true},
		run: func(ctx context.Context, caller mcp.Caller, raw json.RawMessage) (mcp.Result, error) {
			id, input := arguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			order, err := t.Orders.Cancel(ctx, caller, *id)
			if err != nil {
				return mcp.Result{}, err
			}
			return answer(struct {
				OK      bool   `json:"ok"`
				OrderID string `json:"order_id"`
				Status  string `json:"status"`
			}{true, order.ID, order.Status})
		},
	}
}

func (t *Trading) getOrders() spec {
	arguments := func() (*string, fields) {
		filter := "all"
		return &filter, fields{choice("filter", &filter, "open: only orders that can still fill.", "open", "all")}
	}
	_, input := arguments()
	return spec{
		name: "get_orders", title: "List orders", trading: true,
		description: "List tracked orders, newest first. About 0.5 KB per order.",
		input:       input, output: object("", list("orders", "", orderSchema())),
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		run: func(ctx context.Context, caller mcp.Caller, raw json.RawMessage) (mcp.Result, error) {
			filter, input := arguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			orders, err := t.Orders.Orders(ctx, caller, *filter == "open")
			if err != nil {
				return mcp.Result{}, err
			}
			records := make([]orderRecord, len(orders))
			for i, o := range orders {
				records[i] = o.record()
			}
			return answerList("orders", records)
		},
	}
}

// positionRecord is a position on the wire.
type positionRecord struct {
	Symbol        string      `json:"symbol"`
	Side          string      `json:"side"`
	Quantity      json.Number `json:"quantity"`
	EntryPrice    json.Number `json:"entry_price"`
	CurrentPrice  json.Number `json:"current_price"`
	UnrealizedPnL json.Number `json:"unrealized_pnl"`
	RealizedPnL   string      `json:"realized_pnl"`
	Fees          string      `json:"fees"`
	Mode          string      `json:"mode"`
}

func (t *Trading) getPositions() spec {
	item := object("",
		is("symbol", "string", ""), oneOf("side", "", "buy", "sell"), is("quantity", "number", ""),
		is("entry_price", "number", ""), is("current_price", "number", ""), is("unrealized_pnl", "number", ""),
		is("realized_pnl", "string", "Exact decimal."), is("fees", "string", "Exact decimal."), oneOf("mode", "", "paper", "live"))
	return spec{
		name: "get_positions", title: "List positions", trading: true,
		description: "List open positions with entry price, current price and unrealized profit or loss. About 0.3 KB per position.",
		output:      object("", list("positions", "", item)),
		hints:       hints{readOnly: true, idempotent: true, openWorld: true},
		run: none(func(ctx context.Context, caller mcp.Caller) (mcp.Result, error) {
			positions, err := t.Positions.Positions(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			records := make([]positionRecord, len(positions))
			for i, p := range positions {
				number := func(d decimal.Decimal) json.Number { return json.Number(d.String()) }
				records[i] = positionRecord{
					p.Symbol, p.Side, number(p.Quantity), number(p.Entry), number(p.Current), number(p.Unrealized),
					p.Realized.String(), p.Fees.String(), p.Mode,
				}
			}
			return answerList("positions", records)
		}),
	}
}

// getBalance exists because clients of the interface expect it; it always
// refuses, with and without --trade.
func getBalance() spec {
	return spec{
		name: "get_balance", title: "Balance (not supported)",
		description: "Always answers with an error: use get_positions instead.",
		output:      object(""), hints: hints{readOnly: true, idempotent: true},
		run: none(func(context.Context, mcp.Caller) (mcp.Result, error) {
			return mcp.Result{}, &fault.Error{Kind: fault.Unsupported, Code: "not_supported", Message: "get_balance is not supported: use get_positions"}
		}),
	}
}
