package binance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market"
	rules "candela/internal/market/provider/binance"
	"candela/internal/market/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// Submit sends an order once. See broker.Broker.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if err := checkSpec(o); err != nil {
		return order.Report{}, err
	}
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, notSent(err)
	}
	params := url.Values{
		"symbol": {spelled}, "newClientOrderId": {o.ID}, "quantity": {o.Quantity.String()}, "newOrderRespType": {"FULL"},
		"side": {strings.ToUpper(o.Side.String())}, "type": {"MARKET"},
	}
	if o.Type == order.Limit {
		params.Set("type", "LIMIT")
		params.Set("timeInForce", "GTC")
		params.Set("price", o.Price.String())
	}
	if wait := time.Until(time.Unix(0, b.full.Load())); wait > 0 {
		return order.Report{}, notSent(tooManyOrders(nil, wait))
	}
	r, err := b.change(ctx, http.MethodPost, o.Handle(), spelled, params)
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Code == codeTooManyOrders {
		b.full.Store(time.Now().Add(e.RetryAfter).UnixNano())
	}
	if err == nil && (r.Type != o.Type || !r.Quantity.Equal(o.Quantity) || !r.Price.Equal(o.Price)) {
		err = upstream.MalformedResponse(name, spelled, errors.New("it is not about what was asked for"))
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrUnknown, err)
	}
	return r, err
}

// Cancel asks the venue to cancel an order. The venue says of one that is filled,
// cancelled or unknown that it does not know it; which of them is then read.
func (b *Broker) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, notSent(err)
	}
	r, err := b.change(ctx, http.MethodDelete, o, spelled, naming(o, spelled))
	if e, ok := errors.AsType[*upstream.Error](err); !ok || codeOf(err) != codeCancel || e.Message != wordsUnknownOrder {
		return r, err
	}
	r, err = b.Query(ctx, o)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return r, err
	case err != nil:
		return r, fmt.Errorf("%w: %w", broker.ErrUnknown, err)
	case r.Status == order.Filled || r.Status == order.Canceled || r.Status == order.Expired || r.Status == order.Rejected:
		return r, nil
	}
	return order.Report{}, fmt.Errorf("binance %s: %w: the venue does not know the order, and lists it", spelled, broker.ErrUnknown)
}

// change sends what is sent once. Its error has a fate.
func (b *Broker) change(ctx context.Context, method string, o order.Handle, spelled string, params url.Values) (order.Report, error) {
	if err := b.clock.ready(ctx); err != nil {
		return order.Report{}, fmt.Errorf("%w: the venue's clock was not read: %w", broker.ErrNotSent, err)
	}
	resp, err := b.orders.Do(ctx, upstream.Request{
		Method: method, Path: "/api/v3/order", Weight: weightOrder, Subject: spelled, QueryFunc: b.signed(params),
	})
	if err != nil {
		if codeOf(err) == codeTimestamp {
			b.clock.doubt() // it was not done; the next one is signed with a better time
		}
		return order.Report{}, failed(err, o.Symbol, spelled)
	}
	r, err := parseReport(resp.Body, o, spelled)
	if err != nil {
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrUnknown, upstream.MalformedResponse(name, spelled, err))
	}
	return r, nil
}

// notSent is the error of a request that failed before it went out.
func notSent(err error) error { return fmt.Errorf("%w: %w", broker.ErrNotSent, err) }

// naming returns the parameters that name an order.
func naming(o order.Handle, spelled string) url.Values {
	if o.ID == "" {
		return url.Values{"symbol": {spelled}, "orderId": {o.VenueID}}
	}
	return url.Values{"symbol": {spelled}, "origClientOrderId": {o.ID}}
}

