package binance

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"
)

// call is one signed request that passed the gate.
type call struct {
	server *Server
	params url.Values
	header http.Header // of the answer
	now    time.Time
}

// signed routes a signed request: it weighs it, checks it, and sends what do
// returns. The params are all that the endpoint knows.
func (s *Server) signed(pattern string, weight func(url.Values) int, params []string, do func(call) (any, *refusal)) {
	known := append([]string{"timestamp", "signature", "recvWindow"}, params...)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		form, no := s.checkRequest(r)
		if !s.admit(w, weight(form)) {
			return
		}
		for name := range form {
			if no == nil && !slices.Contains(known, name) {
				no = &refusal{400, -1104, fmt.Sprintf("Not all sent parameters were read; read '%d' parameter(s) but was sent '%d'.", len(form)-1, len(form))}
			}
		}
		var answer any
		if no == nil {
			s.exchange.mu.Lock()
			answer, no = do(call{server: s, params: form, header: w.Header(), now: s.config.Now()})
			s.exchange.mu.Unlock()
		}
		if no != nil {
			if no.status == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", strconv.FormatInt(10-s.config.Now().Unix()%10, 10))
			}
			writeJSON(w, no.status, []byte(Coded(no.status, no.code, no.message).Body))
			return
		}
		writeJSON(w, http.StatusOK, marshal(answer))
	})
}

func weighs(n int) func(url.Values) int { return func(url.Values) int { return n } }

func (s *Server) routeOrders() {
	placing := []string{
		"symbol", "side", "type", "timeInForce", "quantity", "quoteOrderQty", "price", "newClientOrderId", "newOrderRespType", "selfTradePreventionMode",
	}
	s.signed("POST /api/v3/order", weighs(1), placing, placeOrder)
	s.signed("POST /api/v3/order/test", weighs(1), placing, func(c call) (any, *refusal) {
		_, no := c.order()
		return struct{}{}, no
	})
	s.signed("DELETE /api/v3/order", weighs(1), []string{"symbol", "orderId", "origClientOrderId", "newClientOrderId", "cancelRestrictions"}, cancelOrder)
	s.signed("GET /api/v3/order", weighs(4), []string{"symbol", "orderId", "origClientOrderId"}, queryOrder)
	s.signed("GET /api/v3/openOrders", func(v url.Values) int {
		if v.Get("symbol") == "" {
			return 80
		}
		return 6
	}, []string{"symbol"}, openOrders)
	s.signed("GET /api/v3/myTrades", func(v url.Values) int {
		if v.Get("orderId") != "" {
			return 5
		}
		return 20
	}, []string{"symbol", "orderId", "startTime", "endTime", "fromId", "limit"}, myTrades)
	s.signed("GET /api/v3/account", weighs(20), []string{"omitZeroBalances"}, account)
}

// missing is the refusal of a parameter that is not there or makes no sense.
func missing(name string) *refusal {
	return &refusal{400, -1102, "Mandatory parameter '" + name + "' was not sent, was empty/null, or malformed."}
}

// symbol returns the symbol asked for.
func (c call) symbol() (string, *refusal) {
	name := c.params.Get("symbol")
	switch {
	case name == "":
		return "", missing("symbol")
	case !c.server.config.Knows(name):
		return "", &refusal{400, -1121, "Invalid symbol."}
	}
	return name, nil
}

// The venue's patterns of a number and of an id.
var (
	legalAmount = regexp.MustCompile(`^([0-9]{1,20})(\.[0-9]{1,20})?$`)
	legalID     = regexp.MustCompile(`^[a-zA-Z0-9-_]{1,36}$`)
)

// illegal is the refusal of a parameter with other letters.
func illegal(name string, legal *regexp.Regexp) *refusal {
	return &refusal{400, -1100, "Illegal characters found in parameter '" + name + "'; legal range is '" + legal.String() + "'."}
}

// amount reads an exact number as strictly as the venue: digits and a point.
func (c call) amount(name string) (decimal.Decimal, *refusal) {
	text := c.params.Get(name)
	if text == "" {
		return decimal.Zero, missing(name)
	}
	if !legalAmount.MatchString(text) {
		return decimal.Zero, illegal(name, legalAmount)
	}
	d := decimal.RequireFromString(text)
	if !d.Equal(d.Round(8)) {
		return d, &refusal{400, -1111, "Parameter '" + name + "' has too much precision."}
	}
	return d, nil
}

// clientID reads the id that a client gives, or makes one up.
func (c call) clientID(name string) (string, *refusal) {
	id := c.params.Get(name)
	if id == "" {
		return fmt.Sprintf("made-up-%d-%d", c.now.UnixNano(), c.server.exchange.executed), nil
	}
	if !legalID.MatchString(id) {
		return "", illegal(name, legalID)
	}
	return id, nil
}

