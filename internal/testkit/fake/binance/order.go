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

// endpoint is what the venue does at one kind of signed request.
type endpoint struct {
	known []string // all parameters of it
	do    func(call) (any, *refusal)
}

// answer carries a request out that was weighed and checked.
func (e endpoint) answer(s *Server, form url.Values, header http.Header) (any, *refusal) {
	for name := range form {
		if !slices.Contains(e.known, name) {
			return nil, &refusal{400, -1104, fmt.Sprintf("Not all sent parameters were read; read '%d' parameter(s) but was sent '%d'.", len(form)-1, len(form))}
		}
	}
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	now := s.config.Now()
	answer, no := e.do(call{server: s, params: form, header: header, now: now})
	s.exchange.ripen(now) // an answer has legs as they were before
	return answer, no
}

// signed routes a signed request: it weighs it, checks it, and sends what do
// returns. The params are all that the endpoint knows.
func (s *Server) signed(pattern string, weight func(url.Values) int, params []string, do func(call) (any, *refusal)) {
	e := endpoint{append([]string{"timestamp", "signature", "recvWindow"}, params...), do}
	if method, ok := methods()[pattern]; ok {
		s.methods[method] = endpoint{append([]string{"apiKey"}, e.known...), do}
	}
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		form, no := s.checkRequest(r)
		if !s.admit(w, weight(form)) {
			return
		}
		var answer any
		if no == nil {
			answer, no = e.answer(s, form, w.Header())
		}
		if no != nil {
			if no.status == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", strconv.FormatInt(10-s.config.Now().Unix()%10, 10))
			}
			writeJSON(w, no.status, []byte(Coded(no.status, no.code, no.message).Body))
			return
		}
		if half, ok := answer.(outcome); ok {
			writeJSON(w, half.status, marshal(half.body))
			return
		}
		writeJSON(w, http.StatusOK, marshal(answer))
	})
}

// methods are the requests that the WebSocket API has, too. The fake does not weigh them
// there.
func methods() map[string]string {
	return map[string]string{
		"POST /api/v3/orderList/oco": "orderList.place.oco", "POST /api/v3/orderList/oto": "orderList.place.oto",
		"POST /api/v3/orderList/otoco": "orderList.place.otoco", "POST /api/v3/orderList/opo": "orderList.place.opo",
		"POST /api/v3/orderList/opoco": "orderList.place.opoco", "DELETE /api/v3/orderList": "orderList.cancel",
		"GET /api/v3/orderList": "orderList.status", "GET /api/v3/openOrderList": "openOrderLists.status",
		"POST /api/v3/order": "order.place", "DELETE /api/v3/order": "order.cancel", "GET /api/v3/order": "order.status",
	}
}

// outcome is an answer with a status of its own.
type outcome struct {
	status int
	body   any
}

func weighs(n int) func(url.Values) int { return func(url.Values) int { return n } }

func (s *Server) routeOrders() {
	placing := append(single().names(), "symbol", "quoteOrderQty", "newOrderRespType", "selfTradePreventionMode")
	s.signed("POST /api/v3/order", weighs(1), placing, placeOrder)
	s.signed("POST /api/v3/order/test", weighs(1), placing, func(c call) (any, *refusal) {
		_, no := c.read(single())
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
	s.signed("GET /api/v3/account/commission", weighs(20), []string{"symbol"}, commission)
	s.routeReplace()
	s.routeLists()
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
		c.server.exchange.made++
		return fmt.Sprintf("made-up-%d-%d", c.now.UnixNano(), c.server.exchange.made), nil
	}
	if !legalID.MatchString(id) {
		return "", illegal(name, legalID)
	}
	return id, nil
}

func placeOrder(c call) (any, *refusal) {
	o, no := c.read(single())
	if no != nil {
		return nil, no
	}
	form, no := c.answerType(o)
	if no != nil {
		return nil, no
	}
	e := c.server.exchange
	if no := e.place(o, c.now); no != nil {
		return nil, no
	}
	c.showCounts()
	return e.answer(o, form, c.now), nil
}

// showCounts reports how many orders are unfilled.
func (c call) showCounts() {
	c.header.Set("X-MBX-ORDER-COUNT-10S", strconv.Itoa(c.server.exchange.count10s.n))
	c.header.Set("X-MBX-ORDER-COUNT-1D", strconv.Itoa(c.server.exchange.countDay.n))
}

// The forms of an answer about a new order.
const (
	answerAck    = "ACK"
	answerResult = "RESULT"
	answerFull   = "FULL"
)

// answerType reads the form of the answer. Without it, orders at market and with a limit
// have the longest, others the shortest.
func (c call) answerType(o *Order) (string, *refusal) {
	switch form := c.params.Get("newOrderRespType"); form {
	case answerAck, answerResult, answerFull:
		return form, nil
	case "":
		if o.Type == typeMarket || o.Type == typeLimit {
			return answerFull, nil
		}
		return answerAck, nil
	}
	return "", &refusal{400, -1130, "Data sent for parameter 'newOrderRespType' is not valid."}
}

// answer is what the venue says of a new order.
func (e *exchange) answer(o *Order, form string, now time.Time) map[string]any {
	answer := o.ack(now)
	switch form {
	case answerAck:
		return answer
	case answerResult:
		return e.result(o, answer)
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
	return e.result(o, answer)
}

// ack is the shortest answer about an order.
func (o *Order) ack(at time.Time) map[string]any {
	return map[string]any{"symbol": o.Symbol, "orderId": o.ID, "orderListId": o.listID(), "clientOrderId": o.ClientID, "transactTime": at.UnixMilli()}
}

// result adds to an answer what all but the shortest have.
func (e *exchange) result(o *Order, answer map[string]any) map[string]any {
	maps.Copy(answer, map[string]any{
		"price": amount(o.Price), "origQty": amount(o.Quantity), "executedQty": amount(o.Executed), "origQuoteOrderQty": "0.000000",
		"cummulativeQuoteQty": amount(o.Quote), "status": o.shown(), "timeInForce": o.TimeInForce, "type": o.Type, "side": o.Side,
		"selfTradePreventionMode": "NONE", "workingTime": milli(o.Working),
	})
	if o.unsized && !e.assumed.ShowsUnsized {
		delete(answer, "origQty")
	}
	if contingent(o.Type) {
		answer["stopPrice"] = amount(o.StopPrice)
	}
	if o.TrailingDelta > 0 {
		answer["trailingDelta"], answer["trailingTime"] = o.TrailingDelta, milli(o.TrailingSince)
	}
	if o.Status == statusExpired {
		answer["expiryReason"] = o.ExpiryReason
	}
	return answer
}

// listed is an order as it is read.
func (e *exchange) listed(o *Order) map[string]any {
	return e.result(o, map[string]any{
		"symbol": o.Symbol, "orderId": o.ID, "orderListId": o.listID(), "clientOrderId": o.ClientID, "stopPrice": amount(o.StopPrice), "icebergQty": "0.00000000",
		"time": o.Created.UnixMilli(), "updateTime": o.Updated.UnixMilli(), "isWorking": !o.Working.IsZero(),
	})
}

// lookup finds the order that a request names by either of two parameters.
func (c call) lookup(number, name string) (*Order, *refusal) {
	symbol, no := c.symbol()
	if no != nil {
		return nil, no
	}
	client, text := c.params.Get(name), c.params.Get(number)
	id := int64(0)
	if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			return nil, &refusal{400, -1100, "Illegal characters found in parameter '" + number + "'; legal range is '^[0-9]{1,20}$'."}
		}
		id = n
	} else if client == "" {
		return nil, &refusal{400, -1102, "Param '" + name + "' or '" + number + "' must be sent, but both were empty/null!"}
	}
	c.server.exchange.advance(c.now)
	return c.server.exchange.find(symbol, id, client), nil
}