// Query asks for an order by our id, or by the venue's.
func (b *Broker) Query(ctx context.Context, o order.Handle) (order.Report, error) {
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, err
	}
	resp, err := b.read(ctx, b.reads, "/api/v3/order", spelled, weightQuery, naming(o, spelled))
	switch codeOf(err) {
	case codeNoOrder:
		return order.Report{}, fmt.Errorf("binance %s: %s: %w", spelled, o, broker.ErrNotFound)
	case codeArchived:
		// Cancelled or expired without a trade over 90 days ago, the one or the other.
		return order.Report{Spec: o.Spec, VenueID: o.VenueID, Status: order.Canceled, Reason: "archived by the venue", At: time.Now()}, nil
	}
	if err != nil {
		err = explain(err, o.Symbol, spelled)
	}
	return parsed(resp, err, spelled, func(body []byte) (order.Report, error) { return parseReport(body, o, spelled) })
}

// The venue's codes that decide something here.
const (
	codeTooManyOrders = "-1015"
	codeTimestamp     = "-1021"
	codeRejected      = "-2010"
	codeCancel        = "-2011"
	codeNoOrder       = "-2013"
	codeArchived      = "-2026"
)

// The venue's words where one code means several things.
const (
	wordsUnknownOrder = "Unknown order sent."
	wordsDuplicate    = "Duplicate order sent."
)

// codeOf returns the venue's code of a refusal, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*upstream.Error](err); ok && (e.Reason == upstream.Refused || e.Reason == upstream.Throttled) && e.Status < 500 {
		return e.Code
	}
	return ""
}

// fateOf returns what is known of an order or a cancel that failed with err.
func fateOf(err error) error {
	if errors.Is(err, upstream.ErrNotSent) {
		return broker.ErrNotSent
	}
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Reason != upstream.Refused && e.Reason != upstream.Throttled {
		return broker.ErrUnknown
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusTeapot, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return broker.ErrRejected // turned away at the door, with or without words
	}
	if e.Status < 400 || e.Status >= 500 || !refuses(e.Code) {
		return broker.ErrUnknown
	}
	if e.Code == codeRejected && strings.Contains(e.Message, wordsDuplicate) {
		return broker.ErrUnknown // an order of this id is there
	}
	return broker.ErrRejected
}

// refuses reports whether a code says that nothing was done. A code that is not
// known to say so may say anything: the order is then asked for. Left out are
// -1000, -1001, -1006, -1007, -1008 and -1016, by which the venue says that it
// does not know itself, or failed inside.
func refuses(code string) bool {
	switch code {
	case "-1002", "-1003", // not authorized, too many requests
		"-1010", "-1013", "-1014", codeTooManyOrders, // rejected, filters, combination, too many orders
		"-1020", codeTimestamp, "-1022", // not supported, time, signature
		"-1131",                           // recvWindow
		codeRejected, codeCancel, "-2012", // by the matching engine
		codeNoOrder, "-2014", "-2015", "-2016", "-2017", // no such order, keys
		codeArchived, "-2039": // archived, ids that do not go together
		return true
	}
	// 11xx and 12xx: something is wrong with the request.
	return len(code) == len("-1100") && (strings.HasPrefix(code, "-11") || strings.HasPrefix(code, "-12"))
}

// failed gives an error its fate, and a face that a client can act on.
func failed(err error, s market.Symbol, spelled string) error {
	return fmt.Errorf("%w: %w", fateOf(err), explain(err, s, spelled))
}

