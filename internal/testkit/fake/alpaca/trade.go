package alpaca

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/lib/market"
)

// joined writes a pair without its slash, as positions and activities do.
func joined(symbol string) string { return strings.ReplaceAll(symbol, "/", "") }

// reply is an answer of the trading API.
type reply struct {
	status int // 200 when 0
	body   any // none when nil
}

// trade answers the trading API, and says false for what is not of it.
func (s *Server) trade(r *http.Request, key string) (reply, *refusal, bool) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[key]
	path, q := strings.TrimPrefix(r.URL.Path, "/v2/"), r.URL.Query()
	head, rest, _ := strings.Cut(path, "/")
	var body any
	var bad *refusal
	switch route := r.Method + " " + head; {
	case route == "GET account" && rest == "":
		body = d.showAccount(a)
	case route == "GET account" && (rest == "activities" || rest == "activities/FILL"):
		body, bad = d.activities(a, q, rest == "activities/FILL")
	case route == "GET clock":
		body = d.showClock()
	case route == "GET positions":
		body, bad = d.positions(a, rest)
	case route == "GET orders:by_client_order_id":
		t := a.find("-", q.Get("client_order_id"))
		if t != nil && d.now().Sub(t.created) < d.lag {
			t = nil
		}
		body, bad = d.one(t, q.Get("client_order_id"), q)
	case route == "GET orders" && rest == "":
		body, bad = d.list(a, q)
	case route == "GET orders":
		body, bad = d.one(a.find(rest, ""), rest, q)
	case route == "POST orders" && rest == "":
		body, bad = d.post(a, r)
	case route == "PATCH orders":
		body, bad = d.replace(a, rest, r)
	case route == "DELETE orders" && rest == "":
		return reply{http.StatusMultiStatus, d.cancelAll(a)}, nil, true
	case route == "DELETE orders":
		t := a.find(rest, "")
		if t == nil {
			return reply{}, missing("order not found for " + rest), true
		}
		return reply{http.StatusNoContent, nil}, d.cancel(a, t), true
	default:
		return reply{}, nil, false
	}
	return reply{http.StatusOK, body}, bad, true
}

func missing(text string) *refusal { return &refusal{http.StatusNotFound, 40410000, text, nil} }

func (d *desk) one(t *ticket, id string, q url.Values) (any, *refusal) {
	if t == nil {
		return nil, missing("order not found for " + id)
	}
	return d.shower(q)(t), nil
}

// shower returns how orders are shown: with their legs when they are to be nested.
func (d *desk) shower(q url.Values) func(*ticket) map[string]any {
	if q.Get("nested") == "true" {
		return d.showNested
	}
	return d.show
}

func (d *desk) post(a *account, r *http.Request) (any, *refusal) {
	var in ask
	if bad := decode(r, &in); bad != nil {
		return nil, bad
	}
	return d.submit(a, in)
}

func decode(r *http.Request, in any) *refusal {
	data, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil || json.Unmarshal(data, in) != nil {
		return &refusal{http.StatusBadRequest, 40010000, "request body format is invalid", nil}
	}
	return nil
}

func (d *desk) cancelAll(a *account) any {
	all := []map[string]any{}
	for _, t := range a.orders {
		if t.open() {
			status := http.StatusOK
			if bad := d.cancel(a, t); bad != nil {
				status = http.StatusInternalServerError
			}
			all = append(all, map[string]any{"id": t.id, "status": status})
		}
	}
	return all
}

