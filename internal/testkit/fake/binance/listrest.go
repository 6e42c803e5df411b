package binance

import (
	"slices"
	"strconv"
	"time"
)

func (s *Server) routeLists() {
	shared := []string{"symbol", "listClientOrderId", "newOrderRespType", "selfTradePreventionMode"}
	for _, form := range listForms() {
		s.signed("POST /api/v3/orderList/"+form.name, weighs(1), append(form.names(), shared...), form.place)
	}
	s.signed("GET /api/v3/orderList", weighs(4), []string{"orderListId", "origClientOrderId"}, queryList)
	s.signed("GET /api/v3/openOrderList", weighs(6), nil, openLists)
	s.signed("DELETE /api/v3/orderList", weighs(1), []string{"symbol", "orderListId", "listClientOrderId", "newClientOrderId"}, cancelOrderList)
}

// listForm is how the orders of one kind of list are named in a request.
type listForm struct {
	name    string
	working *part
	legs    []part // the one above first
	opo     bool
}

// listForms are the kinds of lists. Those whose name has a p are sized by the venue.
func listForms() []listForm {
	working := prefixed("working", "workingSide", "workingQuantity")
	pair := func(quantity string) []part {
		return []part{prefixed("pendingAbove", "pendingSide", quantity), prefixed("pendingBelow", "pendingSide", quantity)}
	}
	return []listForm{
		{"oco", nil, []part{prefixed("above", "side", "quantity"), prefixed("below", "side", "quantity")}, false},
		{"oto", &working, []part{prefixed("pending", "pendingSide", "pendingQuantity")}, false},
		{"otoco", &working, pair("pendingQuantity"), false},
		{"opo", &working, []part{prefixed("pending", "pendingSide", "")}, true},
		{"opoco", &working, pair(""), true},
	}
}

// names returns the parameters of all orders of the list.
func (f listForm) names() []string {
	var all []string
	if f.working != nil {
		all = f.working.names()
	}
	for _, p := range f.legs {
		all = append(all, p.names()...)
	}
	return all
}

// read reads a list from a request.
func (f listForm) read(c call) (*List, *refusal) {
	l := &List{Contingency: contingencyPair, OPO: f.opo}
	var no *refusal
	if l.Symbol, no = c.symbol(); no != nil {
		return nil, no
	}
	if f.working != nil {
		l.Contingency = contingencyEntry
		if l.working, no = c.read(*f.working); no != nil {
			return nil, no
		}
		if l.working.Type != typeLimit && l.working.Type != typeMaker {
			return nil, &refusal{400, -1159, "Order type not supported for the working order."}
		}
	}
	for _, p := range f.legs {
		o, no := c.read(p)
		if no != nil {
			return nil, no
		}
		l.legs = append(l.legs, o)
	}
	if no = l.mismatched(); no != nil {
		return nil, no
	}
	if len(l.legs) == 2 {
		l.legs = stopFirst(l.legs[0], l.legs[1])
	}
	l.ClientID, no = c.clientID("listClientOrderId")
	return l, no
}

// mismatched returns why orders cannot be in one list.
func (l *List) mismatched() *refusal {
	switch {
	case l.OPO && l.working.Side != sideBuy:
		return &refusal{400, -1222, "Working order in an OPO list must be a bid."}
	case l.OPO && l.legs[0].Side != sideSell:
		return &refusal{400, -1223, "Pending orders in an OPO list must be asks."}
	case len(l.legs) == 2:
		return mispaired(l.legs[0], l.legs[1])
	}
	return nil
}

// mispaired returns why two orders cannot be a pair: a sale has its stop below and its
// target above, a purchase the other way round.
func mispaired(above, below *Order) *refusal {
	stop, target, kind, place := above, below, "buy", [2]string{"above", "below"}
	codes := [3]int{-1165, -1196, -1198}
	if above.Side == sideSell {
		stop, target, kind, place = below, above, "sell", [2]string{"below", "above"}
		codes = [3]int{-1166, -1197, -1199}
	}
	allowed := func(o *Order) bool { return contingent(o.Type) || o.Type == typeMaker }
	switch {
	case !allowed(above) || !allowed(below):
		return &refusal{400, -1158, "Order type not supported in OCO."}
	case above.Type == typeMaker && below.Type == typeMaker:
		return &refusal{400, -1168, "At least one OCO order must be contingent."}
	case stop.Type == typeMaker:
		return &refusal{400, codes[0], "A limit order in a " + kind + " OCO must be " + place[1] + "."}
	case stops(target.Type):
		return &refusal{400, codes[1], "A stop loss order in a " + kind + " OCO must be " + place[0] + "."}
	case !stops(stop.Type):
		return &refusal{400, codes[2], "A take profit order in a " + kind + " OCO must be " + place[1] + "."}
	}
	return nil
}