// order reads a new order.
func (c call) order() (*Order, *refusal) {
	o := &Order{Side: c.params.Get("side"), Type: c.params.Get("type"), TimeInForce: timeInForceOpen}
	var no *refusal
	if o.Symbol, no = c.symbol(); no != nil {
		return nil, no
	}
	switch {
	case o.Side == "" || o.Type == "":
		return nil, missing("side")
	case o.Side != sideBuy && o.Side != sideSell:
		return nil, &refusal{400, -1117, "Invalid side."}
	case o.Type != typeLimit && o.Type != typeMarket:
		return nil, &refusal{400, -1116, "Invalid orderType."} // the venue has more
	case o.Type == typeLimit && c.params.Get("timeInForce") == "":
		return nil, missing("timeInForce")
	case o.Type == typeLimit && c.params.Get("timeInForce") != timeInForceOpen:
		return nil, &refusal{400, -1115, "Invalid timeInForce."} // the venue has more
	case o.Type == typeMarket && c.params.Get("timeInForce") != "":
		return nil, &refusal{400, -1106, "Parameter 'timeInForce' sent when not required."}
	case o.Type == typeMarket && c.params.Get("price") != "":
		return nil, &refusal{400, -1106, "Parameter 'price' sent when not required."}
	}
	if o.Type == typeLimit {
		if o.Price, no = c.amount("price"); no != nil {
			return nil, no
		}
	}
	if o.Quantity, no = c.amount("quantity"); no != nil {
		return nil, no
	}
	if !o.Quantity.IsPositive() {
		return nil, &refusal{400, -1013, "Invalid quantity."}
	}
	o.ClientID, no = c.clientID("newClientOrderId")
	return o, no
}

func placeOrder(c call) (any, *refusal) {
	o, no := c.order()
	if no != nil {
		return nil, no
	}
	e := c.server.exchange
	if no := e.place(o, c.now); no != nil {
		return nil, no
	}
	c.header.Set("X-MBX-ORDER-COUNT-10S", strconv.Itoa(e.count10s.n))
	c.header.Set("X-MBX-ORDER-COUNT-1D", strconv.Itoa(e.countDay.n))
	answer := o.ack(c.now)
	switch c.params.Get("newOrderRespType") {
	case "ACK":
		return answer, nil
	case "RESULT":
		return o.result(answer), nil
	}
	fills := []map[string]any{}
	for _, t := range e.trades {
		if t.Symbol == o.Symbol && t.OrderID == o.ID {
			fills = append(fills, map[string]any{
				"price": amount(t.Price), "qty": amount(t.Quantity), "commission": amount(t.Fee), "commissionAsset": t.FeeAsset, "tradeId": t.ID,
			})
		}
	}
	answer["fills"] = fills
	return o.result(answer), nil
}

// ack is the shortest answer about an order.
func (o *Order) ack(at time.Time) map[string]any {
	return map[string]any{"symbol": o.Symbol, "orderId": o.ID, "orderListId": o.listID(), "clientOrderId": o.ClientID, "transactTime": at.UnixMilli()}
}

// result adds to an answer what all but the shortest have.
func (o *Order) result(answer map[string]any) map[string]any {
	maps.Copy(answer, map[string]any{
		"price": amount(o.Price), "origQty": amount(o.Quantity), "executedQty": amount(o.Executed), "origQuoteOrderQty": "0.000000",
		"cummulativeQuoteQty": amount(o.Quote), "status": o.shown(), "timeInForce": o.TimeInForce, "type": o.Type, "side": o.Side,
		"selfTradePreventionMode": "NONE", "workingTime": o.Created.UnixMilli(),
	})
	return answer
}

// listed is an order as it is read.
func (o *Order) listed() map[string]any {
	return o.result(map[string]any{
		"symbol": o.Symbol, "orderId": o.ID, "orderListId": o.listID(), "clientOrderId": o.ClientID, "stopPrice": amount(o.StopPrice), "icebergQty": "0.00000000",
		"time": o.Created.UnixMilli(), "updateTime": o.Updated.UnixMilli(), "isWorking": true,
	})
}

// lookup finds the order that a request names.
func (c call) lookup() (*Order, *refusal) {
	symbol, no := c.symbol()
	if no != nil {
		return nil, no
	}
	client, text := c.params.Get("origClientOrderId"), c.params.Get("orderId")
	id := int64(0)
	if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			return nil, &refusal{400, -1100, "Illegal characters found in parameter 'orderId'; legal range is '^[0-9]{1,20}$'."}
		}
		id = n
	} else if client == "" {
		return nil, &refusal{400, -1102, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!"}
	}
	c.server.exchange.advance(c.now)
	return c.server.exchange.find(symbol, id, client), nil
}

