package alpaca

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
)

// moods are the faults of the trading side, by name.
func moods() map[string]Fault {
	return map[string]Fault{
		"": None, "odd status": OddStatus, "cancel refused": CancelRefused, "cancel loses": CancelLoses, "cancel slow": CancelSlow, "mute": Mute, "garbage": Garbage,
		"replace slow": ReplaceSlow, "replace refused": ReplaceRefused, "replace loses": ReplaceLoses, "target replaced": TargetReplaced, "quiet legs": QuietLegs,
	}
}

// control serves functions that no venue has, for a test with the fake in another
// process:
//
//	GET  /fake/truth                      orders, groups, fills, positions, what is reserved, and cash
//	POST /fake/fault?name=NAME            the next order or cancel fails so, see OrderFaults
//	POST /fake/mood?name=NAME             how orders behave from now on, see moods
//	POST /fake/clear                      no more faults
//	POST /fake/wipe                       forget everything
//	POST /fake/drop                       cut the streams
//	POST /fake/pin?symbol=S&price=P       hold a price; 0 lets go
//	POST /fake/trade?id=ID&quantity=Q     fill some of an order
//	POST /fake/both?id=ID                 fill every exit of the group of an order
//	POST /fake/reject?id=ID               let the exchanges reject an order
//	POST /fake/legs?reject=ROLE           reject legs as they begin to work: stop_loss, take_profit, both, or none of them
//	POST /fake/cancels?delay=D            let cancels be pending for so long, such as 30s; release=D frees what was sold later
//	POST /fake/entries?flat=true          take entries with legs only where nothing is held
//	POST /fake/stream?lose=S&duplicate=S  misbehave with a share of the updates, from 0 to 1; also reorder and late
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
		s.SetCancelDelay(0)
		s.SetRelease(0)
		s.RejectLegs("")
		s.SetFlatEntries(false)
		s.Updates.Set(fake.StreamFaults{})
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
		return s.obeyGroups(what, value)
	}
	return ""
}

// obeyGroups is obey for what is about orders of several and the stream.
func (s *Server) obeyGroups(what string, value func(string) string) string {
	switch what {
	case "both":
		if !s.FillBoth(value("id")) {
			return "the id of an order of several that is open"
		}
	case "reject":
		if !s.Reject(value("id")) {
			return "the id of an open order"
		}
	case "legs":
		if !s.RejectLegs(value("reject")) {
			return "a role of: stop_loss, take_profit, both, or none"
		}
	case "cancels":
		delay, wrong := time.ParseDuration(cmp.Or(value("delay"), "0s"))
		release, worse := time.ParseDuration(cmp.Or(value("release"), "0s"))
		if wrong != nil || worse != nil || delay < 0 || release < 0 {
			return "a delay and a release from 0s"
		}
		s.SetCancelDelay(delay)
		s.SetRelease(release)
	case "entries":
		s.SetFlatEntries(value("flat") == "true")
	case "stream":
		var f fake.StreamFaults
		for name, share := range map[string]*float64{"lose": &f.Lose, "duplicate": &f.Duplicate, "reorder": &f.Reorder, "late": &f.Late} {
			n, err := strconv.ParseFloat(cmp.Or(value(name), "0"), 64)
			if err != nil || n < 0 || n > 1 {
				return "shares from 0 to 1"
			}
			*share = n
		}
		s.Updates.Set(f)
	default:
		return "nothing under /fake/ is called so"
	}
	return ""
}
