package ta

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/lib/fault"
	"candela/lib/market"
)

// ParamKind is the type of a parameter as clients see it.
type ParamKind uint8

// The parameter kinds.
const (
	IntParam ParamKind = iota
	NumParam
	TextParam
	BoolParam
	ColorParam
	ListParam // some of its Enum, as a text with commas
	SymbolParam
	FreeParam // any text of at most Max bytes
)

// String returns the kind's name in the catalogue, which is JSON Schema's.
func (k ParamKind) String() string {
	return [...]string{"integer", "number", "string", "boolean", "string", "string", "string", "string"}[k]
}

// Param describes one setting of an indicator.
type Param struct {
	Name     string
	Aliases  []string
	Kind     ParamKind
	Default  any // int, float64, string or bool; nil means unset
	Min, Max float64
	Enum     []string
	Numbers  []float64 // the only numbers that are allowed, if there are any
	Alpha    bool      // a colour may have an opacity: #rrggbbaa
	Times    bool      // a text may also be a date or a time
	Doc      string

	// Spell returns the value of the Enum that another spelling means; it may be nil.
	Spell func(string) (string, bool)
	fed   bool // the line of an indicator may take the place of the price
}

// Int describes a whole-number parameter from lo to hi.
func Int(name string, def, lo, hi int, doc string) Param {
	return Param{Name: name, Kind: IntParam, Default: def, Min: float64(lo), Max: float64(hi), Doc: doc}
}

// OptionalInt describes a whole-number parameter that may stay unset.
func OptionalInt(name string, lo, hi int, doc string) Param {
	return Param{Name: name, Kind: IntParam, Min: float64(lo), Max: float64(hi), Doc: doc}
}

// Num describes a number parameter from lo to hi.
func Num(name string, def, lo, hi float64, doc string) Param {
	return Param{Name: name, Kind: NumParam, Default: def, Min: lo, Max: hi, Doc: doc}
}

// Choice describes a parameter with a fixed set of values.
func Choice(name, def string, values []string, doc string) Param {
	return Param{Name: name, Kind: TextParam, Default: def, Enum: values, Doc: doc}
}

// List describes a parameter that takes one or several of a fixed set of values: a text
// with commas between them, or a list. Spell, if not nil, understands other spellings.
func List(name, def string, values []string, spell func(string) (string, bool), doc string) Param {
	return Param{Name: name, Kind: ListParam, Default: def, Enum: values, Doc: doc, Spell: spell}
}

// orTime lets a choice also be a date or a time.
func (p Param) orTime() Param {
	p.Times = true
	return p
}

// Bool describes a switch.
func Bool(name string, def bool, doc string) Param {
	return Param{Name: name, Kind: BoolParam, Default: def, Doc: doc}
}

// Color describes a colour written #rrggbb.
func Color(name, def, doc string) Param {
	return Param{Name: name, Kind: ColorParam, Default: def, Doc: doc}
}

// As adds other spellings of the parameter's name.
func (p Param) As(aliases ...string) Param {
	p.Aliases = aliases
	return p
}

// allowed says in words what the parameter accepts.
func (p Param) allowed() string {
	if len(p.Numbers) > 0 {
		return "one of " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(p.Numbers)), ", "), "[]")
	}
	switch p.Kind {
	case FreeParam:
		return fmt.Sprintf("a text of at most %d bytes", int(p.Max))
	case IntParam:
		return fmt.Sprintf("a whole number from %d to %d", int(p.Min), int(p.Max))
	case NumParam:
		return fmt.Sprintf("a number from %s to %s", number(p.Min), number(p.Max))
	case BoolParam:
		return "true or false"
	case TextParam:
		if p.Times {
			return strings.Join(p.Enum, ", ") + ", or a time such as 2026-03-01 or 2026-03-01T14:30:00Z"
		}
		if p.fed {
			return strings.Join(p.Enum, ", ") + `, or an indicator's line such as "rsi" or {"name":"rsi","length":14,"line":"RSI"}`
		}
		return strings.Join(p.Enum, ", ")
	case ListParam:
		const most = 12
		if more := len(p.Enum) - most; more > 0 {
			return fmt.Sprintf("one or several of %s and %d more, which list_indicators has", strings.Join(p.Enum[:most], ", "), more)
		}
		return "one or several of " + strings.Join(p.Enum, ", ")
	case ColorParam:
		if p.Alpha {
			return "a colour such as #26a69a, or #26a69a80 with its opacity"
		}
		return "a colour such as #26a69a"
	case SymbolParam:
		return "a symbol such as ETHUSDT"
	}
	return ""
}

