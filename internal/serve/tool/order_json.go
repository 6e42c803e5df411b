package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"candela/internal/trading/order"
)

// orderJSON is an order in a result. The original keys are JSON numbers; newer ones are
// exact decimals in strings.
type orderJSON struct {
	ID            string            `json:"id"`
	OrderID       string            `json:"order_id"`
	ClientOrderID string            `json:"client_order_id"`
	VenueOrderID  string            `json:"venue_order_id,omitempty"`
	Symbol        string            `json:"symbol"`
	Venue         string            `json:"venue"`
	Side          string            `json:"side"`
	Type          string            `json:"type"`
	Quantity      json.Number       `json:"quantity"`
	Price         json.Number       `json:"price,omitempty"`
	LimitPrice    string            `json:"limit_price,omitempty"`
	State         string            `json:"state"`
	Status        string            `json:"status"`
	Filled        string            `json:"filled_quantity"`
	AvgFillPrice  *string           `json:"avg_fill_price"`
	Fees          string            `json:"fees"`
	FeesByAsset   map[string]string `json:"fees_by_asset,omitempty"`
	RejectReason  string            `json:"reject_reason,omitempty"`
	RejectRule    string            `json:"reject_rule,omitempty"`
	Broker        string            `json:"broker"`
	Mode          string            `json:"mode"`
	External      bool              `json:"external,omitempty"`
	CreatedAt     string            `json:"created_at"`
	UpdatedAt     string            `json:"updated_at"`
	DryRun        bool              `json:"dry_run,omitempty"`
}

// formatTime formats a time as ISO 8601 in UTC with milliseconds.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func toOrderJSON(o order.Order) orderJSON {
	r := orderJSON{
		ID: o.ID, OrderID: o.ID, ClientOrderID: o.ID, VenueOrderID: o.VenueID, Symbol: o.Symbol.Name, Venue: o.Symbol.Venue,
		Side: o.Side.String(), Type: typeOf(o), Quantity: number(o.Quantity), State: string(o.Status.State()), Status: o.Status.String(),
		Filled: o.Filled.String(), RejectReason: o.Reason, RejectRule: o.Denial.Rule,
		Broker: o.Broker, Mode: string(o.Mode), External: o.External, CreatedAt: formatTime(o.Created), UpdatedAt: formatTime(o.Updated),
	}
	r.Fees, r.FeesByAsset = feesOf(o.Fees)
	if o.Type == order.Limit {
		r.Price, r.LimitPrice = number(o.Price), o.Price.String()
	}
	if average, ok := o.Average(); ok {
		text := average.String()
		r.AvgFillPrice = &text
	}
	return r
}

// typeOf names the type of an order. Venues have types that candela does not place.
func typeOf(o order.Order) string {
	switch {
	case o.Type != 0:
		return o.Type.String()
	case o.Price.IsPositive():
		return order.Limit.String()
	default:
		return order.Market.String()
	}
}

// feesOf formats fees as one amount and by asset. Amounts of several assets have no
// sum, so the one amount is that of the first asset by name.
func feesOf(fees order.Fees) (string, map[string]string) {
	if len(fees) == 0 {
		return "0", nil
	}
	by := make(map[string]string, len(fees))
	for asset, amount := range fees {
		by[asset] = amount.String()
	}
	return by[slices.Min(slices.Collect(maps.Keys(by)))], by
}

func orderSchema() *schema {
	return object("",
		typedProp("id", "string", ""), typedProp("order_id", "string", ""), typedProp("client_order_id", "string", ""), typedProp("venue_order_id?", "string", ""),
		typedProp("symbol", "string", ""), typedProp("venue", "string", ""), enumProp("side", "", order.Sides()...), enumProp("type", "", order.Types()...),
		typedProp("quantity", "number", ""), typedProp("price?", "number", "Of a limit order."), typedProp("limit_price?", "string", "The same, exact."),
		enumProp("state", "", "Pending", "Open", "Filled", "Cancelled", "Rejected"),
		enumProp("status", "The precise state; uncertain while the venue has not confirmed it.", order.Statuses()...),
		typedProp("filled_quantity", "string", "Exact decimal."),
		prop{"avg_fill_price", &schema{AnyOf: []*schema{{Type: "string"}, {Type: "null"}}, Description: "Exact decimal; null before the first fill."}},
		typedProp("fees", "string", "Exact decimal."), feesSchema(),
		typedProp("reject_reason?", "string", ""), typedProp("reject_rule?", "string", ""),
		typedProp("broker", "string", ""), enumProp("mode", "", "paper", "live"), typedProp("external?", "boolean", ""),
		typedProp("created_at", "string", ""), typedProp("updated_at", "string", ""),
		typedProp("dry_run?", "boolean", "Checked only, not sent."),
	)
}

func feesSchema() prop {
	return prop{"fees_by_asset?", &schema{Type: "object"}}
}

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
	PriceAt       string            `json:"price_at,omitempty"`
	Mode          string            `json:"mode"`
}

func toPositionJSON(p order.PricedPosition) positionJSON {
	entry, _ := p.Average()
	r := positionJSON{
		Symbol: p.Symbol.Name, Venue: p.Symbol.Venue, Side: p.Side().String(), Quantity: number(p.NetQuantity().Abs()), EntryPrice: number(entry),
		RealizedPnL: p.Realised.String(), Mode: string(p.Mode),
	}
	r.Fees, r.FeesByAsset = feesOf(p.Fees)
	if last := p.Quote.Last; last.IsPositive() {
		current, unrealised := number(last), number(p.Unrealised(last))
		r.CurrentPrice, r.UnrealizedPnL, r.PriceAt = &current, &unrealised, formatTime(p.Quote.At)
	}
	return r
}

func positionSchema() *schema {
	maybe := func(name string) prop {
		return prop{name, &schema{AnyOf: []*schema{{Type: "number"}, {Type: "null"}}}}
	}
	return object("",
		typedProp("symbol", "string", ""), typedProp("venue", "string", ""), enumProp("side", "", order.Sides()...), typedProp("quantity", "number", ""),
		typedProp("entry_price", "number", ""), maybe("current_price"), maybe("unrealized_pnl"),
		typedProp("realized_pnl", "string", "Exact decimal."), typedProp("fees", "string", "Exact decimal."), feesSchema(),
		typedProp("price_at?", "string", ""), enumProp("mode", "", "paper", "live"))
}
