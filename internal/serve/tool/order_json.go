package tool

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/internal/work/ordering"
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
	StopPrice     string            `json:"stop_price,omitempty"`
	TrailPercent  string            `json:"trail_percent,omitempty"`
	StopLoss      string            `json:"stop_loss,omitempty"`
	StopLossLimit string            `json:"stop_loss_limit,omitempty"`
	TakeProfit    string            `json:"take_profit,omitempty"`
	TimeInForce   string            `json:"time_in_force,omitempty"`
	PostOnly      bool              `json:"post_only,omitempty"`
	ReduceOnly    bool              `json:"reduce_only,omitempty"`
	Group         string            `json:"group_id,omitempty"`
	Role          string            `json:"role,omitempty"`
	Parent        string            `json:"parent_id,omitempty"`
	Replaces      string            `json:"replaces,omitempty"`
	ReplacedBy    string            `json:"replaced_by,omitempty"`
	SentAs        string            `json:"sent_as,omitempty"`
	Holder        string            `json:"holder,omitempty"`
	HolderNote    string            `json:"holder_note,omitempty"`
	TriggeredAt   string            `json:"triggered_at,omitempty"`
	AmbiguousBar  bool              `json:"ambiguous_bar,omitempty"`
	Late          bool              `json:"late,omitempty"` // on paper: filled by a bar that came late
	Approval      *approvalJSON     `json:"approval,omitempty"`
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
	ExpiresAt     string            `json:"expires_at,omitempty"` // while it waits for the owner
	DryRun        bool              `json:"dry_run,omitempty"`

	Legs     []legJSON `json:"legs,omitempty"`
	Released []string  `json:"released,omitempty"`

	UnprotectedFor string `json:"unprotected_for,omitempty"`

	Plan    []lineJSON `json:"plan,omitempty"`
	Changed []string   `json:"changed,omitempty"`

	Sizing   *order.Sized  `json:"sizing,omitempty"`
	Estimate *estimateJSON `json:"estimate,omitempty"`

	Evidence   []evidenceJSON `json:"evidence,omitempty"`
	Conditions []evidenceJSON `json:"entry_conditions,omitempty"`
	NoEvidence bool           `json:"no_evidence,omitempty"`
}

// legJSON is an order of a group, beside the first one. get_orders lists it in full.
type legJSON struct {
	OrderID      string `json:"order_id,omitempty"`
	Role         string `json:"role"`
	Side         string `json:"side"`
	Type         string `json:"type"`
	Quantity     string `json:"quantity"`
	Price        string `json:"price,omitempty"`
	StopPrice    string `json:"stop_price,omitempty"`
	TrailPercent string `json:"trail_percent,omitempty"`
	Holder       string `json:"holder,omitempty"`
	Status       string `json:"status"`
	Filled       string `json:"filled_quantity,omitempty"`
	RejectReason string `json:"reject_reason,omitempty"`
}

func toLegJSON(o order.Order) legJSON {
	return legJSON{
		OrderID: o.ID, Role: o.Role.String(), Side: o.Side.String(), Type: o.TypeName(), Quantity: o.Quantity.String(), Price: exact(o.Price), StopPrice: exact(o.StopPrice),
		TrailPercent: exact(o.TrailPercent), Holder: string(o.Holder), Status: o.Status.String(), Filled: exact(o.Filled), RejectReason: o.Reason,
	}
}

// approvalJSON says until when the owner may approve an order, or when it was approved.
type approvalJSON struct {
	ExpiresAt string `json:"expires_at,omitempty"`
	DecidedAt string `json:"decided_at,omitempty"`
	Next      string `json:"next,omitempty"`
}

// estimateJSON is what an order would cost and risk.
type estimateJSON struct {
	Price        string            `json:"price,omitempty"`
	Value        string            `json:"value,omitempty"`
	Fee          string            `json:"fee,omitempty"`
	StopDistance string            `json:"stop_distance_pct,omitempty"`
	Risk         string            `json:"risk,omitempty"`
	RiskPercent  string            `json:"risk_pct,omitempty"`
	Reward       string            `json:"reward,omitempty"`
	Equity       string            `json:"equity,omitempty"`
	Quantity     string            `json:"quantity,omitempty"`
	CappedBy     string            `json:"capped_by,omitempty"`
	Limits       map[string]string `json:"limits_left,omitempty"`

	NeedsApproval bool `json:"needs_approval,omitempty"`

	Margin              string `json:"margin,omitempty"`
	Leverage            string `json:"leverage,omitempty"`
	Liquidation         string `json:"liquidation_price,omitempty"`
	LiquidationDistance string `json:"liquidation_distance_pct,omitempty"`
}

