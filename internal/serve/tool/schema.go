package tool

import (
	"bytes"
	"encoding/json"
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
		value, err := marshalPlain(each.schema)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// marshalPlain is json.Marshal without escaping <, > and &.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// object describes an object with exactly these properties. Those whose name does not
// end in a question mark are required.
func object(description string, properties ...prop) *schema {
	s := &schema{Type: "object", Description: description, AdditionalProperties: false}
	for _, p := range properties {
		if name, optional := cutOptional(p.name); optional {
			p.name = name
		} else {
			s.Required = append(s.Required, p.name)
		}
		s.Properties = append(s.Properties, p)
	}
	return s
}

func cutOptional(name string) (string, bool) {
	if n := len(name) - 1; name[n] == '?' {
		return name[:n], true
	}
	return name, false
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
