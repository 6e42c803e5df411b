package tool

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// conditionReader reads a condition. What it means is checked by alert.Normalize.
type conditionReader struct {
	library ta.Library
	timed   bool // it has an interval, or each of its members has
	member  bool // of an all or any
}

// conditionArg is an object with exactly one key, the type of the condition.
func conditionArg(l ta.Library, dst *alert.Condition, timed *bool) arg {
	allowed := "an object with exactly one of " + strings.Join(alert.Names(), ", ")
	return newArg("condition", dst, allowed, conditionSchema(), func(raw json.RawMessage) (alert.Condition, error) {
		r := &conditionReader{library: l}
		c, err := r.read("condition", raw)
		*timed = r.timed
		return c, err
	})
}

// read reads the condition at a path.
func (r *conditionReader) read(at string, raw json.RawMessage) (c alert.Condition, err error) {
	if raw[0] != '{' {
		return c, wording.NoCondition(at, raw)
	}
	var key string
	var value json.RawMessage
	keys, on := 0, market.Interval(0)
	for k, v := range strictjson.Fields(raw) {
		if r.member && k == "interval" {
			if err := r.interval(&on).read(v); err != nil {
				return c, prefixField(at, err)
			}
		} else if keys++; keys == 1 {
			key, value = k, v
		}
	}
	if keys != 1 {
		return c, wording.WrongKeys(at, raw)
	}
	kind, known := alert.ParseType(key)
	if !known {
		return c, wording.UnknownCondition(at, key, value)
	}
	c.Type = kind
	if err = r.readAs(at+"."+key, value, &c); err == nil && on != 0 && c.Interval != 0 && c.Interval != on {
		err = fault.Field(at+".interval", on.String(), "one interval, not "+c.Interval.String()+", too")
	}
	c.Interval = cmp.Or(c.Interval, on)
	return c, err
}

// interval is that of a member, beside its type or inside.
func (r *conditionReader) interval(dst *market.Interval) arg {
	return intervalArg(dst, "").note(&r.timed)
}

// object reads an object within a condition. That of a member may have an interval.
func (r *conditionReader) object(at string, raw json.RawMessage, c *alert.Condition, inner ...arg) error {
	if r.member {
		inner = append(inner, r.interval(&c.Interval))
	}
	return decodeAt(at, raw, inner...)
}

func (r *conditionReader) readAs(at string, raw json.RawMessage, c *alert.Condition) error {
	switch c.Type {
	case alert.IndicatorSignal:
		return r.readSignal(at, raw, c)
	case alert.Value:
		return r.readValue(at, raw, c)
	case alert.All, alert.Any:
		return r.readMembers(at, raw, c)
	case alert.PercentChange:
		if raw[0] != '{' {
			return wrapped(at, raw, wording.ChangeExample)
		}
		given := false
		return r.object(at, raw, c, barsArg(&c.Bars), opArg(&c.Op, alert.Ops()[:alert.GreaterEqual]...).require(),
			priceArg("value", &c.Threshold, &given, "").allowing("a number of percent, such as 5 or -5").require())
	case alert.NewHigh, alert.NewLow:
		if raw[0] != '{' {
			return wrapped(at, raw, wording.BarsExample)
		}
		return r.object(at, raw, c, barsArg(&c.Bars))
	default:
		return amountArg(at, &c.Threshold, "").read(raw)
	}
}

// wrapped reports a value that belongs into an object such as example.
func wrapped(at string, raw json.RawMessage, example string) error {
	return wording.NoObject(at, raw, "an object such as "+example)
}

// decodeAt reads an object within a condition.
func decodeAt(at string, raw json.RawMessage, inner ...arg) error {
	err := args(inner).decode(raw)
	if e := fault.Of(err); e != nil && e.Code == "unknown_argument" && strings.EqualFold(e.Value, "interval") {
		return wording.Misplaced(at, "interval")
	}
	ofIndicator := slices.ContainsFunc(inner, func(a arg) bool { return a.name == "indicator" })
	if e := fault.Of(err); e != nil && e.Code == "unknown_argument" && ofIndicator && slices.Contains([]string{"params", "parameters", "length"}, strings.ToLower(e.Value)) {
		return fault.Field(at+"."+e.Value, e.Value, `parameters inside indicator, such as "indicator":{"name":"rsi","length":14}`)
	}
	return prefixField(at, err)
}

func barsArg(dst *int) arg {
	return intArg("bars", dst, 1, alert.MaxBars, "").require()
}

// readSignal checks that the indicator emits the signal: otherwise the alert would
// never fire.
func (r *conditionReader) readSignal(at string, raw json.RawMessage, c *alert.Condition) error {
	if raw[0] != '{' {
		return wrapped(at, raw, wording.SignalExample)
	}
	var chosen entry
	err := r.object(at, raw, c,
		r.entryArg("indicator", &chosen).require(),
		stringArg("signal", &c.Signal, 64, "")) // required too, but its error lists the signals of the indicator
	if err != nil {
		return err
	}
	def := chosen.selection.Def
	c.Indicator, c.Params = chosen.name, chosen.params
	if own := def.Labels(); c.Signal == "" && len(own) > 0 {
		return fault.Missing(at+".signal", "one of "+strings.Join(own, ", "))
	}
	err = ta.CheckSignal(def, c.Signal)
	if e := fault.Of(err); e != nil {
		err = renameField(err, e.Field, at+strings.TrimPrefix(e.Field, "condition.indicator_signal"))
	}
	return err
}