// place puts a list in.
func (f listForm) place(c call) (any, *refusal) {
	l, no := f.read(c)
	if no != nil {
		return nil, no
	}
	form := answerResult
	if c.params.Get("newOrderRespType") != "" {
		if form, no = c.answerType(l.legs[0]); no != nil {
			return nil, no
		}
	}
	e := c.server.exchange
	if no := e.placeList(l, c.now); no != nil {
		return nil, no
	}
	c.showCounts()
	answer, reports := l.listed(c.now), make([]map[string]any, 0, len(l.all()))
	for _, o := range l.all() {
		reports = append(reports, e.answer(o, form, c.now))
	}
	answer["orderReports"] = reports
	if l.Status == listDone { // the testnet was seen to answer so
		answer["listClientOrderId"] = nil
	}
	return answer, nil
}

// listed is a list as it is read.
func (l *List) listed(at time.Time) map[string]any {
	orders := make([]map[string]any, 0, len(l.all()))
	for _, o := range l.all() {
		orders = append(orders, map[string]any{"symbol": o.Symbol, "orderId": o.ID, "clientOrderId": o.ClientID})
	}
	return map[string]any{
		"orderListId": l.ID, "contingencyType": l.Contingency, "listStatusType": l.StatusType, "listOrderStatus": l.Status, "listClientOrderId": l.ClientID,
		"transactionTime": at.UnixMilli(), "symbol": l.Symbol, "orders": orders,
	}
}

// lookupList finds the list that a request names, an open one first.
func (c call) lookupList(client string) (*List, *refusal) {
	id, text := c.params.Get(client), c.params.Get("orderListId")
	number := int64(-1)
	if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, &refusal{400, -1100, "Illegal characters found in parameter 'orderListId'; legal range is '^[0-9]{1,20}$'."}
		}
		number = n
	} else if id == "" {
		return nil, &refusal{400, -1102, "Param '" + client + "' or 'orderListId' must be sent, but both were empty/null!"}
	}
	e := c.server.exchange
	e.advance(c.now)
	var found *List
	for _, l := range e.lists {
		if (number < 0 || l.ID == number) && (id == "" || l.ClientID == id) && (found == nil || !found.open()) {
			found = l
		}
	}
	return found, nil
}

// sees reports whether reads know of a list already.
func (c call) sees(l *List) bool {
	return l != nil && !c.now.Before(l.Created.Add(c.server.exchange.lag))
}

func queryList(c call) (any, *refusal) {
	l, no := c.lookupList("origClientOrderId")
	if no != nil {
		return nil, no
	}
	if !c.sees(l) {
		return nil, &refusal{400, -2013, "Order list does not exist."}
	}
	return l.listed(l.Updated), nil
}

func openLists(c call) (any, *refusal) {
	c.server.exchange.advance(c.now)
	all := []map[string]any{}
	for _, l := range c.server.exchange.lists {
		if l.open() && c.sees(l) {
			all = append(all, l.listed(l.Updated))
		}
	}
	return all, nil
}

func cancelOrderList(c call) (any, *refusal) {
	by, no := c.clientID("newClientOrderId")
	if no != nil {
		return nil, no
	}
	symbol, no := c.symbol()
	if no != nil {
		return nil, no
	}
	l, no := c.lookupList("listClientOrderId")
	if no != nil {
		return nil, no
	}
	if l == nil || l.Symbol != symbol || !l.open() {
		return nil, &refusal{400, -2011, "Unknown order list sent."}
	}
	e := c.server.exchange
	open := slices.DeleteFunc(slices.Clone(l.all()), func(o *Order) bool { return !o.Open() })
	e.cancel(open[0], by, c.now)
	answer, reports := l.listed(c.now), make([]map[string]any, 0, len(open))
	for _, o := range open {
		reports = append(reports, e.canceled(o, by, c.now))
	}
	answer["orderReports"] = reports
	return answer, nil
}
