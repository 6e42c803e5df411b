package tool

import (
	"encoding/json"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/internal/work/charting"
	"candela/lib/fault"
	"candela/lib/ta"
)

// indicatorsArg is a list of names, or of objects with a name and parameters.
func indicatorsArg(l ta.Library, name string, dst *[]charting.NamedIndicator, doc string, fallback []string) arg {
	item := &schema{AnyOf: []*schema{{Type: "string"}, {Type: "object"}}}
	s := &schema{Type: "array", Description: doc, Items: item}
	if fallback != nil {
		s.Default = fallback
	}
	const allowed = `a list of names or objects such as ["macd",{"name":"rsi","length":21}]`
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) ([]charting.NamedIndicator, error) {
		if raw[0] != '[' {
			return nil, noList(name, raw, allowed)
		}
		all := []charting.NamedIndicator{}
		for item := range strictjson.Items(raw) {
			if len(all) == charting.MaxIndicators {
				return nil, charting.TooManyIndicators(name)
			}
			each, err := readIndicator(l, name, item)
			if err != nil {
				return nil, err
			}
			all = append(all, each)
		}
		return all, nil
	})
}

func readIndicator(l ta.Library, field string, item json.RawMessage) (charting.NamedIndicator, error) {
	request, err := readRequest(field, field+"[]", item)
	if err != nil {
		return charting.NamedIndicator{}, err
	}
	selection, err := l.Resolve(request)
	if err != nil {
		return charting.NamedIndicator{}, charting.NoIndicator(err, field)
	}
	return charting.NamedIndicator{Name: request.Name, Selection: selection}, nil
}

// readRequest reads a name, or an object with a name and parameters. at is the path of
// the object.
func readRequest(field, at string, item json.RawMessage) (ta.Request, error) {
	const names = "a name from list_indicators"
	request := ta.Request{}
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
				return request, fault.Field(at+".name", quoteValue(value), names)
			}
		}
		if !named {
			return request, fault.Missing(at+".name", names)
		}
	default:
		return request, fault.Field(field, quoteValue(item), `a name such as "rsi", or an object such as {"name":"rsi","length":21}`)
	}
	request.Name = truncate(strings.TrimSpace(request.Name))
	return request, nil
}

// resolveAll resolves valid names.
func resolveAll(names []string) []charting.NamedIndicator {
	all := make([]charting.NamedIndicator, 0, len(names))
	for _, name := range names {
		selection, err := ta.Resolve(ta.Request{Name: name})
		if err != nil {
			panic("tool: default indicator " + name + " is not in the catalogue")
		}
		all = append(all, charting.NamedIndicator{Name: name, Selection: selection})
	}
	return all
}