// readValue reads a comparison of two sides.
func (r *conditionReader) readValue(at string, raw json.RawMessage, c *alert.Condition) error {
	if raw[0] != '{' {
		return wrapped(at, raw, wording.ValueExample)
	}
	var right json.RawMessage
	left := side{at: at}
	err := r.object(at, raw, c, append(r.sideArgs(&left),
		opArg(&c.Op, alert.Ops()...).require(),
		rawArg("value", &right).allowing(`a number, "close", {"indicator":"sma200"} or, for enters and leaves, [30,70]`).require())...)
	if err != nil {
		return err
	}
	if c.Left, err = left.operand(); err != nil {
		return err
	}
	if err := r.readRight(at+".value", right, c); err != nil {
		return err
	}
	return c.CheckReach(r.library, at)
}

// readRight reads the right side of a comparison.
func (r *conditionReader) readRight(at string, raw json.RawMessage, c *alert.Condition) error {
	switch {
	case c.Op.Ranged() || raw[0] == '[':
		return readRange(at, raw, c)
	case raw[0] == '{':
		right := side{at: at}
		err := decodeAt(at, raw, r.sideArgs(&right)...)
		if err == nil {
			c.Right, err = right.operand()
		}
		return err
	case raw[0] == '"':
		return readPrice(at, raw, &c.Right)
	}
	given := false
	return priceArg(at, &c.Right.Number, &given, "").read(raw)
}

// readPrice reads the name of a price of the bar, and suggests what another text may
// mean.
func readPrice(at string, raw json.RawMessage, dst *alert.Operand) error {
	text, _ := strictjson.Text(raw)
	text = strings.TrimSpace(text)
	allowed := `a number, a price such as "close", or an indicator such as {"indicator":"sma200"}`
	if i := slices.IndexFunc(alert.Prices(), func(p string) bool { return strings.EqualFold(p, text) }); i >= 0 {
		dst.Price = alert.Prices()[i]
		return nil
	}
	if number, ok := wording.Number(text); ok {
		return fault.Quoted(at, truncate(text), "a number", number.String())
	}
	if _, err := ta.Resolve(ta.Request{Name: truncate(text)}); err == nil {
		return wording.SuggestJSON(fault.Field(at, truncate(text), allowed), `{"indicator":`+quote(truncate(text))+`}`)
	}
	return fault.Field(at, truncate(text), allowed, fault.Nearest(text, alert.Prices())...)
}

// readRange reads the ends of a range.
func readRange(at string, raw json.RawMessage, c *alert.Condition) error {
	if !c.Op.Ranged() {
		return fault.Field(at, quoteValue(raw), "one value for "+c.Op.String()+", or op enters or leaves, which take a range", "enters", "leaves")
	}
	allowed := "a range for " + c.Op.String() + ": [low,high], such as [30,70]"
	if raw[0] != '[' {
		return fault.Field(at, quoteValue(raw), allowed)
	}
	var ends []decimal.Decimal
	for each := range strictjson.Items(raw) {
		end, ok := wording.Exact(each)
		if !ok || len(ends) == 2 {
			return fault.Field(at, quoteValue(raw), allowed)
		}
		ends = append(ends, end)
	}
	if len(ends) != 2 || !ends[0].LessThan(ends[1]) {
		return fault.Field(at, quoteValue(raw), allowed+", with low below high")
	}
	c.Low, c.High = ends[0], ends[1]
	return nil
}

// readMembers reads the conditions of an all or any.
func (r *conditionReader) readMembers(at string, raw json.RawMessage, c *alert.Condition) error {
	allowed := "a list of 2 to " + strconv.Itoa(alert.MaxMembers) + ` conditions, such as [{"value":` + wording.ValueExample + `},{"new_high":` + wording.BarsExample + `}]`
	if r.member {
		return fault.Field(at, c.Type.String(), "one level of all or any: put its conditions into the outer list, or set two alerts")
	}
	if raw[0] != '[' {
		return fault.Field(at, quoteValue(raw), allowed)
	}
	r.member = true
	timed := true
	for each := range strictjson.Items(raw) {
		if len(c.Members) == alert.MaxMembers {
			return fault.Field(at, "more than "+strconv.Itoa(alert.MaxMembers)+" conditions", allowed)
		}
		r.timed = false
		member, err := r.read(at+"["+strconv.Itoa(len(c.Members))+"]", each)
		if err != nil {
			return err
		}
		c.Members = append(c.Members, member)
		timed = timed && r.timed
	}
	r.timed = timed
	if len(c.Members) < 2 {
		return fault.Field(at, quoteValue(raw), allowed)
	}
	return nil
}

// opArg is an operator. The error suggests one for other spellings.
func opArg(dst *alert.Op, allowed ...string) arg {
	names := strings.Join(allowed, ", ")
	return newArg("op", dst, names, nil, func(raw json.RawMessage) (alert.Op, error) {
		value, _ := strictjson.Text(raw)
		if op, ok := alert.ParseOp(strings.ToLower(strings.TrimSpace(value))); ok && slices.Contains(allowed, op.String()) {
			return op, nil
		}
		near := slices.DeleteFunc(wording.Ops(value), func(op string) bool { return !slices.Contains(allowed, op) })
		return 0, fault.Field("op", quoteValue(raw), names, near...)
	})
}

// rawArg is a value that is read later.
func rawArg(name string, dst *json.RawMessage) arg {
	return newArg(name, dst, "", nil, func(raw json.RawMessage) (json.RawMessage, error) { return raw, nil })
}