// list returns orders by when they were submitted. A leg that is held is not among the open
// ones. Nested, a leg is shown under its parent alone, and so not at all when the parent is
// filled and the open ones are asked for.
func (d *desk) list(a *account, q url.Values) (any, *refusal) {
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), "50"))
	if err != nil || limit < 1 || limit > 500 {
		return nil, wrong("limit must be between 1 and 500")
	}
	after, errAfter := time.Parse(time.RFC3339Nano, cmp.Or(q.Get("after"), "0001-01-01T00:00:00Z"))
	until, errUntil := time.Parse(time.RFC3339Nano, cmp.Or(q.Get("until"), "9999-01-01T00:00:00Z"))
	if errAfter != nil || errUntil != nil {
		return nil, wrong("invalid date format")
	}
	all := slices.Clone(a.orders)
	slices.SortStableFunc(all, func(x, y *ticket) int { return x.submitted.Compare(y.submitted) })
	if q.Get("direction") != "asc" {
		slices.Reverse(all)
	}
	out, show := []map[string]any{}, d.shower(q)
	for _, t := range all {
		status, open := cmp.Or(q.Get("status"), "open"), t.open() && t.status != "held"
		switch {
		case t.parent != nil && q.Get("nested") == "true":
		case status != "all" && (status == "open") != open, !t.submitted.After(after), !t.submitted.Before(until), len(out) == limit:
		case q.Get("symbols") != "" && !slices.Contains(strings.Split(q.Get("symbols"), ","), joined(t.symbol)) && !slices.Contains(strings.Split(q.Get("symbols"), ","), t.symbol):
		case q.Get("side") != "" && q.Get("side") != t.side:
		default:
			out = append(out, show(t))
		}
	}
	return out, nil
}

func (d *desk) positions(a *account, symbol string) (any, *refusal) {
	if symbol != "" {
		name, _ := d.server.listed(symbol)
		if a.held[name] == nil {
			return nil, missing("position does not exist")
		}
		return d.showPosition(a, name), nil
	}
	out := []map[string]any{}
	for name := range a.held {
		out = append(out, d.showPosition(a, name))
	}
	return out, nil
}

// activityID names an execution in the history: its millisecond in New York, and
// its own id.
func (d *desk) activityID(e execution) string {
	return strings.Replace(e.at.In(d.server.hours.Zone()).Format("20060102150405.000"), ".", "", 1) + "::" + e.id
}

// activities returns trades in the order of their ids: those of one millisecond
// are in no order that means anything.
func (d *desk) activities(a *account, q url.Values, fills bool) (any, *refusal) {
	out := []map[string]any{}
	size, err := strconv.Atoi(cmp.Or(q.Get("page_size"), "100"))
	if err != nil || size < 1 || size > 100 {
		return nil, wrong("page_size must be between 1 and 100")
	}
	if types := q.Get("activity_types"); !fills && types != "" && !slices.Contains(strings.Split(types, ","), "FILL") {
		return out, nil
	}
	all := slices.Clone(a.trades)
	slices.SortFunc(all, func(x, y execution) int { return strings.Compare(d.activityID(x), d.activityID(y)) })
	asc := q.Get("direction") == "asc"
	if !asc {
		slices.Reverse(all)
	}
	after, errAfter := time.Parse(time.RFC3339Nano, cmp.Or(q.Get("after"), "0001-01-01T00:00:00Z"))
	until, errUntil := time.Parse(time.RFC3339Nano, cmp.Or(q.Get("until"), "9999-01-01T00:00:00Z"))
	if errAfter != nil || errUntil != nil {
		return nil, wrong("invalid date format")
	}
	for _, e := range all {
		id, token := d.activityID(e), q.Get("page_token")
		past := token != "" && (asc && id <= token || !asc && id >= token)
		if past || !e.at.After(after) || !e.at.Before(until) || len(out) == size {
			continue
		}
		t := e.order
		out = append(out, map[string]any{
			"id": id, "activity_type": "FILL", "transaction_time": clock(e.at), "type": e.kind, "price": e.price.String(), "qty": e.quantity.String(),
			"side": t.side, "symbol": joined(t.symbol), "leaves_qty": t.quantity.Sub(e.sofar).String(), "cum_qty": e.sofar.String(),
			"order_id": t.id, "order_status": t.status,
		})
	}
	return out, nil
}

// showClock returns the time and the hours of stocks.
func (d *desk) showClock() any {
	now, zone := d.now(), d.server.hours.Zone()
	stock := &ticket{symbol: "AAPL"}
	span := d.session(stock, now.Unix())
	write := func(t int64) string { return time.Unix(t, 0).In(zone).Format(time.RFC3339) }
	next := span
	if span.Holds(now.Unix()) {
		next = d.session(stock, d.server.hours.Next(market.Day1, now.Unix()).Open)
	}
	return map[string]any{
		"timestamp": now.In(zone).Format(time.RFC3339Nano), "is_open": span.Holds(now.Unix()), "next_open": write(next.Open), "next_close": write(span.Close),
	}
}
