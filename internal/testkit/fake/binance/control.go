package binance

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// control serves functions that no venue has, for a test with the fake in another
// process:
//
//	GET  /fake/truth                      orders, trades and balances
//	POST /fake/fault?name=NAME            the next order or cancel fails so, see OrderFaults
//	POST /fake/clear                      no more faults
//	POST /fake/wipe                       forget everything
//	POST /fake/drop                       cut the streams
//	POST /fake/pin?symbol=S&price=P       hold a price; 0 lets go
//	POST /fake/trade?id=ID&quantity=Q     fill some of an order
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/fake/truth" {
		writeJSON(w, http.StatusOK, marshal(map[string]any{"orders": s.Orders(), "trades": s.Trades(), "balances": s.Balances()}))
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
	case "/fake/pin", "/fake/trade":
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
	if r.URL.Path == "/fake/pin" {
		s.Pin(r.FormValue("symbol"), price)
	} else if !s.Trade(r.FormValue("id"), price) {
		http.Error(w, "no open order has this id", http.StatusNotFound)
		return
	}
	writeJSON(w, http.StatusOK, []byte("{}"))
}