// parse reads a JSON value strictly: a number in quotes, a fraction for a whole
// number or a null for a parameter with a default is an error.
func (p Param) parse(raw json.RawMessage) (any, error) {
	text := strings.TrimSpace(string(raw))
	wrong := func() error { return p.refuse(text) }
	if text == "null" {
		if p.Default == nil {
			return nil, nil
		}
		return nil, wrong()
	}
	switch p.Kind {
	case IntParam, NumParam:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || x < p.Min || x > p.Max || len(p.Numbers) > 0 && !slices.Contains(p.Numbers, x) {
			return nil, wrong()
		}
		if p.Kind == NumParam {
			return x, nil
		}
		if x != math.Trunc(x) {
			return nil, wrong()
		}
		return int(x), nil
	case BoolParam:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			return nil, wrong()
		}
		return b, nil
	case ListParam:
		return p.parseList(raw)
	case TextParam, ColorParam, SymbolParam, FreeParam:
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil, wrong()
		}
		if p.Kind == FreeParam {
			if len(s) > int(p.Max) {
				return nil, wrong()
			}
			return fault.Visible(s), nil
		}
		if p.Kind == SymbolParam {
			if symbol, err := market.ParseSymbol(s); err == nil {
				return symbol.String(), nil
			}
			return nil, wrong()
		}
		if p.Kind == ColorParam && (isColor(s) || p.Alpha && len(s) == 9 && isColor(s[:7]) && isColor("#0000"+s[7:])) {
			return strings.ToLower(s), nil
		}
		if i := p.choice(s); i >= 0 {
			return p.Enum[i], nil
		}
		if t, ok := parseTime(s); ok && p.Times {
			return t.UTC().Format(time.RFC3339), nil
		}
	}
	return nil, wrong()
}

// on is the value of a switch that enables all it can.
func (p Param) on() json.RawMessage {
	if p.Kind == ListParam {
		return json.RawMessage(`"all"`)
	}
	return json.RawMessage("true")
}

// choice returns the index of a value in the Enum, -1 if it is not there.
func (p Param) choice(s string) int {
	if i := slices.IndexFunc(p.Enum, func(e string) bool { return strings.EqualFold(e, s) }); i >= 0 || p.Spell == nil {
		return i
	}
	if meant, ok := p.Spell(s); ok {
		return slices.Index(p.Enum, meant)
	}
	return -1
}

// parseList reads a text with commas or a list of texts, and returns the values in the
// order of the Enum, once each, with commas between them.
func (p Param) parseList(raw json.RawMessage) (any, error) {
	var items []string
	var text string
	if json.Unmarshal(raw, &text) == nil {
		items = strings.Split(text, ",")
	} else if json.Unmarshal(raw, &items) != nil || len(items) == 0 {
		return nil, p.refuse(string(raw))
	}
	chosen := make([]bool, len(p.Enum))
	for _, item := range items {
		i := p.choice(strings.TrimSpace(item))
		if i < 0 {
			return nil, fault.Field(p.Name, item, p.allowed(), fault.Nearest(item, p.Enum)...)
		}
		chosen[i] = true
	}
	var values []string
	for i, is := range chosen {
		if is {
			values = append(values, p.Enum[i])
		}
	}
	return strings.Join(values, ","), nil
}

// parseTime reads a date, which begins at midnight UTC, or a time with its zone.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil && t.Unix() > 0 {
			return t, true
		}
	}
	return time.Time{}, false
}

func isColor(s string) bool {
	if len(s) != 7 || s[0] != '#' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 16, 32)
	return err == nil
}

// refuse reports a JSON value that the parameter does not accept.
func (p Param) refuse(text string) error {
	plain := strings.Trim(text, `"`)
	if p.Kind == TextParam || p.Kind == ColorParam || p.Kind == ListParam || p.Kind == SymbolParam || p.Kind == FreeParam || plain == text {
		return fault.Field(p.Name, plain, p.allowed(), fault.Nearest(plain, p.Enum)...)
	}
	if _, err := p.parse(json.RawMessage(plain)); err != nil || !json.Valid([]byte(plain)) {
		return fault.Quoted(p.Name, plain, p.allowed())
	}
	return fault.Quoted(p.Name, plain, p.allowed(), plain)
}

// Values are the parameters of one instance, checked and complete. The zero
// value belongs to an indicator without parameters.
type Values struct {
	params []Param
	values []any
}

// index panics on a name that the definition does not list, a bug in an indicator's own
// file.
func (v Values) index(name string) int {
	i := slices.IndexFunc(v.params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		panic("indicator: no parameter " + name)
	}
	return i
}

