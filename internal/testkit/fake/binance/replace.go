package binance

import "net/http"

// The modes and results of a cancel with a replacement.
const (
	replaceStop  = "STOP_ON_FAILURE"
	replaceAllow = "ALLOW_FAILURE"
	halfDone     = "SUCCESS"
	halfFailed   = "FAILURE"
	halfNot      = "NOT_ATTEMPTED"
)

func (s *Server) routeReplace() {
	params := append(single().names(), "symbol", "cancelReplaceMode", "cancelNewClientOrderId", "cancelOrigClientOrderId", "cancelOrderId", "cancelRestrictions",
		"newOrderRespType", "selfTradePreventionMode")
	s.signed("POST /api/v3/order/cancelReplace", weighs(1), params, cancelReplace)
}

// cancelReplace cancels an order and places another. The filters of the new one and the
// count of orders are judged before either is done.
func cancelReplace(c call) (any, *refusal) {
	mode := c.params.Get("cancelReplaceMode")
	switch mode {
	case replaceStop, replaceAllow:
	case "":
		return nil, missing("cancelReplaceMode")
	default:
		return nil, &refusal{400, -1130, "Data sent for parameter 'cancelReplaceMode' is not valid."}
	}
	o, no := c.read(single())
	if no != nil {
		return nil, no
	}
	form, no := c.answerType(o)
	if no != nil {
		return nil, no
	}
	by, no := c.clientID("cancelNewClientOrderId")
	if no != nil {
		return nil, no
	}
	e := c.server.exchange
	if e.features(o.Symbol).NoReplace {
		return nil, unsupported("Order cancel-replace is")
	}
	old, no := c.lookup("cancelOrderId", "cancelOrigClientOrderId")
	if no != nil {
		return nil, no
	}
	if no = e.screen([]*Order{o}, c.now); no != nil {
		return nil, no
	}
	c.showCounts()
	return c.swap(old, o, mode, form, by), nil
}

// swap does both halves and returns what became of each.
func (c call) swap(old, o *Order, mode, form, by string) any {
	e := c.server.exchange
	cancelled, placed := halfDone, halfDone
	var cancelAnswer, placeAnswer any
	if no := c.cancellable(old); no != nil {
		cancelled, cancelAnswer = halfFailed, no.body()
	} else {
		e.cancel(old, by, c.now)
		cancelAnswer = e.canceled(old, by, c.now)
	}
	if cancelled == halfFailed && mode == replaceStop {
		placed = halfNot
	} else if no := e.enter(o, c.now); no != nil {
		placed, placeAnswer = halfFailed, no.body()
	} else {
		placeAnswer = e.answer(o, form, c.now)
	}
	data := map[string]any{"cancelResult": cancelled, "newOrderResult": placed, "cancelResponse": cancelAnswer, "newOrderResponse": placeAnswer}
	switch {
	case cancelled == halfDone && placed == halfDone:
		return data
	case cancelled == halfDone || placed == halfDone:
		return outcome{http.StatusConflict, map[string]any{"code": -2021, "msg": "Order cancel-replace partially failed.", "data": data}}
	}
	return outcome{http.StatusBadRequest, map[string]any{"code": -2022, "msg": "Order cancel-replace failed.", "data": data}}
}

// body is a refusal as it is sent.
func (r *refusal) body() map[string]any { return map[string]any{"code": r.code, "msg": r.message} }
