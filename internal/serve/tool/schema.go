package tool

import (
	"encoding/json"
	"strings"

	"candela/internal/kit/strictjson"
)

// schema is the part of JSON Schema that the tools need. It marshals deterministically,
// with properties in the order they were added.
type schema struct {
	Type                 string    `json:"type,omitempty"`
	Description          string    `json:"description,omitempty"`
	Enum                 []string  `json:"enum,omitempty"`
	Const                any       `json:"const,omitempty"`
	Pattern              string    `json:"pattern,omitempty"`
	Format               string    `json:"format,omitempty"`
	MinLength            int       `json:"minLength,omitempty"`
	MaxLength            int       `json:"maxLength,omitempty"`
	Minimum              *float64  `json:"minimum,omitempty"`
	ExclusiveMinimum     *float64  `json:"exclusiveMinimum,omitempty"`
	Maximum              *float64  `json:"maximum,omitempty"`
	Default              any       `json:"default,omitempty"`
	Items                *schema   `json:"items,omitempty"`
	MinItems             int       `json:"minItems,omitempty"`
	MaxItems             int       `json:"maxItems,omitempty"`
	AnyOf                []*schema `json:"anyOf,omitempty"`
	Properties           props     `json:"properties,omitzero"`
	Required             []string  `json:"required,omitempty"`
	MinProperties        int       `json:"minProperties,omitempty"`
	MaxProperties        int       `json:"maxProperties,omitempty"`
	AdditionalProperties any       `json:"additionalProperties,omitempty"`
}

// prop is a property of an object's schema.
type prop struct {
	name   string
	schema *schema
}

// props is an ordered list of properties.
type props []prop