func cancelOrder(c call) (any, *refusal) {
	by, no := c.clientID("newClientOrderId")
	if no != nil {
		return nil, no
	}
	o, no := c.lookup()
	if no != nil {
		return nil, no
	}
	if o == nil || !o.Open() {
		return nil, &refusal{400, -2011, "Unknown order sent."}
	}
	c.server.exchange.cancelList(o, by, c.now)
	answer := o.result(o.ack(c.now))
	answer["clientOrderId"], answer["origClientOrderId"] = by, o.ClientID
	delete(answer, "workingTime")
	return answer, nil
}

// visible reports whether reads know of an order already.
func (c call) visible(o *Order) bool {
	return o != nil && !c.now.Before(o.Created.Add(c.server.exchange.lag))
}

func queryOrder(c call) (any, *refusal) {
	o, no := c.lookup()
	if no != nil {
		return nil, no
	}
	if !c.visible(o) {
		return nil, &refusal{400, -2013, "Order does not exist."}
	}
	return o.listed(), nil
}

func openOrders(c call) (any, *refusal) {
	symbol := ""
	if c.params.Has("symbol") {
		var no *refusal
		if symbol, no = c.symbol(); no != nil {
			return nil, no
		}
	}
	c.server.exchange.advance(c.now)
	all := []map[string]any{}
	for _, o := range c.server.exchange.orders {
		if o.Open() && c.visible(o) && (symbol == "" || o.Symbol == symbol) {
			all = append(all, o.listed())
		}
	}
	return all, nil
}

func account(c call) (any, *refusal) {
	e := c.server.exchange
	e.advance(c.now)
	balances := []map[string]string{}
	for _, asset := range e.assets() {
		b := e.balances[asset]
		if c.params.Get("omitZeroBalances") != "true" || !b.Free.IsZero() || !b.Locked.IsZero() {
			balances = append(balances, map[string]string{"asset": asset, "free": amount(b.Free), "locked": amount(b.Locked)})
		}
	}
	rate := amount(e.rules.commission)
	return map[string]any{
		"makerCommission": 10, "takerCommission": 10, "buyerCommission": 0, "sellerCommission": 0,
		"commissionRates": map[string]string{"maker": rate, "taker": rate, "buyer": amount(decimal.Zero), "seller": amount(decimal.Zero)},
		"canTrade":        true, "canWithdraw": true, "canDeposit": true, "brokered": false, "requireSelfTradePrevention": false, "preventSor": false,
		"updateTime": c.now.UnixMilli(), "accountType": "SPOT", "balances": balances, "permissions": []string{"SPOT"}, "uid": 354937868,
	}, nil
}

// whole reads an optional whole number.
func (c call) whole(name string, standard int64) (int64, *refusal) {
	text := c.params.Get(name)
	if text == "" {
		return standard, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &refusal{400, -1100, "Illegal characters found in parameter '" + name + "'; legal range is '^[0-9]{1,20}$'."}
	}
	return n, nil
}

func myTrades(c call) (any, *refusal) {
	symbol, no := c.symbol()
	if no != nil {
		return nil, no
	}
	numbers := map[string]int64{"orderId": -1, "fromId": -1, "limit": 500, "startTime": -1, "endTime": -1}
	for name, standard := range numbers {
		if numbers[name], no = c.whole(name, standard); no != nil {
			return nil, no
		}
	}
	if numbers["fromId"] >= 0 && (numbers["startTime"] >= 0 || numbers["endTime"] >= 0) {
		return nil, &refusal{400, -1128, "Combination of optional parameters invalid."}
	}
	e, limit := c.server.exchange, int(min(numbers["limit"], 1000))
	e.advance(c.now)
	all := []map[string]any{}
	for _, t := range e.trades {
		switch at := t.At.UnixMilli(); {
		case t.Symbol != symbol || numbers["orderId"] >= 0 && t.OrderID != numbers["orderId"] || t.ID < numbers["fromId"]:
		case numbers["startTime"] >= 0 && at < numbers["startTime"] || numbers["endTime"] >= 0 && at > numbers["endTime"]:
		default:
			all = append(all, t.listed())
		}
	}
	if len(all) <= limit {
		return all, nil
	}
	if numbers["fromId"] >= 0 || numbers["startTime"] >= 0 {
		return all[:limit], nil
	}
	return all[len(all)-limit:], nil
}

// listed is a trade as it is read.
func (t Trade) listed() map[string]any {
	return map[string]any{
		"symbol": t.Symbol, "id": t.ID, "orderId": t.OrderID, "orderListId": -1, "price": amount(t.Price), "qty": amount(t.Quantity),
		"quoteQty": amount(t.Price.Mul(t.Quantity)), "commission": amount(t.Fee), "commissionAsset": t.FeeAsset, "time": t.At.UnixMilli(),
		"isBuyer": t.Buyer, "isMaker": t.Maker, "isBestMatch": true,
	}
}
