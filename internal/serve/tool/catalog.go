package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/work/charting"
	"candela/lib/fault"
	"candela/lib/ta"
)

// catalogItem is one indicator in list_indicators.
type catalogItem struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Type        string         `json:"type"`
	Overlay     bool           `json:"overlay,omitempty"`
	Group       ta.Group       `json:"group,omitempty"`
	Family      string         `json:"family,omitempty"`
	Like        string         `json:"like,omitempty"` // an indicator with the same parameters and signals, which are left out
	Aliases     []string       `json:"aliases,omitempty"`
	Members     []string       `json:"members,omitempty"`
	Params      []catalogParam `json:"configurable_params,omitempty"`
	Signals     []string       `json:"signals,omitempty"`
	Meanings    signalMeanings `json:"signal_descriptions,omitempty"`
}

// signalMeanings describes each signal; it marshals to an object in label order.
type signalMeanings []ta.Trigger

// MarshalJSON returns {label: sentence}.
func (m signalMeanings) MarshalJSON() ([]byte, error) {
	dst := []byte{'{'}
	for i, t := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendString(dst, t.Label), ':')
		dst = strictjson.AppendString(dst, t.Sentence())
	}
	return append(dst, '}'), nil
}

type catalogParam struct {
	Name        string   `json:"name"`
	Type        string   `json:"type,omitempty"`
	Default     any      `json:"default,omitempty"`
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Description string   `json:"description,omitempty"`
}

// catalogQuery selects a part of the catalogue, and how much to say about it.
type catalogQuery struct {
	brief bool
	group string
	name  *ta.Def
}

func (c *charts) catalogArgs() (*catalogQuery, args) {
	q := &catalogQuery{}
	groups := make([]string, 0, len(ta.Groups()))
	for _, g := range ta.Groups() {
		groups = append(groups, string(g))
	}
	return q, args{
		boolArg("brief", &q.brief, "Names, and bytes of groups."),
		enumArg("group", &q.group, "In full.", groups...),
		catalogNameArg(c.library, &q.name),
	}
}

// catalogNameArg is the name or an alias of an indicator.
func catalogNameArg(l ta.Library, dst **ta.Def) arg {
	const allowed = "a name or alias, such as rsi"
	s := &schema{Type: "string", Description: "In full."}
	return newArg("name", dst, allowed, s, func(raw json.RawMessage) (*ta.Def, error) {
		value, ok := strictjson.Text(raw)
		if !ok {
			return nil, fault.Field("name", quoteValue(raw), allowed)
		}
		d, err := l.FindSpelled(truncate(value))
		return d, charting.NoIndicator(err, "name")
	})
}

// groupSizes returns the bytes of each group in full.
func groupSizes() map[ta.Group]int {
	sizes := map[ta.Group]int{}
	for _, g := range ta.Groups() {
		if data, err := strictjson.Marshal((&catalogQuery{group: string(g)}).answer(nil, nil, false)); err == nil {
			sizes[g] = len(data)
		}
	}
	return sizes
}

// listIndicators marshals the whole catalogue once, when it is first asked for, and each group for the sizes of
// the brief answer.
func (c *charts) listIndicators() toolSpec {
	whole := sync.OnceValues(func() (mcp.Result, error) {
		return jsonResult((&catalogQuery{}).answer(nil, nil, false), nil)
	})
	sizes := sync.OnceValue(groupSizes)
	return toolSpec{
		name: "list_indicators", title: "List indicators", scope: principal.Charts,
		description: "List indicators with aliases, parameters, defaults and signals. " +
			"brief first (3 KB), then group or name, with bounds and descriptions. All: 36 KB.",
		output: catalogSchema(), hints: hints{readOnly: true, idempotent: true},
		call: calling(c.catalogArgs, func(_ context.Context, _ principal.Caller, q *catalogQuery) (mcp.Result, error) {
			stored := c.library.Stored()
			if *q == (catalogQuery{}) && len(stored) == 0 {
				return whole()
			}
			var bytes map[ta.Group]int
			if q.brief {
				bytes = sizes()
			}
			return jsonResult(q.answer(stored, bytes, c.library.Scripts != nil), nil)
		}),
	}
}

