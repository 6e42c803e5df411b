package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/lib/market"
	"candela/lib/ta"
)

// A condition in JSON is one object: its type and its fields, named as in the arguments of
// set_alert. Stores keep it and clients receive it.

// MarshalJSON writes the condition.
func (c Condition) MarshalJSON() ([]byte, error) { return c.appendJSON(nil), nil }

// appendJSON appends the condition with its type next to its values.
func (c *Condition) appendJSON(dst []byte) []byte { return append(c.appendOpen(dst), '}') }

// appendOpen is appendJSON without the closing brace.
func (c *Condition) appendOpen(dst []byte) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(append(dst, c.Type.String()...), '"')
	return c.appendInterval(c.appendFields(dst))
}

// appendInterval appends the interval of a member that has one of its own.
func (c *Condition) appendInterval(dst []byte) []byte {
	if c.Interval == 0 {
		return dst
	}
	return append(append(append(dst, `,"interval":"`...), c.Interval.String()...), '"')
}

// AppendFields appends the fields of the condition as an object without its type, as
// set_alert takes it below the name of the type. A price condition is a number there and
// a compound one a list.
func (c *Condition) AppendFields(dst []byte) []byte {
	switch c.Type {
	case PriceAbove, PriceBelow, PriceCrosses:
		return appendDecimal(dst, c.Threshold)
	case All, Any:
		dst = append(dst, '[')
		for i := range c.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			m := &c.Members[i]
			dst = strictjson.AppendString(append(dst, '{'), m.Type.String())
			dst = append(m.appendInterval(m.AppendFields(append(dst, ':'))), '}')
		}
		return append(dst, ']')
	default:
	}
	fields := c.appendFields(nil)
	return append(append(append(dst, '{'), fields[1:]...), '}') // without the first comma
}

// appendFields appends the fields of the condition, each after a comma.
func (c *Condition) appendFields(dst []byte) []byte {
	switch c.Type {
	case PriceAbove, PriceBelow, PriceCrosses:
		return appendDecimal(append(dst, `,"threshold":`...), c.Threshold)
	case IndicatorSignal:
		dst = appendSource(append(dst, `,"indicator":`...), c.Indicator, c.Params)
		return strictjson.AppendString(append(dst, `,"signal":`...), c.Signal)
	case Value:
		return c.appendValue(dst)
	case PercentChange:
		dst = fmt.Appendf(dst, `,"bars":%d,"op":"%s","value":`, c.Bars, c.Op)
		return appendDecimal(dst, c.Threshold)
	case NewHigh, NewLow:
		return fmt.Appendf(dst, `,"bars":%d`, c.Bars)
	case All, Any:
		dst = append(dst, `,"conditions":[`...)
		for i := range c.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c.Members[i].appendJSON(dst)
		}
		return append(dst, ']')
	}
	return dst
}

func (c *Condition) appendValue(dst []byte) []byte {
	dst = append(c.Left.appendFields(append(dst, ',')), fmt.Sprintf(`,"op":"%s","value":`, c.Op)...)
	switch {
	case c.Op.Ranged():
		dst = appendDecimal(append(dst, '['), c.Low)
		return append(appendDecimal(append(dst, ','), c.High), ']')
	case c.Right.Indicator != "":
		return append(c.Right.appendFields(append(dst, '{')), '}')
	case c.Right.Price != "":
		return strictjson.AppendString(dst, c.Right.Price)
	}
	return appendDecimal(dst, c.Right.Number)
}

// appendFields appends the fields of a line or a price.
func (o *Operand) appendFields(dst []byte) []byte {
	if o.Price != "" {
		return strictjson.AppendString(append(dst, `"price":`...), o.Price)
	}
	dst = appendSource(append(dst, `"indicator":`...), o.Indicator, o.Params)
	return strictjson.AppendString(append(dst, `,"line":`...), o.Line)
}

// appendSource appends an indicator: its name, or an object if it has parameters.
func appendSource(dst []byte, name, params string) []byte {
	if params == "" {
		return strictjson.AppendString(dst, name)
	}
	dst = strictjson.AppendString(append(dst, `{"name":`...), name)
	return append(append(dst, ','), params[1:]...) // its fields and closing brace
}

// conditionJSON has the fields of all types.
type conditionJSON struct {
	Type       string          `json:"type"`
	Threshold  json.Number     `json:"threshold"`
	Indicator  json.RawMessage `json:"indicator"`
	Signal     string          `json:"signal"`
	Price      string          `json:"price"`
	Line       string          `json:"line"`
	Op         string          `json:"op"`
	Value      json.RawMessage `json:"value"`
	Bars       int             `json:"bars"`
	Interval   market.Interval `json:"interval"`
	Conditions []Condition     `json:"conditions"`
}