// MarshalJSON returns an object with the properties in order.
func (p props) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, each := range p {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(each.name)
		if err != nil {
			return nil, err
		}
		value, err := strictjson.Marshal(each.schema)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// object describes an object with exactly these properties. Those whose name does not
// end in a question mark are required.
func object(properties ...prop) *schema {
	s := &schema{Type: "object", AdditionalProperties: false}
	for _, p := range properties {
		if name, optional := strings.CutSuffix(p.name, "?"); optional {
			p.name = name
		} else {
			s.Required = append(s.Required, p.name)
		}
		s.Properties = append(s.Properties, p)
	}
	return s
}

func typedProp(name, kind, description string) prop {
	return prop{name, &schema{Type: kind, Description: description}}
}

func listProp(name, description string, items *schema) prop {
	return prop{name, &schema{Type: "array", Description: description, Items: items}}
}

func enumProp(name, description string, values ...string) prop {
	return prop{name, &schema{Type: "string", Description: description, Enum: values}}
}

// The output schemas of the chart tools. Those of the trading tools are next to the
// types they describe.

func catalogSchema() *schema {
	param := object(
		typedProp("name", "string", ""),
		enumProp("type?", "", "integer", "number", "string", "boolean"),
		prop{"default?", &schema{
			AnyOf:       []*schema{{Type: "number"}, {Type: "string"}, {Type: "boolean"}, {Type: "null"}},
			Description: "Missing when unset, or close for a source.",
		}},
		typedProp("min?", "number", ""), typedProp("max?", "number", ""),
		listProp("enum?", "", &schema{Type: "string"}),
		typedProp("description?", "string", ""),
	)
	item := object(
		typedProp("name", "string", ""),
		typedProp("description", "string", ""),
		enumProp("type", "external needs data beyond bars.", "overlay", "panel", "external"),
		typedProp("overlay?", "boolean", "Drawn over the price."),
		typedProp("group?", "string", ""),
		typedProp("family?", "string", ""),
		typedProp("like?", "string", "Same parameters and signals."),
		listProp("aliases?", "", &schema{Type: "string"}),
		listProp("members?", "Names of their own for it.", &schema{Type: "string"}),
		listProp("configurable_params?", "", param),
		listProp("signals?", "", &schema{Type: "string"}),
		prop{"signal_descriptions?", &schema{Type: "object", AdditionalProperties: &schema{Type: "string"}}},
	)
	members := prop{"members?", &schema{Type: "object", AdditionalProperties: &schema{Type: "array", Items: &schema{Type: "string"}}}}
	names := object(typedProp("group", "string", ""), listProp("names", "", &schema{Type: "string"}), members, typedProp("bytes", "integer", "In full."))
	return object(typedProp("total", "integer", ""), listProp("sources?", "Values of each source parameter.", &schema{Type: "string"}), listProp("groups?", "With brief.", names), listProp("indicators?", "", item), typedProp("pine?", "string", ""))
}

// computedSchema describes the result of get_indicators.
func computedSchema() *schema {
	return object(
		typedProp("symbol", "string", ""),
		typedProp("interval", "string", ""),
		enumProp("source", "engine_cache: the engine's window.", "engine_cache", "fetched", "sample"),
		typedProp("provider", "string", "Source of the bars."),
		prop{"as_of", &schema{AnyOf: []*schema{{Type: "string", Format: "date-time"}, {Type: "null"}}, Description: "When the newest bar was read."}},
		typedProp("last_bar_closed", "boolean", "False: its values may change."),
		typedProp("cut_bar?", "string", ""),
		typedProp("stale", "boolean", "Provider did not respond; older bars."),
		typedProp("warmup_ok", "boolean", "False: too little history."),
		typedProp("built_from?", "string", "Interval they were built from."),
		typedProp("calendar?", "string", "Trading hours."),
		typedProp("calendar_guessed?", "boolean", "From the file's bars."),
		typedProp("holes?", "integer", "Missing bars, without holidays."),
		typedProp("bars", "integer", "Bars used; signals count from the oldest."),
		prop{"last", object(prop{"bar", &schema{AnyOf: []*schema{{Type: "string"}, {Type: "null"}}}}, typedProp("closed", "boolean", ""), typedProp("close", "number", ""),
			typedProp("change_24h_pct?", "number", "From the close of a day before, at most 2 h off."))},
		prop{"indicators", &schema{Type: "object", AdditionalProperties: summarySchema()}},
	)
}

// summarySchema describes the summary of one indicator.
func summarySchema() *schema {
	maybe := &schema{AnyOf: []*schema{{Type: "number"}, {Type: "null"}}}
	when := &schema{AnyOf: []*schema{{Type: "integer"}, {Type: "null"}}} // only the first time has a description
	first := &schema{AnyOf: when.AnyOf, Description: "Unix seconds; null for sample data."}
	value := object(typedProp("index", "integer", ""), typedProp("label", "string", ""), prop{"last_value", maybe})
	return object(
		typedProp("label", "string", ""),
		typedProp("is_overlay", "boolean", ""),
		typedProp("anchored_at?", "string", "Bar at which a sum starts."),
		typedProp("data_until?", "string", ""),
		prop{"y_range?", &schema{Type: "array", Items: &schema{Type: "number"}, MinItems: 2, MaxItems: 2}},
		listProp("lines?", "", value),
		listProp("histogram?", "", value),
		listProp("signals?", "Newest last.", object(
			typedProp("x", "integer", "Bar it is drawn at, from the oldest."), prop{"t", first},
			typedProp("confirmed_x", "integer", "Bar whose close confirmed it."), prop{"confirmed_t", when},
			typedProp("y", "number", ""), typedProp("label", "string", ""))),
		listProp("hlines?", "Levels.", object(typedProp("y", "number", ""), typedProp("label?", "string", ""))),
		listProp("divergences?", "", object(
			typedProp("x1", "integer", ""), prop{"t1", when}, typedProp("y1", "number", ""),
			typedProp("x2", "integer", ""), prop{"t2", when}, typedProp("y2", "number", ""), typedProp("dashed", "boolean", ""))),
		typedProp("fills_count?", "integer", ""),
		listProp("hbars_top?", "The widest bars of a profile.", object(typedProp("y", "number", "Price."), typedProp("weight", "number", "Fraction of the width."))),
		typedProp("hbars_count?", "integer", ""),
		typedProp("signals_count?", "integer", "Including older ones."),
		typedProp("truncated?", "boolean", "Older signals or levels are omitted."),
	)
}
