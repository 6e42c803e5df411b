package order

import (
	"encoding/json"
	"strings"
)

// ParseNotice reads the record of a notice, and false if it is none.
func ParseNotice(data []byte) (NoticeRecord, bool) {
	var r NoticeRecord
	if json.Unmarshal(data, &r) != nil || r.Event == "" {
		return NoticeRecord{}, false
	}
	return r, true
}

// Text says what happened in a sentence of identifiers and numbers, without what clients or venues wrote:
// "Order filled: sell 0.1 BTCUSDT at 45230.1 (stop_loss), profit -98.12."
func (r NoticeRecord) Text() string {
	what := strings.Join(strings.Fields(r.Side+" "+r.Quantity+" "+r.Symbol), " ")
	var text string
	switch r.Event {
	case NoticeFilled:
		text = "Order filled: " + r.Side + " " + r.Filled + " " + r.Symbol + " at " + r.Average
	case NoticePartFilled:
		text = "Order filled in part: " + r.Side + " " + r.Filled + " of " + r.Quantity + " " + r.Symbol + " at " + r.Average
	case NoticeEnded:
		text = "Order " + r.Status + ": " + what
	case NoticeDecided:
		text = "Order " + r.Decision + ": " + what
	case NoticeClosed:
		text = "Position closed: " + r.Symbol
	case NoticeUnprotected:
		text = "Position without its stop: " + r.Symbol
	case NoticeProtected:
		text = "Position with its stop again: " + r.Symbol
	case NoticeState:
		text = "Trading is " + r.State
	default:
		text = "Account: " + r.Event
	}
	if r.Role != "" {
		text += " (" + r.Role + ")"
	}
	if r.Realised != "" {
		text += ", profit " + r.Realised
	}
	return text + "."
}
