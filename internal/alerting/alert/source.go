package alert

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// selected is an indicator of the catalogue with the key of its selection and what a
// condition can compare.
type selected struct {
	key       string
	selection *ta.Selection
	outputs   []ta.Output
}

// selectSource resolves an indicator as alerts use it: with the given parameters, and with
// all other switches on, so that every signal can occur.
func selectSource(l ta.Library, name, params string) (selected, error) {
	given, err := parseParams(params)
	if err != nil {
		return selected{}, err
	}
	s, err := l.ResolveAlertRequest(ta.Request{Name: name, Params: given})
	if err != nil {
		return selected{}, err
	}
	return selected{s.Key(), s, s.Outputs()}, nil
}

// parseParams reads the parameters of an indicator.
func parseParams(params string) (map[string]json.RawMessage, error) {
	if params == "" {
		return nil, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(params), &given); err != nil {
		return nil, fault.Field("params", params, "a JSON object of parameters")
	}
	return given, nil
}

// FormatParams writes the parameters of an indicator as a Condition holds them: sorted and
// without spaces, "" for none.
func FormatParams(given map[string]json.RawMessage) (string, error) {
	if len(given) == 0 {
		return "", nil
	}
	text, err := json.Marshal(given) // sorts the keys and removes the spaces
	return string(text), err
}

// source is an indicator that a condition names.
type source struct {
	library      ta.Library
	name, params *string
	field        string
}

// normalize resolves the indicator, replaces its name and parameters by their shortest
// form and returns its interval, 0 if it names none.
func (s source) normalize() (selected, market.Interval, error) {
	given, err := parseParams(*s.params)
	if err != nil {
		return selected{}, 0, err
	}
	interval, err := s.takeInterval(given)
	if err != nil {
		return selected{}, 0, err
	}
	if text, other := given["symbol"]; other {
		return selected{}, 0, fault.Field(s.field+".symbol", string(text), "no other symbol: an alert uses the bars of its own symbol")
	}
	if *s.params, err = FormatParams(given); err != nil {
		return selected{}, 0, fault.Field(s.field, *s.params, "a JSON object of parameters")
	}
	found, err := selectSource(s.library, *s.name, *s.params)
	if err != nil {
		return selected{}, 0, err
	}
	if err := s.checkBars(found.selection); err != nil {
		return selected{}, 0, err
	}
	*s.name = strings.ToLower(strings.TrimSpace(*s.name))
	if d := found.selection.Def; d.Version != "" {
		if d.Name == ta.InlineName {
			return selected{}, 0, fault.Field(s.field, d.Name, "a stored script: save it with save_script, which needs --toolsets scripts, then use its name; where many owners share the server its operator stores it, and replicas store none")
		}
		*s.name = d.Pinned()
	} else if own := found.selection.Def.Name; own != *s.name {
		if same, err := selectSource(s.library, own, *s.params); err == nil && same.key == found.key {
			*s.name = own
		}
	}
	if *s.params != "" {
		if plain, err := selectSource(s.library, *s.name, ""); err == nil && plain.key == found.key {
			*s.params = ""
		}
	}
	return found, interval, nil
}

// takeInterval removes the interval from the parameters.
func (s source) takeInterval(given map[string]json.RawMessage) (market.Interval, error) {
	raw, there := given["interval"]
	if !there {
		return 0, nil
	}
	delete(given, "interval")
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return 0, fault.Field(s.field+".interval", string(raw), market.AllowedIntervals())
	}
	return market.ParseInterval(text)
}

// checkBars rejects an indicator that needs more than the bars of the alert's symbol,
// because an engine has no other, and one that computes all bars at once.
func (s source) checkBars(found *ta.Selection) error {
	whole, ok := found.Instance.(ta.Needs)
	if found.Def.Kind == ta.External || ok && len(whole.Needs()) > 0 {
		return fault.Field(s.field, found.Def.Name, "an indicator computed from the bars of the symbol; an alert has no "+found.Def.Name+" data")
	}
	if ok {
		return fault.Field(s.field, found.Def.Name, "an indicator whose values stay; those of "+found.Def.Name+" change with the bars that come later or are shown")
	}
	if len(found.Wants(0)) > 0 {
		return fault.Field(s.field, found.Def.Name, "an indicator computed from the bars of the symbol alone; "+found.Def.Name+" reads other bars, which an alert does not have")
	}
	return nil
}

// column returns the column of a line. An empty label selects the only line.
func column(found selected, field string, label *string) (int, error) {
	s, outputs := found.selection, found.outputs
	for _, o := range outputs {
		if o.Label == *label {
			return o.Column, nil
		}
	}
	lines := make([]string, len(outputs))
	for i, o := range outputs {
		lines[i] = o.Label
	}
	if *label == "" && len(lines) == 1 {
		*label = lines[0]
		return outputs[0].Column, nil
	}
	if len(lines) == 0 {
		return 0, fault.Field(field, s.Def.Name, "an indicator with lines; "+s.Def.Name+" has none to compare")
	}
	if *label == "" {
		return 0, fault.Missing(field, "one of the lines of "+s.Def.Name+": "+strings.Join(lines, ", "))
	}
	i := slices.IndexFunc(lines, func(l string) bool { return strings.EqualFold(l, strings.TrimSpace(*label)) })
	if i < 0 {
		return 0, fault.Field(field, *label, "a line of "+s.Def.Name+": "+strings.Join(lines, ", "), fault.Nearest(*label, lines)...)
	}
	*label = lines[i]
	return outputs[i].Column, nil
}

// Scripts returns the names of the scripts in the condition, with their versions.
func (c *Condition) Scripts() []string {
	var names []string
	for _, name := range []string{c.Indicator, c.Left.Indicator, c.Right.Indicator} {
		if strings.Contains(name, "@") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range c.Members {
		names = append(names, c.Members[i].Scripts()...)
	}
	return names
}

// Pin keeps the scripts of a normalized condition for as long as an alert may use them.
func (c *Condition) Pin(l ta.Library) error {
	for _, name := range c.Scripts() {
		d, err := l.Find(name)
		if err != nil {
			return err
		}
		if err := l.Scripts.Pin(d); err != nil {
			return err
		}
	}
	return nil
}
