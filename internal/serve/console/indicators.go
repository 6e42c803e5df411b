package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"candela/lib/ta"
)

// chartChoice is an indicator that can be drawn.
type chartChoice struct {
	Name, Label, Doc string
	Chosen           bool
	Settings         []chartSetting // of one that is drawn
}

// choiceGroup is the indicators of a group.
type choiceGroup struct {
	Name    string
	Choices []chartChoice
}

// chartSetting is a number of an indicator, with its bounds.
type chartSetting struct {
	Field, Label, Value, Least, Most, Step string
}

// splitIndicators splits a list of indicators at the commas outside of parentheses.
func splitIndicators(list string) (names []string) {
	depth, from := 0, 0
	add := func(to int) {
		if name := strings.TrimSpace(list[from:to]); name != "" {
			names = append(names, name)
		}
		from = to + 1
	}
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth <= 0:
			add(i)
		}
	}
	if from < len(list) {
		add(len(list))
	}
	return names
}

// settingsOf returns the parameters of an indicator that numbers after its name set, in order.
func settingsOf(d *ta.Def) []ta.Param {
	named := func(name string) (ta.Param, bool) {
		i := slices.IndexFunc(d.Params, func(p ta.Param) bool { return p.Name == name })
		if i < 0 {
			return ta.Param{}, false
		}
		return d.Params[i], d.Params[i].Kind == ta.IntParam || d.Params[i].Kind == ta.NumParam
	}
	var all []ta.Param
	for _, name := range d.Order {
		p, ok := named(name)
		if !ok || p.Default == nil {
			return all // what follows could not be written without it
		}
		all = append(all, p)
	}
	for _, name := range []string{"length", "period"} {
		if p, ok := named(name); ok && p.Kind == ta.IntParam && p.Default != nil && d.Order == nil && len(all) == 0 {
			all = append(all, p)
		}
	}
	return all
}

// settings returns the numbers of an indicator as it is drawn, none where its name has other values.
func settings(name string) []chartSetting {
	base, rest, _ := strings.Cut(name, "(")
	d, err := ta.Find(base)
	if err != nil {
		return nil
	}
	given := splitIndicators(strings.TrimSuffix(rest, ")"))
	params := settingsOf(d)
	if len(given) > len(params) {
		return nil
	}
	var all []chartSetting
	for i, p := range params {
		s := chartSetting{
			Field: "set." + name + "." + strconv.Itoa(i), Label: strings.ReplaceAll(p.Name, "_", " "), Step: "1",
			Least: strconv.FormatFloat(p.Min, 'f', -1, 64), Most: strconv.FormatFloat(p.Max, 'f', -1, 64), Value: numberText(p.Default),
		}
		if p.Kind == ta.NumParam {
			s.Step = "any"
		}
		if i < len(given) {
			if _, err := strconv.ParseFloat(given[i], 64); err != nil {
				return nil
			}
			s.Value = given[i]
		}
		all = append(all, s)
	}
	return all
}

func numberText(v any) string {
	switch v := v.(type) {
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// withSettings returns the name of an indicator with the numbers that a form has for it, and without them where they are
// the usual ones.
func withSettings(name string, q url.Values) string {
	all := settings(name)
	base, _, _ := strings.Cut(name, "(")
	usual := settings(base)
	values, other := make([]string, len(all)), false
	for i, s := range all {
		values[i] = strings.TrimSpace(q.Get(s.Field))
		if values[i] == "" {
			values[i] = s.Value
		}
		other = other || i < len(usual) && values[i] != usual[i].Value
	}
	if !other {
		if len(all) > 0 {
			return base
		}
		return name
	}
	return base + "(" + strings.Join(values, ",") + ")"
}

// addChoices lists the indicators: those that are drawn, with their settings, then the others by group and name.
func (d *chartData) addChoices() {
	drawn := make(map[string]bool)
	for _, name := range splitIndicators(d.Indicators) {
		one := chartChoice{Name: name, Label: strings.ReplaceAll(name, "_", " "), Chosen: true, Settings: settings(name)}
		base, _, _ := strings.Cut(name, "(")
		if def, err := ta.Find(base); err == nil {
			one.Doc, drawn[def.Name] = firstSentence(def.Doc), true
		}
		d.Choices = append(d.Choices, one)
	}
	d.Chosen = len(d.Choices)
	all := ta.All()
	for _, group := range ta.Groups() {
		g := choiceGroup{Name: upperFirst(string(group))}
		for i := range all {
			if def := &all[i]; def.Group == group && !drawn[def.Name] {
				g.Choices = append(g.Choices, chartChoice{Name: def.Name, Label: strings.ReplaceAll(def.Name, "_", " "), Doc: firstSentence(def.Doc)})
			}
		}
		slices.SortFunc(g.Choices, func(a, b chartChoice) int { return strings.Compare(a.Name, b.Name) })
		d.Groups = append(d.Groups, g)
	}
}

// firstSentence is the beginning of a description, up to a semicolon or a point.
func firstSentence(doc string) string {
	if i := strings.IndexAny(doc, ";."); i > 0 {
		return doc[:i]
	}
	return doc
}
