package tool

import (
	"encoding/json"
	"strconv"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Bounds of the claims of an order, beside order.MaxClaims.
const (
	mostClaimBars       = 4 // different symbols and intervals
	mostClaimIndicators = 12
)

const becauseExample = `[{"interval":"1h","value":{"indicator":"rsi","op":"<","value":30}}]`

// becauseArg holds the claims of an order, which are read once the symbol is known.
func becauseArg(dst *json.RawMessage) arg {
	return rawArg("because", dst).typed(&schema{Type: "array", Items: &schema{Type: "object"}, Description: "set_alert conditions with interval."})
}

// readClaims reads the claims of an order in a symbol.
func readClaims(l ta.Library, s market.Symbol, raw json.RawMessage) ([]order.Claim, error) {
	const at, allowed = "because", "a list of 1 to 8 conditions of set_alert such as " + becauseExample
	if raw == nil {
		return nil, nil
	}
	if raw[0] != '[' {
		e := fault.Field(at, quoteValue(raw), allowed)
		e.Message = "because: words for the owner go into note. Give conditions that candela can check, such as " + becauseExample + "."
		return nil, e
	}
	var all []order.Claim
	bars, indicators := map[[2]string]bool{}, 0
	for item := range strictjson.Items(raw) {
		where := at + "[" + strconv.Itoa(len(all)) + "]"
		if len(all) == order.MaxClaims {
			return nil, fault.Field(at, "more than 8 conditions", allowed)
		}
		c, want, err := readClaim(l, s, where, item)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		bars[[2]string{want.Symbol.String(), want.Interval.String()}] = true
		if want.Interval.Valid() {
			for range alert.NewProbe(l, &want).Groups() {
				indicators++
			}
		}
		if len(bars) > mostClaimBars || indicators > mostClaimIndicators {
			return nil, fault.Field(at, "too many", "at most 4 different symbols and intervals, and 12 indicators")
		}
	}
	if len(all) == 0 {
		return nil, fault.Field(at, "[]", allowed)
	}
	return all, nil
}

// readClaim reads one claim: a condition with keys of its own beside it.
func readClaim(l ta.Library, s market.Symbol, at string, raw json.RawMessage) (c order.Claim, want alert.Alert, err error) {
	if raw[0] != '{' {
		return c, want, fault.Field(at, quoteValue(raw), "an object such as "+becauseExample[1:len(becauseExample)-1])
	}
	condition, own := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, value := range strictjson.Fields(raw) {
		switch key {
		case "interval", "symbol", "within_bars":
			own[key] = value
		default:
			condition[key] = value
		}
	}
	interval := market.Interval(0)
	if err = decodeAt(at, fieldsOf(own), intervalArg(&interval, ""), symbolArg(&c.Symbol, ""), intArg("within_bars", &c.Within, 1, mostWithin, "")); err != nil {
		return c, want, err
	}
	read, err := (&conditionReader{library: l}).read(at, fieldsOf(condition))
	if err != nil {
		return c, want, err
	}
	if want, err = claimed(l, at, read, interval, &c); err != nil {
		return c, want, err
	}
	if want.Symbol = c.Symbol; want.Symbol.IsZero() {
		want.Symbol = s
	}
	c.Text = want.Describe()
	if c.Within > 1 {
		c.Text += " within " + strconv.Itoa(c.Within) + " bars"
	}
	return c, want, nil
}

// claimed checks the condition of a claim and sets it.
func claimed(l ta.Library, at string, read alert.Condition, interval market.Interval, c *order.Claim) (alert.Alert, error) {
	want := alert.Alert{Condition: read, Interval: interval}
	switch {
	case read.Type == alert.PriceCrosses:
		return want, onBars(at, &read)
	case read.Type.OnPrice() && (interval != 0 || c.Within > 1):
		return want, fault.Field(at, read.Type.String(), "no interval and no within_bars with "+read.Type.String()+", which is about the price now")
	case !read.Type.OnPrice() && interval == 0:
		want.Interval = market.Hour4
	}
	if err := want.Normalize(l); err != nil {
		if e := fault.Of(err); e != nil {
			err = renameField(err, e.Field, at+strings.TrimPrefix(e.Field, "condition"))
		}
		return want, err
	}
	if err := want.Possible(l, at); err != nil {
		return want, err
	}
	text, err := want.Condition.MarshalJSON()
	c.Interval, c.Condition = want.Interval, text
	return want, err
}

// fieldsOf writes fields as an object.
func fieldsOf(fields map[string]json.RawMessage) json.RawMessage {
	raw, _ := strictjson.Marshal(fields) // of raw values
	return raw
}

// evidenceJSON is what candela found of a claim. true is null if it is unknown.
type evidenceJSON struct {
	Claim   string         `json:"claim"`
	True    *bool          `json:"true"`
	Value   json.Number    `json:"value,omitempty"`
	Against json.Number    `json:"against,omitempty"`
	Bar     string         `json:"bar,omitempty"`
	BarsAgo *int           `json:"bars_ago,omitempty"`
	Held    string         `json:"held,omitempty"`
	Missing string         `json:"missing,omitempty"`
	Since   string         `json:"anchored_at,omitempty"`
	Parts   []evidenceJSON `json:"parts,omitempty"`
}

func toEvidenceJSON(all []order.Evidence) []evidenceJSON {
	rows := make([]evidenceJSON, 0, len(all))
	for _, e := range all {
		r := evidenceJSON{
			Claim: e.Text, True: truth(e.Known, e.True), Value: json.Number(e.Value), Against: json.Number(e.Against), Held: e.HeldText(), Missing: e.Missing,
		}
		if !e.Bar.IsZero() {
			r.Bar, r.BarsAgo = formatTime(e.Bar), &e.BarsAgo
		}
		if !e.Anchored.IsZero() {
			r.Since = formatTime(e.Anchored)
		}
		for _, p := range e.Parts {
			r.Parts = append(r.Parts, evidenceJSON{Claim: p.Text, True: truth(p.Known, p.True), Value: json.Number(p.Value), Against: json.Number(p.Against)})
		}
		rows = append(rows, r)
	}
	return rows
}

func truth(known, is bool) *bool {
	if !known {
		return nil
	}
	return &is
}
