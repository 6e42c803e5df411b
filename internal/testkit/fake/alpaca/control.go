package alpaca

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// moods are the faults of the trading side, by name.
func moods() map[string]Fault {
	return map[string]Fault{
		"": None, "odd status": OddStatus, "cancel refused": CancelRefused, "cancel loses": CancelLoses, "cancel slow": CancelSlow, "mute": Mute, "garbage": Garbage,
	}
}

// control serves functions that no venue has, for a test with the fake in another
// process:
//
//	GET  /fake/truth                      orders, fills, positions and cash
//	POST /fake/fault?name=NAME            the next order or cancel fails so, see OrderFaults
//	POST /fake/mood?name=NAME             how orders behave from now on, see moods
//	POST /fake/clear                      no more faults
//	POST /fake/wipe                       forget everything
//	POST /fake/drop                       cut the streams
//	POST /fake/pin?symbol=S&price=P       hold a price; 0 lets go
//	POST /fake/trade?id=ID&quantity=Q     fill some of an order
//	POST /fake/hours?always=true          let stocks trade around the clock
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/fake/truth" {
		data, err := json.Marshal(s.Truth()) //nolint:contextcheck // prices are made up at once
		if err != nil {
			panic("fake alpaca: " + err.Error())
		}
		_, _ = w.Write(data)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST", http.StatusMethodNotAllowed)
		return
	}
	if wrong := s.obey(strings.TrimPrefix(r.URL.Path, "/fake/"), r.FormValue); wrong != "" { //nolint:contextcheck // as above
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte("{}"))
}

// obey does one thing, or says what is wrong with it.
func (s *Server) obey(what string, value func(string) string) string {
	amount, err := decimal.NewFromString(value("price") + value("quantity"))
	switch what {
	case "fault":
		f, ok := OrderFaults()[value("name")]
		if !ok {
			return "a name of: " + strings.Join(slices.Sorted(maps.Keys(OrderFaults())), ", ")
		}
		s.Next(f)
	case "mood":
		f, ok := moods()[value("name")]
		if !ok {
			return "a name of: " + strings.Join(slices.Sorted(maps.Keys(moods())), ", ")
		}
		s.SetFault(f)
	case "clear":
		s.Clear()
		s.SetFault(None)
	case "wipe":
		s.Wipe()
	case "drop":
		s.Updates.Drop()
	case "hours":
		s.SetHours(value("always") == "true")
	case "pin":
		name, ok := s.listed(value("symbol"))
		if err != nil || amount.IsNegative() || !ok {
			return "a symbol that is listed and a price from 0"
		}
		if amount.IsZero() {
			s.SetQuote(name, "", "")
			return ""
		}
		s.SetQuote(name, amount.String(), amount.String())
	case "trade":
		if err != nil || !amount.IsPositive() || !s.Trade(value("id"), amount) {
			return "the id of an open order and a quantity above 0"
		}
	default:
		return "nothing under /fake/ is called so"
	}
	return ""
}
