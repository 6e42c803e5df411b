package tool

import (
	"encoding/json"
	"strconv"
	"strings"

	"candela/internal/analysis/indicator"
	"candela/internal/kit/fault"
	"candela/internal/kit/strictjson"
)

// mostIndicators is how many indicators one chart may carry.
const mostIndicators = 24

// Requested is an indicator as it was asked for: under which name, and what that
// turned out to be.
type Requested struct {
	Name      string
	Selection *indicator.Selection
}

// indicators is a list of names or of objects with a name and overrides.
func indicators(name string, dst *[]Requested, doc string, fallback []string) field {
	item := &schema{AnyOf: []*schema{
		{Type: "string", Description: "A name or alias from list_indicators, such as rsi."},
		{
			Type: "object", Description: `A name with parameters, such as {"name":"rsi","length":21}.`,
			Properties: props{is("name", "string", "A name or alias from list_indicators.")},
			Required:   []string{"name"}, AdditionalProperties: true,
		},
	}}
	s := &schema{Type: "array", Description: doc, Items: item, MaxItems: mostIndicators}
	if fallback == nil {
		s.MinItems = 1
	} else {
		s.Default = fallback
	}
	const allowed = `a list of names or objects such as ["macd",{"name":"rsi","length":21}]`
	return field{
		name: name, allowed: allowed, schema: s,
		read: func(raw json.RawMessage) error {
			if raw[0] != '[' {
				return noList(name, raw, allowed)
			}
			*dst = []Requested{}
			for item := range strictjson.Items(raw) {
				if len(*dst) == mostIndicators {
					return fault.Field(name, "more than "+strconv.Itoa(mostIndicators)+" items", "at most "+strconv.Itoa(mostIndicators)+" indicators")
				}
				each, err := readIndicator(name, item)
				if err != nil {
					return err
				}
				*dst = append(*dst, each)
			}
			if len(*dst) == 0 && fallback == nil {
				return fault.Field(name, "[]", "at least one indicator; list_indicators has the names")
			}
			return nil
		},
	}
}

func readIndicator(field string, item json.RawMessage) (Requested, error) {
	request := indicator.Request{}
	switch item[0] {
	case '"':
		request.Name, _ = strictjson.Text(item)
	case '{':
		request.Params = map[string]json.RawMessage{}
		named := false
		for key, value := range strictjson.Fields(item) {
			if key != "name" {
				request.Params[key] = value
				continue
			}
			if request.Name, named = strictjson.Text(value); !named {
				return Requested{}, fault.Field(field+"[].name", shown(value), "an indicator's name as list_indicators gives it")
			}
		}
		if !named {
			return Requested{}, fault.Missing(field+"[].name", "the indicator's name as list_indicators gives it")
		}
	default:
		return Requested{}, fault.Field(field, shown(item), `a name such as "rsi", or an object such as {"name":"rsi","length":21}`)
	}
	request.Name = cut(strings.TrimSpace(request.Name))
	selection, err := indicator.Resolve(request)
	if err != nil {
		return Requested{}, named(err, field)
	}
	return Requested{request.Name, selection}, nil
}

// named adds to the error about an unknown name where the names are, and which
// field it stood in. Errors about parameters have both.
func named(err error, field string) error {
	e := fault.Of(err)
	if e == nil || e.Code != indicator.UnknownCode {
		return err
	}
	told := *e
	told.Field, told.Message, told.Allowed = field, e.Message+"; list_indicators has the names", "a name or alias from list_indicators"
	return &told
}

// resolveAll makes the selections of names that are known to be right.
func resolveAll(names []string) []Requested {
	all := make([]Requested, 0, len(names))
	for _, name := range names {
		selection, err := indicator.Resolve(indicator.Request{Name: name})
		if err != nil {
			panic("tool: default indicator " + name + " is not in the catalogue")
		}
		all = append(all, Requested{name, selection})
	}
	return all
}