// UnmarshalJSON reads what MarshalJSON wrote. It does not check what Normalize checks.
func (c *Condition) UnmarshalJSON(data []byte) error {
	var w conditionJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	kind, known := ParseType(w.Type)
	if !known {
		return fmt.Errorf("unknown type of condition %q", w.Type)
	}
	*c = Condition{Type: kind, Signal: w.Signal, Bars: w.Bars, Members: w.Conditions, Interval: w.Interval}
	c.Op, _ = ParseOp(w.Op)
	var err error
	switch kind {
	case PriceAbove, PriceBelow, PriceCrosses:
		c.Threshold, err = decimal.NewFromString(w.Threshold.String())
	case PercentChange:
		c.Threshold, err = decimal.NewFromString(string(w.Value))
	case IndicatorSignal:
		c.Indicator, c.Params, err = parseSource(w.Indicator)
	case Value:
		err = c.parseValue(&w)
	default:
	}
	return err
}

func (c *Condition) parseValue(w *conditionJSON) (err error) {
	c.Left = Operand{Price: w.Price, Line: w.Line}
	if w.Price == "" {
		if c.Left.Indicator, c.Left.Params, err = parseSource(w.Indicator); err != nil {
			return err
		}
	}
	text := bytes.TrimSpace(w.Value)
	switch {
	case len(text) == 0:
		return errors.New("a value condition has no value")
	case c.Op.Ranged():
		var ends [2]decimal.Decimal
		err = json.Unmarshal(text, &ends)
		c.Low, c.High = ends[0], ends[1]
		return err
	case text[0] == '"':
		return json.Unmarshal(text, &c.Right.Price)
	case text[0] == '{':
		var o conditionJSON
		if err := json.Unmarshal(text, &o); err != nil {
			return err
		}
		c.Right.Line = o.Line
		c.Right.Indicator, c.Right.Params, err = parseSource(o.Indicator)
		return err
	}
	c.Right.Number, err = decimal.NewFromString(string(text))
	return err
}

// parseSource reads an indicator: a name, or an object with its name and parameters.
func parseSource(raw json.RawMessage) (name, params string, err error) {
	if text := bytes.TrimSpace(raw); len(text) > 0 && text[0] == '"' {
		err = json.Unmarshal(text, &name)
		return name, "", err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return "", "", err
	}
	if err := json.Unmarshal(given["name"], &name); err != nil {
		return "", "", fmt.Errorf("an indicator has no name: %w", err)
	}
	delete(given, "name")
	params, err = FormatParams(given)
	return name, params, err
}

// Key is equal for conditions that are true at the same bars, however a client wrote them.
// The condition must be normalized.
func (c *Condition) Key() string {
	return c.key(func(name, params string) (selected, error) { return selectSource(ta.Library{}, name, params) })
}

// resolver resolves an indicator by its name and parameters.
type resolver func(name, params string) (selected, error)

func (c *Condition) key(resolve resolver) string {
	switch c.Type {
	case IndicatorSignal:
		return resolve.key(c.Indicator, c.Params) + "!" + c.Signal
	case Value:
		right := c.Right.key(resolve)
		if c.Op.Ranged() {
			right = number(c.Low) + ".." + number(c.High)
		}
		return c.Left.key(resolve) + " " + c.Op.String() + " " + right
	case PercentChange:
		return fmt.Sprintf("roc(period=%d).ROC %s %s", c.Bars, c.Op, number(c.Threshold))
	case NewHigh, NewLow:
		return fmt.Sprintf("%s(%d)", c.Type, c.Bars)
	case All, Any:
		keys := make(map[string]bool, len(c.Members))
		for i := range c.Members {
			keys[c.Members[i].key(resolve)+c.Members[i].on()] = true
		}
		return c.Type.String() + "(" + strings.Join(slices.Sorted(maps.Keys(keys)), ", ") + ")"
	default:
	}
	return c.Type.String() + " " + number(c.Threshold)
}

func (o *Operand) key(resolve resolver) string {
	switch {
	case o.Indicator != "":
		return resolve.key(o.Indicator, o.Params) + "." + o.Line
	case o.Price != "":
		return o.Price
	}
	return number(o.Number)
}

func (resolve resolver) key(name, params string) string {
	found, err := resolve(name, params)
	if err != nil {
		return name + params
	}
	return found.key
}

// number writes a number exactly; equal numbers are equal texts.
func number(d decimal.Decimal) string {
	text := string(appendDecimal(nil, d))
	if strings.ContainsAny(text, "e") || !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
