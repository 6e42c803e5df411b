package tool

import (
	"context"

	"candela/internal/analysis/indicator"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
)

// catalogItem is one indicator in list_indicators.
type catalogItem struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Type        string         `json:"type"`
	Overlay     bool           `json:"overlay"`
	Aliases     []string       `json:"aliases,omitempty"`
	Params      []catalogParam `json:"configurable_params,omitempty"`
	Signals     []string       `json:"signals,omitempty"`
	Meanings    signalMeanings `json:"signal_descriptions,omitempty"`
}

// signalMeanings describes each signal; it marshals to an object in label order.
type signalMeanings []indicator.Trigger

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
	Type        string   `json:"type"`
	Default     any      `json:"default"`
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Description string   `json:"description"`
}

// listIndicators marshals its constant result once.
func (c *charts) listIndicators() toolSpec {
	written, err := jsonResult(catalog(), nil)
	return toolSpec{
		name: "list_indicators", title: "List indicators", scope: principal.Charts,
		description: "List all indicators with descriptions, aliases, parameters, defaults, bounds and signals. " +
			"Call it once before generate_chart, get_indicators or an indicator alert to find valid names, parameters and signal labels. About 31 KB.",
		output: catalogSchema(), hints: hints{readOnly: true, idempotent: true},
		call: calling(noArgs, func(context.Context, principal.Caller, *struct{}) (mcp.Result, error) { return written, err }),
	}
}

func catalog() any {
	items := make([]catalogItem, 0, len(indicator.All()))
	for _, d := range indicator.All() {
		item := catalogItem{
			Name: d.Name, Description: d.Doc, Type: d.Kind.String(), Overlay: d.Kind == indicator.Overlay,
			Aliases: d.Aliases, Signals: d.Labels(), Meanings: d.Signals,
		}
		for _, p := range d.Params {
			param := catalogParam{Name: p.Name, Type: p.Kind.String(), Default: p.Default, Enum: p.Enum, Description: p.Doc}
			if p.Kind == indicator.IntParam || p.Kind == indicator.NumParam {
				param.Min, param.Max = &p.Min, &p.Max
			}
			item.Params = append(item.Params, param)
		}
		items = append(items, item)
	}
	return struct {
		Total      int           `json:"total"`
		Indicators []catalogItem `json:"indicators"`
	}{len(items), items}
}