func cancelOrder(c call) (any, *refusal) {
	by, no := c.clientID("newClientOrderId")
	if no != nil {
		return nil, no
	}
	o, no := c.lookup("orderId", "origClientOrderId")
	if no != nil {
		return nil, no
	}
	if no = c.cancellable(o); no != nil {
		return nil, no
	}
	c.server.exchange.cancel(o, by, c.now)
	return c.server.exchange.canceled(o, by, c.now), nil
}

// cancellable returns why an order cannot be cancelled.
func (c call) cancellable(o *Order) *refusal {
	only := map[string]string{"ONLY_NEW": statusNew, "ONLY_PARTIALLY_FILLED": statusPartial}
	word := c.params.Get("cancelRestrictions")
	switch status, known := only[word]; {
	case word != "" && !known:
		return &refusal{400, -1145, "Invalid cancelRestrictions"}
	case o == nil || !o.Open():
		return &refusal{400, -2011, "Unknown order sent."}
	case word != "" && o.Status != status:
		return &refusal{400, -2011, "Order was not canceled due to cancel restrictions."}
	}
	return nil
}

// canceled is what the venue says of a cancelled order.
func (e *exchange) canceled(o *Order, by string, now time.Time) map[string]any {
	answer := e.result(o, o.ack(now))
	answer["clientOrderId"], answer["origClientOrderId"] = by, o.ClientID
	delete(answer, "workingTime")
	return answer
}

// visible reports whether reads know of an order already.
func (c call) visible(o *Order) bool {
	return o != nil && !c.now.Before(o.Created.Add(c.server.exchange.lag))
}

func queryOrder(c call) (any, *refusal) {
	o, no := c.lookup("orderId", "origClientOrderId")
	if no != nil {
		return nil, no
	}
	if !c.visible(o) {
		return nil, &refusal{400, -2013, "Order does not exist."}
	}
	return c.server.exchange.listed(o), nil
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
			all = append(all, c.server.exchange.listed(o))
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

func commission(c call) (any, *refusal) {
	symbol, no := c.symbol()
	if no != nil {
		return nil, no
	}
	rates := func(rate decimal.Decimal) map[string]string {
		return map[string]string{"maker": amount(rate), "taker": amount(rate), "buyer": amount(decimal.Zero), "seller": amount(decimal.Zero)}
	}
	return map[string]any{
		"symbol": symbol, "standardCommission": rates(c.server.exchange.rules.commission), "specialCommission": rates(decimal.Zero),
		"taxCommission": rates(decimal.Zero),
		"discount":      map[string]any{"enabledForAccount": false, "enabledForSymbol": false, "discountAsset": "BNB", "discount": "0.75000000"},
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
		"symbol": t.Symbol, "id": t.ID, "orderId": t.OrderID, "orderListId": writtenID(t.List), "price": amount(t.Price), "qty": amount(t.Quantity),
		"quoteQty": amount(t.Price.Mul(t.Quantity)), "commission": amount(t.Fee), "commissionAsset": t.FeeAsset, "time": t.At.UnixMilli(),
		"isBuyer": t.Buyer, "isMaker": t.Maker, "isBestMatch": true,
	}
}