// answer is the part of the catalogue that q selects, and the stored scripts after it. sizes has the bytes of
// each group in full; pine says that scripts of requests are computed.
func (q *catalogQuery) answer(stored []*ta.Def, sizes map[ta.Group]int, pine bool) any {
	type groupNames struct {
		Group   ta.Group            `json:"group"`
		Names   []string            `json:"names"`
		Members map[string][]string `json:"members,omitempty"`
		Bytes   int                 `json:"bytes"` // of the group in full
	}
	var a struct {
		Total      int           `json:"total"`
		Sources    []string      `json:"sources,omitempty"`
		Groups     []groupNames  `json:"groups,omitempty"`
		Indicators []catalogItem `json:"indicators,omitempty"`
		Scripts    []catalogItem `json:"scripts,omitempty"`
		Pine       string        `json:"pine,omitempty"`
	}
	if q.name != nil {
		a.Total, a.Indicators = 1, []catalogItem{fullItem(q.name)}
		return a
	}
	if q.brief && pine {
		a.Pine = pineLine
	}
	if *q == (catalogQuery{}) {
		a.Sources = append(ta.Sources(), "an indicator's line such as rsi.RSI")
	}
	for i := range ta.All() {
		d := &ta.All()[i]
		if q.group != "" && q.group != string(d.Group) {
			continue
		}
		a.Total++
		switch {
		case q.brief:
			i := slices.IndexFunc(a.Groups, func(g groupNames) bool { return g.Group == d.Group })
			if i < 0 {
				i, a.Groups = len(a.Groups), append(a.Groups, groupNames{Group: d.Group})
			}
			a.Groups[i].Names = append(a.Groups[i].Names, d.Name)
			a.Groups[i].Bytes = sizes[d.Group]
			if members := memberNames(d); members != nil {
				if a.Groups[i].Members == nil {
					a.Groups[i].Members = map[string][]string{}
				}
				a.Groups[i].Members[d.Name] = members
			}
		case q.group != "":
			a.Indicators = append(a.Indicators, fullItem(d))
		default:
			a.Indicators = append(a.Indicators, shortItem(d))
		}
	}
	for _, d := range stored {
		switch {
		case q.brief:
			a.Scripts = append(a.Scripts, catalogItem{Name: d.Name, Description: d.Summary(), Type: d.Kind.String()})
		case q.group == "":
			a.Scripts = append(a.Scripts, shortItem(d))
		}
	}
	return a
}

// pineLine says how a request brings a script.
const pineLine = `{"name":"pine","source":"//@version=6 ..."} in indicators computes a Pine script, with its inputs beside source`

// shortItem is an indicator in the whole catalogue: enough to ask for it.
func shortItem(d *ta.Def) catalogItem {
	item := plainItem(d)
	if d.Like != "" {
		item.Like, item.Params, item.Signals = d.Like, nil, nil
	}
	if d.Like != "" || len(item.Description) > longSummary {
		item.Description, _, _ = strings.Cut(item.Description, ": ") // its name; in full it says the rest
	}
	return item
}

// longSummary is a description of which the whole catalogue has the beginning.
const longSummary = 46

// plainItem is an indicator with its own parameters and signals.
func plainItem(d *ta.Def) catalogItem {
	item := catalogItem{
		Name: d.Name, Description: d.Summary(), Type: d.Kind.String(), Overlay: d.Kind == ta.Overlay,
		Aliases: d.OtherNames(), Signals: d.Labels(),
	}
	item.Members = memberNames(d)
	if item.Members != nil && namedBySignals(d) {
		item.Signals = nil // the description says how the members name them
	}
	if family := d.Family(); family != d {
		item.Family = family.Name
	}
	for _, p := range d.Params {
		param := catalogParam{Name: p.Name, Default: p.Default}
		switch {
		case p.Name == "source" && p.Default == "close": // its values are listed once, this one first
			param.Default = nil
		case p.Default == nil: // any other default shows the type
			param.Type = p.Kind.String()
		}
		item.Params = append(item.Params, param)
	}
	return item
}

// memberNames returns the names of a family's members.
func memberNames(d *ta.Def) []string {
	if len(d.Members) == 0 {
		return nil
	}
	names := make([]string, len(d.Members))
	for i := range d.Members {
		names[i] = d.Members[i].Name
	}
	return names
}

// namedBySignals reports whether the signals of a family name its members, as those of
// candle patterns do.
func namedBySignals(d *ta.Def) bool {
	return !slices.ContainsFunc(d.Members, func(m ta.Member) bool {
		return len(m.Signals) == 0 || !strings.HasPrefix(m.Signals[0], m.Name)
	})
}

// fullItem is an indicator with everything a client may know about it.
func fullItem(d *ta.Def) catalogItem {
	item := plainItem(d)
	item.Description, item.Group, item.Aliases = d.Doc, d.Group, d.Aliases
	item.Signals, item.Meanings = d.Labels(), d.Signals
	for i, p := range d.Params {
		full := &item.Params[i]
		full.Type, full.Default, full.Description, full.Enum = p.Kind.String(), p.Default, p.Doc, p.Enum
		if p.Kind == ta.IntParam || p.Kind == ta.NumParam {
			full.Min, full.Max = &p.Min, &p.Max
		}
	}
	return item
}