func toEstimateJSON(e *order.Estimate) *estimateJSON {
	if e == nil {
		return nil
	}
	r := &estimateJSON{
		Price: exact(e.Price), Value: exact(e.Value), Fee: exact(e.Fee), StopDistance: exact(e.StopDistance), Risk: exact(e.Risk), RiskPercent: exact(e.RiskPercent),
		Reward: exact(e.Reward), Equity: exact(e.Equity), Quantity: exact(e.Quantity), CappedBy: e.CappedBy, NeedsApproval: e.NeedsApproval,
		Margin: exact(e.Margin), Leverage: exact(e.Leverage), Liquidation: exact(e.Liquidation), LiquidationDistance: exact(e.LiquidationDistance),
	}
	for _, l := range e.Limits {
		if r.Limits == nil {
			r.Limits = make(map[string]string, len(e.Limits))
		}
		r.Limits[l.Rule] = l.Left.String()
	}
	return r
}

// exact formats a decimal, and zero as nothing.
func exact(d decimal.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// toPlacedJSON is an order as it was placed, with its legs.
func toPlacedJSON(p order.Placed) orderJSON {
	r := toOrderJSON(p.Order)
	r.Released, r.Estimate, r.Plan, r.Changed = p.Released, toEstimateJSON(p.Estimate), toPlanJSON(p.Plan), p.Changed
	if p.UnprotectedFor > 0 {
		r.UnprotectedFor = p.UnprotectedFor.Round(time.Millisecond).String()
	}
	r.Evidence, r.Conditions = toEvidenceJSON(p.Evidence), toEvidenceJSON(p.Conditions)
	if p.ID == "" { // nothing was recorded
		r.Group = ""
	}
	for _, leg := range p.Legs {
		r.Legs = append(r.Legs, toLegJSON(leg))
	}
	return r
}

// toApprovalJSON is the state of an approval, nil if none was needed.
func toApprovalJSON(o order.Order) *approvalJSON {
	switch a := o.Approval; {
	case a.Asked.IsZero():
		return nil
	case o.Status == order.PendingApproval:
		return &approvalJSON{ExpiresAt: formatTime(a.Expires), Next: "Nothing was sent. The owner decides; get_orders or the same idempotency_key returns the result. cancel_order withdraws it."}
	case a.Decided.IsZero():
		return &approvalJSON{ExpiresAt: formatTime(a.Expires)}
	default:
		return &approvalJSON{DecidedAt: formatTime(a.Decided)}
	}
}

// formatTime formats a time as ISO 8601 in UTC with milliseconds.
func formatTime(t time.Time) string { return ordering.Stamp(t) }

func toOrderJSON(o order.Order) orderJSON {
	r := orderJSON{
		ID: o.ID, OrderID: o.ID, ClientOrderID: o.ID, VenueOrderID: o.VenueID, Symbol: o.Symbol.Name, Venue: o.Symbol.Venue,
		Side: o.Side.String(), Type: o.TypeName(), Quantity: number(o.KnownQuantity()), State: string(o.Status.State()), Status: o.Status.String(),
		Filled: o.Filled.String(), RejectReason: o.Reason, RejectRule: o.Denial.Rule,
		Group: o.Group.Name, Broker: o.Broker, Mode: string(o.Mode), External: o.External && !o.Recovered, CreatedAt: formatTime(o.Created), UpdatedAt: formatTime(o.Updated),
		NoEvidence: o.NoEvidence,
	}
	r.Fees, r.FeesByAsset = o.Fees.Texts()
	if o.Status == order.PendingApproval {
		r.ExpiresAt = formatTime(o.Approval.Expires)
	}
	if o.Type == order.Limit {
		r.Price, r.LimitPrice = number(o.Price), o.Price.String()
	}
	r.StopPrice, r.TrailPercent, r.TimeInForce = exact(o.StopPrice), exact(o.TrailPercent), o.TimeInForce.String()
	r.StopLoss, r.StopLossLimit, r.TakeProfit = exact(o.Protect.StopLoss), exact(o.Protect.StopLossLimit), exact(o.Protect.TakeProfit)
	if trail := o.Protect.TrailPercent; trail.IsPositive() {
		r.TrailPercent = trail.String()
	}
	r.PostOnly, r.ReduceOnly, r.Role, r.Parent, r.Replaces, r.SentAs = o.PostOnly, o.ReduceOnly, o.Role.String(), o.Parent, o.Replaces, o.SentAs
	if r.Parent == o.ID {
		r.Parent = "" // the order is a line of its own
	}
	if r.Holder = string(o.Holder); r.Holder != "" && (!o.Status.Final() || o.Role == order.Entry) {
		r.HolderNote = o.HolderNote()
	}
	if !o.Triggered.IsZero() {
		r.TriggeredAt = formatTime(o.Triggered)
	}
	r.AmbiguousBar = slices.ContainsFunc(o.Fills, func(f order.Fill) bool { return f.AmbiguousBar })
	r.Late = slices.ContainsFunc(o.Fills, func(f order.Fill) bool { return f.Late })
	r.Approval, r.Sizing = toApprovalJSON(o), o.Sized()
	if average, ok := o.Average(); ok {
		text := average.String()
		r.AvgFillPrice = &text
	}
	return r
}

// orderSchema has the fields of every order. Those of protective orders are more, each a text
// or a boolean with the name of its argument.
func orderSchema() *schema {
	s := object(
		typedProp("id", "string", ""), typedProp("order_id", "string", ""), typedProp("client_order_id", "string", ""), typedProp("venue_order_id?", "string", ""),
		typedProp("symbol", "string", ""), typedProp("venue", "string", ""), enumProp("side", "", order.Sides()...), enumProp("type", "", order.Types()...),
		typedProp("quantity", "number", ""), typedProp("price?", "number", "Of a limit order."), typedProp("limit_price?", "string", "The same, exact."),
		enumProp("state", "", "Pending", "Open", "Filled", "Cancelled", "Rejected"),
		enumProp("status", "uncertain: the venue has not confirmed it.", order.Statuses()...),
		typedProp("filled_quantity", "string", "Exact decimal."),
		prop{"avg_fill_price", &schema{AnyOf: []*schema{{Type: "string"}, {Type: "null"}}, Description: "Exact decimal; null before the first fill."}},
		typedProp("fees", "string", "Exact decimal."), feesSchema(),
		typedProp("reject_reason?", "string", ""), typedProp("reject_rule?", "string", ""),
		typedProp("broker", "string", ""), enumProp("mode", "", "paper", "live"), typedProp("external?", "boolean", ""),
		typedProp("created_at", "string", ""), typedProp("updated_at", "string", ""),
		typedProp("dry_run?", "boolean", "Checked only, not sent."), typedProp("sizing?", "object", ""),
	)
	s.AdditionalProperties = nil
	return s
}

func feesSchema() prop {
	return prop{"fees_by_asset?", &schema{Type: "object"}}
}

// cancelJSON is the answer of cancel_order.
type cancelJSON struct {
	OK          bool   `json:"ok"`
	OrderID     string `json:"order_id"`
	Status      string `json:"status"`
	Filled      string `json:"filled_quantity"`
	WithoutStop string `json:"without_stop,omitempty"`

	*ordering.Cancelled        // of all orders
	Mode                string `json:"mode"`
}

// cancelSchema has the fields of every cancel. That of all orders has more.
func cancelSchema() *schema {
	s := object(prop{"ok", &schema{Type: "boolean", Const: true}}, typedProp("order_id", "string", ""), typedProp("status", "string", ""),
		typedProp("filled_quantity", "string", ""), typedProp("without_stop?", "string", ""), prop{"kept?", &schema{Type: "array"}}, enumProp("mode", "", "paper", "live"))
	s.AdditionalProperties = nil
	return s
}
