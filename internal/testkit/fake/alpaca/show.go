package alpaca

import (
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"
)

// show returns an order as the API writes it. Amounts are text, and what is not
// there is null.
func (d *desk) show(t *ticket) map[string]any {
	out := map[string]any{
		"id": t.id, "client_order_id": t.clientID, "symbol": t.symbol, "asset_class": t.class, "asset_id": assetID(t.symbol), "side": t.side,
		"type": t.kind, "order_type": t.kind, "time_in_force": t.force, "order_class": t.orderClass, "status": t.status, "extended_hours": t.extended,
		"qty": t.quantity.String(), "notional": nil, "filled_qty": t.filled.String(), "filled_avg_price": nil, "limit_price": nil,
		"stop_price": nil, "trail_price": nil, "trail_percent": nil, "hwm": nil, "legs": nil, "replaced_by": nil, "replaces": nil,
		"created_at": clock(t.created), "updated_at": clock(t.updated), "submitted_at": clock(t.submitted),
		"filled_at": nil, "expired_at": nil, "canceled_at": nil, "failed_at": nil, "replaced_at": nil,
	}
	for key, n := range map[string]decimal.Decimal{
		"limit_price": t.limit, "stop_price": t.stop, "trail_price": t.trail.price, "trail_percent": t.trail.percent, "hwm": t.trail.mark,
	} {
		if n.IsPositive() {
			out[key] = n.String()
		}
	}
	if t.filled.IsPositive() {
		out["filled_avg_price"] = t.spent.DivRound(t.filled, 9).String()
	}
	for key, text := range map[string]string{"replaced_by": t.replacedBy, "replaces": t.replaces} {
		if text != "" {
			out[key] = text
		}
	}
	for key, at := range t.ended {
		out[key] = clock(at)
	}
	if d.server.getFault() == OddStatus {
		out["status"] = "under_consideration"
	}
	return out
}

// showNested returns an order with its legs in it.
func (d *desk) showNested(t *ticket) map[string]any {
	out := d.show(t)
	if len(t.legs) > 0 {
		legs := make([]any, len(t.legs))
		for i, leg := range t.legs {
			legs[i] = d.show(leg)
		}
		out["legs"] = legs
	}
	return out
}

// clock writes a time as the API does.
func clock(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.999999999Z") }

// assetID makes an id of a symbol, so that it is the same everywhere.
func assetID(symbol string) string {
	const digits = "0123456789abcdef"
	id := []byte("00000000-0000-4000-8000-000000000000")
	for i := 0; i < len(symbol) && i < 6; i++ {
		id[24+2*i], id[25+2*i] = digits[symbol[i]>>4], digits[symbol[i]&15]
	}
	return string(id)
}

// event is one update of an order, as it is sent.
type event struct {
	Event
	at   time.Time
	data json.RawMessage
}

// Event says what the venue reported of an order.
type Event struct{ Name, VenueID, Status string }

// publish records an event and wakes the listeners.
func (d *desk) publish(a *account, t *ticket, name string, e *execution) {
	d.see(a, t.symbol)
	if e == nil && t.parent != nil && t.stop.IsPositive() && !t.triggered && d.server.getFault() == QuietLegs {
		return
	}
	out := map[string]any{"event": name, "event_id": d.uuid(), "at": clock(d.now()), "timestamp": clock(t.updated), "order": d.show(t)}
	if e != nil {
		held := decimal.Decimal{}
		if p := a.held[t.symbol]; p != nil {
			held = p.quantity
		}
		out["execution_id"], out["price"], out["qty"], out["position_qty"] = e.id, e.price.String(), e.quantity.String(), held.String()
		out["timestamp"] = clock(e.at)
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic("fake alpaca: " + err.Error())
	}
	a.events = append(a.events, event{Event{name, t.id, t.status}, d.now(), data})
	for l := range a.wake {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// showPosition returns a position as the API writes it: a pair without its slash.
func (d *desk) showPosition(a *account, symbol string) map[string]any {
	p, st, q := a.held[symbol], d.server.list[symbol], d.quoteAt(symbol, d.now().Unix())
	price := q.bid.Add(q.ask).Div(decimal.NewFromInt(2))
	value := p.quantity.Mul(price)
	side := "long"
	if p.quantity.IsNegative() {
		side = "short"
	}
	free := p.quantity.Abs().Sub(d.reserved(a, symbol, p.closing(), nil))
	if p.quantity.IsNegative() {
		free = free.Neg()
	}
	gain := value.Sub(p.cost)
	share := decimal.Decimal{}
	if !p.cost.IsZero() {
		share = gain.DivRound(p.cost.Abs(), 9)
	}
	return map[string]any{
		"asset_id": assetID(symbol), "symbol": joined(symbol), "exchange": "NASDAQ", "asset_class": st.class, "asset_marginable": st.class != crypto, //nolint:misspell // the venue's word
		"qty": p.quantity.String(), "qty_available": free.String(), "avg_entry_price": p.cost.DivRound(p.quantity, 9).String(), "side": side,
		"market_value": value.String(), "cost_basis": p.cost.String(), "unrealized_pl": gain.String(), "unrealized_plpc": share.String(),
		"unrealized_intraday_pl": gain.String(), "unrealized_intraday_plpc": share.String(), "current_price": price.String(),
		"lastday_price": price.String(), "change_today": "0",
	}
}

// showAccount returns the account as the API writes it: a margin account with
// twice its equity to buy with.
func (d *desk) showAccount(a *account) map[string]any {
	equity, long, short := d.equity(a)
	power := d.power(a, nil)
	margin := long.Sub(short).Div(decimal.NewFromInt(2))
	return map[string]any{
		"id": a.id, "account_number": "PA0FAKE00001", "status": "ACTIVE", "crypto_status": "ACTIVE", "currency": "USD",
		"buying_power": power.String(), "regt_buying_power": power.String(), "daytrading_buying_power": "0", "effective_buying_power": power.String(),
		"non_marginable_buying_power": power.Div(decimal.NewFromInt(2)).String(), "bod_dtbp": "0", "cash": a.cash.String(), "accrued_fees": "0", //nolint:misspell // the venue's word
		"portfolio_value": equity.String(), "equity": equity.String(), "last_equity": equity.String(), "multiplier": "2",
		"long_market_value": long.String(), "short_market_value": short.String(), "position_market_value": long.Sub(short).String(),
		"initial_margin": margin.String(), "maintenance_margin": margin.String(), "last_maintenance_margin": "0", "sma": "0", "daytrade_count": 0,
		"pattern_day_trader": false, "trading_blocked": false, "transfers_blocked": false, "account_blocked": false, "shorting_enabled": true,
		"trade_suspended_by_user": false, "created_at": "2025-01-01T00:00:00Z", "crypto_tier": 1,
	}
}
