package binance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/shopspring/decimal"
)

// maxQueue is how many events wait for a client that does not read.
const maxQueue = 10_000

// userSession is a connection to the WebSocket API. See fake.Session.
type userSession struct {
	server *Server
	wake   chan struct{} // has room for one
	last   int           // subscription given out
	// The exchange's lock guards these.
	subscribed bool
	queue      [][]byte
}

// userStream serves /ws-api/v3.
func (s *Server) userStream(w http.ResponseWriter, r *http.Request) {
	c := &userSession{server: s, wake: make(chan struct{}, 1), last: -1}
	defer c.unsubscribe()
	s.User.Serve(w, r, c)
}

// Wake reports that an event waits.
func (c *userSession) Wake() <-chan struct{} { return c.wake }

// Receive answers a request.
func (c *userSession) Receive(message []byte) [][]byte {
	var in struct {
		ID     json.RawMessage            `json:"id"`
		Method string                     `json:"method"`
		Params map[string]json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(message, &in); err != nil || in.Method == "" {
		return [][]byte{reply(nil, nil, &refusal{400, -1135, "Invalid JSON Request"})}
	}
	result, no := c.call(in.Method, in.Params)
	return [][]byte{reply(in.ID, result, no)}
}

func (c *userSession) call(method string, params map[string]json.RawMessage) (any, *refusal) {
	switch method {
	case "ping":
		return struct{}{}, nil
	case "time":
		return map[string]int64{"serverTime": c.server.config.Now().UnixMilli()}, nil
	case "userDataStream.subscribe.signature":
		if no := c.server.checkCall(form(params)); no != nil {
			return nil, no
		}
		return c.subscribe()
	case "userDataStream.unsubscribe":
		c.unsubscribe()
		return struct{}{}, nil
	case "session.subscriptions":
		all := []map[string]int{}
		c.server.exchange.mu.Lock()
		defer c.server.exchange.mu.Unlock()
		if c.subscribed {
			all = append(all, map[string]int{"subscriptionId": c.last})
		}
		return all, nil
	}
	known, ok := c.server.methods[method]
	if !ok {
		return nil, &refusal{400, -1000, "Unknown method."}
	}
	values := form(params)
	if no := c.server.checkCall(values); no != nil {
		return nil, no
	}
	return known.answer(c.server, values, http.Header{})
}

// form writes the parameters of a call as those of a request.
func form(params map[string]json.RawMessage) url.Values {
	values := make(url.Values)
	for name, raw := range params {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw) // a number
		}
		values.Set(name, text)
	}
	return values
}

func (c *userSession) subscribe() (any, *refusal) {
	e := c.server.exchange
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.subscribed {
		return nil, &refusal{400, -2035, "User Data Stream subscription already active."}
	}
	e.advance(c.server.config.Now()) // earlier events are not sent
	c.subscribed = true
	c.last++
	e.sessions[c] = struct{}{}
	return map[string]int{"subscriptionId": c.last}, nil
}

func (c *userSession) unsubscribe() {
	e := c.server.exchange
	e.mu.Lock()
	defer e.mu.Unlock()
	c.subscribed = false
	delete(e.sessions, c)
}

// Tick lets time pass and returns the events since the last one.
func (c *userSession) Tick() [][]byte {
	e := c.server.exchange
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance(c.server.config.Now())
	events := c.queue
	c.queue = nil
	return events
}

// reply writes an answer.
func reply(id json.RawMessage, result any, no *refusal) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	out := map[string]any{"id": id, "status": http.StatusOK, "result": result}
	if no != nil {
		delete(out, "result")
		out["status"], out["error"] = no.status, map[string]any{"code": no.code, "msg": no.message}
	}
	return marshal(out)
}

