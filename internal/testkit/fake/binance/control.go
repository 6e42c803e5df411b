package binance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// control serves functions that no venue has, for a test with the fake in another
// process:
//
//	GET  /fake/truth                      orders, lists, trades, balances and locks
//	POST /fake/fault?name=NAME            the next order or cancel fails so, see OrderFaults
//	POST /fake/clear                      no more faults
//	POST /fake/wipe                       forget everything
//	POST /fake/drop                       cut the streams
//	POST /fake/announce?symbol=S&price=P  send a price of this moment to all who follow the market
//	POST /fake/lose?event=E&count=N       the next events of a kind reach nobody
//	POST /fake/pin?symbol=S&price=P       hold a price; 0 lets go
//	POST /fake/move?symbol=S&price=P      hold a price that meets the orders at once
//	POST /fake/fix?symbol=S&price=P       hold a price in the bars too, where it is also traded
//	POST /fake/trade?id=ID&quantity=Q     fill some of an order
//	POST /fake/expire?id=ID               end an order as the venue does
//	POST /fake/refuse?id=ID               refuse a leg when its working order is filled
//	POST /fake/assume?NAME=true           see Assumptions; those not named are false
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/fake/truth" {
		writeJSON(w, http.StatusOK, marshal(map[string]any{
			"orders": s.Orders(), "lists": s.Lists(), "trades": s.Trades(), "balances": s.Balances(), "locks": s.Locks(),
		}))
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/fake/fault":
		all := OrderFaults()
		f, ok := all[r.FormValue("name")]
		if !ok {
			http.Error(w, "a name of: "+strings.Join(slices.Sorted(maps.Keys(all)), ", "), http.StatusBadRequest)
			return
		}
		s.Next(f)
	case "/fake/clear":
		s.Clear()
	case "/fake/wipe":
		s.Wipe()
	case "/fake/drop":
		s.Feed.Drop()
		s.User.Drop()
	case "/fake/announce":
		s.Feed.Announce(s.moment(r.FormValue("symbol"), r.FormValue("price")))
	case "/fake/lose":
		count, err := strconv.Atoi(r.FormValue("count"))
		if err != nil || count < 0 {
			http.Error(w, "count is no number", http.StatusBadRequest)
			return
		}
		s.Lose(r.FormValue("event"), count)
	case "/fake/assume":
		yes := func(name string) bool { return r.FormValue(name) == "true" }
		s.Assume(Assumptions{yes("TargetKeepsStop"), yes("OTOLocksLegs"), yes("OPORefusesFOK"), yes("ShowsUnsized")})
	case "/fake/expire":
		s.Expire(r.FormValue("id"))
	case "/fake/refuse":
		if !s.RefuseLeg(r.FormValue("id")) {
			http.Error(w, "no pending order has this id", http.StatusNotFound)
			return
		}
	case "/fake/pin", "/fake/move", "/fake/fix", "/fake/trade":
		s.controlTrading(w, r)
		return
	default:
		http.NotFound(w, r)
		return
	}
	writeJSON(w, http.StatusOK, []byte("{}"))
}

func (s *Server) controlTrading(w http.ResponseWriter, r *http.Request) {
	price, err := decimal.NewFromString(r.FormValue("price") + r.FormValue("quantity"))
	if err != nil || price.IsNegative() {
		http.Error(w, "price or quantity is no amount", http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/fake/pin":
		s.Pin(r.FormValue("symbol"), price)
	case "/fake/move":
		s.Move(r.FormValue("symbol"), price)
	case "/fake/fix":
		s.Fix(r.FormValue("symbol"), price, decimal.NewFromInt(1000))
	default:
		if s.Trade(r.FormValue("id"), price) {
			break
		}
		http.Error(w, "no open order has this id", http.StatusNotFound)
		return
	}
	writeJSON(w, http.StatusOK, []byte("{}"))
}

// moment returns a message of the stream in which the running minute of a symbol has a price.
func (s *Server) moment(symbol, price string) string {
	now := s.config.Now()
	minute := now.Truncate(time.Minute).UnixMilli()
	return fmt.Sprintf(`{"stream":"%s@kline_1m","data":{"e":"kline","E":%d,"s":%q,"k":{"t":%d,"T":%d,"s":%q,"i":"1m","f":100,"L":200,"o":"1","c":%q,"h":%q,"l":"1","v":"1","n":1,"x":false,"q":"1","V":"1","Q":"1","B":"0"}}}`,
		strings.ToLower(symbol), now.UnixMilli(), symbol, minute, minute+59_999, symbol, price, price)
}