// has reports whether the definition lists a parameter.
func (v Values) has(name string) bool {
	return slices.ContainsFunc(v.params, func(p Param) bool { return p.Name == name })
}

func (v Values) get(name string) any { return v.values[v.index(name)] }

// isSet reports whether a parameter differs from its default.
func (v Values) isSet(name string) bool {
	i := v.index(name)
	return v.values[i] != v.params[i].Default
}

// setText returns a text parameter that differs from its default, else "".
func (v Values) setText(name string) string {
	if v.isSet(name) {
		return v.Text(name)
	}
	return ""
}

// Int returns a whole-number parameter.
func (v Values) Int(name string) int { return v.get(name).(int) } //nolint:forcetypeassert,errcheck // Resolve stored an int

// OptionalInt returns a whole-number parameter and whether it was set.
func (v Values) OptionalInt(name string) (int, bool) {
	n, ok := v.get(name).(int)
	return n, ok
}

// Num returns a number parameter.
func (v Values) Num(name string) float64 { return v.get(name).(float64) } //nolint:forcetypeassert,errcheck // Resolve stored a float64

// symbol returns a symbol.
func (v Values) symbol(name string) market.Symbol {
	symbol, err := market.ParseSymbol(v.Text(name))
	if err != nil {
		panic("indicator: " + name + " was stored unchecked")
	}
	return symbol
}

// Text returns a choice.
func (v Values) Text(name string) string { return v.get(name).(string) } //nolint:forcetypeassert,errcheck // Resolve stored a string

// Bool returns a switch.
func (v Values) Bool(name string) bool { return v.get(name).(bool) } //nolint:forcetypeassert,errcheck // Resolve stored a bool

// String writes the values in order of definition: "length=14,overbought=70".
// Equal instances have equal strings, so it serves as a key.
func (v Values) String() string {
	all := make([]string, len(v.params))
	for i, p := range v.params {
		switch x := v.values[i].(type) {
		case nil:
			all[i] = p.Name + "=unset"
		case float64:
			all[i] = p.Name + "=" + number(x)
		default:
			all[i] = fmt.Sprint(p.Name, "=", x)
		}
	}
	return strings.Join(all, ",")
}

// number writes a float the shortest way that reads back the same.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// lengthParam describes the number of bars of an indicator with one length.
func lengthParam(def int, doc string) Param {
	return Int("length", def, 1, 5000, doc).As("period")
}

// Sources returns the prices that a source parameter takes.
func Sources() []string { return sources() }

// sources are the prices an indicator can be computed from.
func sources() []string {
	return []string{"close", "open", "high", "low", "hl2", "hlc3", "ohlc4", "hlcc4"}
}

// source describes the parameter that chooses one of them, or another indicator's line,
// for indicators that read no other price.
func source(def string) Param {
	p := priceSource(def)
	p.fed = true
	return p
}

// priceSource is source for indicators that also read other prices of a bar, so that the
// line of an indicator cannot take the place of one.
func priceSource(def string) Param {
	return Choice("source", def, sources(), "price the indicator is computed from").As("src")
}

// sourced adds the source to a label if it is not the default: RSI(14, hl2).
func sourced(v Values, label string) string {
	from := v.setText("source")
	if from == "" {
		return label
	}
	return strings.TrimSuffix(label, ")") + ", " + from + ")"
}

// sourceOf returns the price of a bar by its name in sources.
func sourceOf(name string) func(market.Bar) float64 {
	switch name {
	case "open":
		return func(b market.Bar) float64 { return b.O }
	case "high":
		return func(b market.Bar) float64 { return b.H }
	case "low":
		return func(b market.Bar) float64 { return b.L }
	case "hl2":
		return func(b market.Bar) float64 { return (b.H + b.L) / 2 }
	case "hlc3":
		return hlc3
	case "ohlc4":
		return func(b market.Bar) float64 { return (b.O + b.H + b.L + b.C) / 4 }
	case "hlcc4":
		return func(b market.Bar) float64 { return (b.H + b.L + b.C + b.C) / 4 }
	}
	return func(b market.Bar) float64 { return b.C }
}

// hlc3 is the typical price.
func hlc3(b market.Bar) float64 { return (b.H + b.L + b.C) / 3 }

// prices returns the column of a price by its name in sources.
func (in *Input) prices(name string) []float64 {
	b := in.Bars
	switch name {
	case "close":
		return b.C
	case "open":
		return b.O
	case "high":
		return b.H
	case "low":
		return b.L
	}
	price, column := sourceOf(name), in.Memory.take(b.Len())
	for i := range column {
		column[i] = price(market.Bar{O: b.O[i], H: b.H[i], L: b.L[i], C: b.C[i]})
	}
	return column
}