// explain turns what the venue said into a fault that says what to do about it.
func explain(err error, s market.Symbol, spelled string) error {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Reason != upstream.Refused || e.Status >= 500 || e.Status == http.StatusUnavailableForLegalReasons {
		return err // an account here cannot trade elsewhere instead
	}
	f := &fault.Error{Cause: err, Code: "venue_refused", Kind: fault.Invalid}
	switch code := e.Code; {
	case code == codeTooManyOrders:
		return tooManyOrders(err, e.RetryAfter)
	case code == codeTimestamp:
		f.Kind, f.Code, f.Retryable = fault.Unavailable, "clock_skew", true
		f.Message = "this machine's clock and the venue's differ; it was measured again"
	case code == "-1022", code == "-2014", code == "-2015", code == "-1002", e.Status == http.StatusUnauthorized:
		f.Kind, f.Code = fault.Unavailable, "venue_keys_refused"
		f.Message = "the venue does not accept the key, its signature, this address or the permission to trade"
	case code == codeRejected && strings.Contains(e.Message, "insufficient balance"):
		f.Code, f.Field = "insufficient_balance", "quantity"
		f.Message = "the account has too little for this order"
	case strings.HasPrefix(e.Message, "Filter failure: "):
		f.Code = "venue_filter"
		f.Field, f.Allowed = filterField(strings.TrimPrefix(e.Message, "Filter failure: "))
		f.Message = "the order breaks a rule of the symbol: " + f.Allowed
	case code == codeRejected, code == codeCancel:
		f.Kind, f.Message = fault.Conflict, "the venue refused"
	default:
		return rules.Explain(err, s, spelled)
	}
	f.Message = fmt.Sprintf("binance %s: %s (%s, code %s)", spelled, f.Message, e.Message, e.Code)
	return f
}

// tooManyOrders is the fault of an account that has placed all it may for a while.
func tooManyOrders(cause error, wait time.Duration) *fault.Error {
	f := fault.Unreachable(cause, wait, "binance: the account has placed as many orders as it may for now; orders that trade do not count, and cancels go on")
	f.Code = "rate_limited"
	return f
}

// filterField says which argument a filter is about and what it demands.
func filterField(filter string) (field, allowed string) {
	switch filter {
	case "PRICE_FILTER":
		return "price", "a price within the symbol's bounds, on its tick"
	case "PERCENT_PRICE", "PERCENT_PRICE_BY_SIDE":
		return "price", "a price nearer to the market"
	case "LOT_SIZE", "MARKET_LOT_SIZE", "MAX_POSITION", "MAX_ASSET":
		return "quantity", "a quantity within the symbol's bounds, on its step"
	case "NOTIONAL", "MIN_NOTIONAL":
		return "quantity", "price times quantity within the symbol's bounds"
	default:
		return "", "fewer open orders"
	}
}

// readFault gives an error of a read its face.
func readFault(err error) error { return explain(err, market.Symbol{Venue: name}, "account") }

// checkSpec refuses what the venue would not even be asked.
func checkSpec(o order.Spec) error {
	legal := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
	}
	switch {
	case o.ID == "" || len(o.ID) > 36 || strings.ContainsFunc(o.ID, func(c rune) bool { return !legal(c) }):
		return notSent(fault.Field("id", o.ID, "1 to 36 letters, digits, - and _"))
	case o.Side != order.Buy && o.Side != order.Sell:
		return notSent(fault.Field("side", fmt.Sprint(o.Side), "buy, sell"))
	case o.Type != order.Market && o.Type != order.Limit:
		return notSent(fault.Field("type", fmt.Sprint(o.Type), "market, limit"))
	case !o.Quantity.IsPositive():
		return notSent(fault.Field("quantity", o.Quantity.String(), "above zero"))
	case o.Type == order.Limit && !o.Price.IsPositive():
		return notSent(fault.Field("price", o.Price.String(), "above zero for a limit order"))
	case !o.StopPrice.IsZero():
		return notSent(fault.Field("stop_price", o.StopPrice.String(), "none: stops are not sent yet"))
	}
	return nil
}

// Capabilities returns that only market and limit orders are taken so far.
func (b *Broker) Capabilities(context.Context, market.Symbol) (order.Capabilities, error) {
	return order.Capabilities{}, nil
}

// SubmitGroup refuses, because groups are not sent yet.
func (b *Broker) SubmitGroup(context.Context, []order.Spec) ([]order.Report, error) {
	return nil, fmt.Errorf("binance: %w: groups of orders are not taken yet", broker.ErrNotSent)
}