// publish queues an event for every subscription, unless events of its kind are lost.
func (e *exchange) publish(kind string, event any) {
	if e.lose[kind] > 0 {
		e.lose[kind]--
		return
	}
	for c := range e.sessions {
		data := marshal(map[string]any{"subscriptionId": c.last, "event": event})
		if len(c.queue) < maxQueue {
			c.queue = append(c.queue, data)
		}
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// terminate ends the subscriptions as the venue does, with a word of farewell.
func (e *exchange) terminate(now time.Time) {
	e.publish("eventStreamTerminated", map[string]any{"e": "eventStreamTerminated", "E": now.UnixMilli()})
	for c := range e.sessions {
		c.subscribed = false
	}
	clear(e.sessions)
}

// executionReport is the event of that name. Letters of both cases differ.
type executionReport struct {
	Event      string  `json:"e"`
	At         int64   `json:"E"`
	Symbol     string  `json:"s"`
	ClientID   string  `json:"c"`
	Side       string  `json:"S"`
	Type       string  `json:"o"`
	Force      string  `json:"f"`
	Quantity   string  `json:"q"`
	Price      string  `json:"p"`
	StopPrice  string  `json:"P"`
	Iceberg    string  `json:"F"`
	List       int64   `json:"g"`
	Original   string  `json:"C"`
	Execution  string  `json:"x"`
	Status     string  `json:"X"`
	Reject     string  `json:"r"`
	OrderID    int64   `json:"i"`
	LastQty    string  `json:"l"`
	Filled     string  `json:"z"`
	LastPrice  string  `json:"L"`
	Fee        string  `json:"n"`
	FeeAsset   *string `json:"N"`
	Transacted int64   `json:"T"`
	TradeID    int64   `json:"t"`
	Number     int64   `json:"I"`
	OnBook     bool    `json:"w"`
	Maker      bool    `json:"m"`
	Ignored    bool    `json:"M"`
	Created    int64   `json:"O"`
	Quote      string  `json:"Z"`
	LastQuote  string  `json:"Y"`
	QuoteQty   string  `json:"Q"`
	Working    int64   `json:"W,omitempty"` // of an order that was on the book
	Prevention string  `json:"V"`
	Delta      int64   `json:"d,omitempty"` // of an order that trails
	Since      int64   `json:"D,omitempty"`
	Expiry     string  `json:"eR,omitempty"` // of an order that expired
}

// report sends the state of an order, and of the balances. by is the id of the
// cancel that did it: the venue puts it where the order's own id was.
func (e *exchange) report(o *Order, execution, by string, t *Trade, at time.Time) {
	e.see(o.Symbol, at)
	e.executed++
	zero := amount(decimal.Zero)
	r := executionReport{
		Event: "executionReport", At: at.UnixMilli(), Symbol: o.Symbol, ClientID: o.ClientID, Side: o.Side, Type: o.Type, Force: o.TimeInForce,
		Quantity: amount(o.Quantity), Price: amount(o.Price), StopPrice: amount(o.StopPrice), Iceberg: zero, List: o.listID(), Execution: execution, Status: o.shown(),
		Reject: "NONE", OrderID: o.ID, LastQty: zero, Filled: amount(o.Executed), LastPrice: zero, Fee: "0", Transacted: at.UnixMilli(), TradeID: -1,
		Number: e.executed, OnBook: o.Open() && !o.Working.IsZero() && o.Type != typeMarket, Created: o.Created.UnixMilli(), Quote: amount(o.Quote), LastQuote: zero, QuoteQty: zero,
		Prevention: "NONE", Expiry: o.ExpiryReason,
	}
	if !o.Working.IsZero() {
		r.Working = o.Working.UnixMilli()
	}
	if o.TrailingDelta > 0 {
		r.Delta, r.Since = o.TrailingDelta, milli(o.TrailingSince)
	}
	if o.RejectReason != "" {
		r.Reject = o.RejectReason
	}
	if by != "" {
		r.ClientID, r.Original = by, o.ClientID
	}
	if t != nil {
		r.LastQty, r.LastPrice, r.LastQuote = amount(t.Quantity), amount(t.Price), amount(t.Quantity.Mul(t.Price))
		r.Fee, r.FeeAsset, r.TradeID, r.Maker = amount(t.Fee), &t.FeeAsset, t.ID, t.Maker
	}
	e.publish(r.Event, r)
	base, quote := split(o.Symbol)
	balances := make([]map[string]string, 0, 2)
	for _, asset := range []string{base, quote} {
		b := e.balance(asset)
		balances = append(balances, map[string]string{"a": asset, "f": amount(b.Free), "l": amount(b.Locked)})
	}
	e.publish("outboundAccountPosition", map[string]any{"e": "outboundAccountPosition", "E": at.UnixMilli(), "u": at.UnixMilli(), "B": balances})
}

// reportList sends the state of a list.
func (e *exchange) reportList(l *List, kind, status string, at time.Time) {
	l.StatusType, l.Status, l.Updated = kind, status, at
	orders := make([]map[string]any, 0, len(l.Orders))
	for _, o := range l.all() {
		orders = append(orders, map[string]any{"s": o.Symbol, "i": o.ID, "c": o.ClientID})
	}
	e.publish("listStatus", map[string]any{
		"e": "listStatus", "E": at.UnixMilli(), "s": l.Symbol, "g": l.ID, "c": l.Contingency, "l": kind, "L": status, "r": "NONE", "C": l.ClientID,
		"T": at.UnixMilli(), "O": orders,
	})
}
