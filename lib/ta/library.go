package ta

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/lib/fault"
)

// InlineName is the name of an indicator whose source is in the request.
const InlineName = "pine"

// InlineSource is the field of such a request that has the source.
const InlineSource = "source"

// Scripts has the scripts of an owner as definitions. It is safe for concurrent use.
type Scripts interface {
	// Script returns a stored script by its name, or by its name and version with an @
	// between them. It returns nil for an unknown name.
	Script(name string) (*Def, error)

	// Inline compiles a source that is not stored.
	Inline(source string) (*Def, error)

	// Stored returns the stored scripts in order of their names.
	Stored() []*Def

	// Pin keeps the version of a stored script for alerts, whatever becomes of its file.
	Pin(d *Def) error
}

// Library is what names of indicators mean: the catalogue, and the scripts of an owner if
// there are any. The zero value is the catalogue.
type Library struct{ Scripts Scripts }

// Stored returns the stored scripts in order of their names.
func (l Library) Stored() []*Def {
	if l.Scripts == nil {
		return nil
	}
	return l.Scripts.Stored()
}

// Notes are those of scripts, each once.
func (l Library) Notes(names []string) []string {
	var all []string
	for _, name := range names {
		d, err := l.Find(name)
		if err != nil {
			continue
		}
		for _, note := range d.Notes {
			if !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	return all
}

// lookup returns the definition that a name means and the parameters written in it. It
// returns nil for an unknown name. The catalogue comes first: no script may have one of
// its names.
func (l Library) lookup(name string, parameters bool) (*Def, map[string]json.RawMessage, error) {
	d, params, err := lookup(name, parameters)
	if d != nil || err != nil || l.Scripts == nil {
		return d, params, err
	}
	d, err = l.Scripts.Script(strings.ToLower(strings.TrimSpace(name)))
	return d, nil, err
}

// inline returns the definition of a request that has its source, and the parameters
// beside it.
func (l Library) inline(r *Request) (*Def, map[string]json.RawMessage, error) {
	if l.Scripts == nil {
		return nil, nil, fault.New(fault.Unsupported, "scripts_disabled", "scripts need a state directory, which this candela does not have")
	}
	var source string
	if raw, given := r.Params[InlineSource]; !given {
		return nil, nil, fault.Missing(InlineName+"."+InlineSource, "the text of a Pine script")
	} else if json.Unmarshal(raw, &source) != nil {
		return nil, nil, fault.Field(InlineName+"."+InlineSource, string(raw[:min(len(raw), 40)]), "the text of a Pine script")
	}
	d, err := l.Scripts.Inline(source)
	if err != nil {
		return nil, nil, err
	}
	rest := make(map[string]json.RawMessage, len(r.Params))
	for name, raw := range r.Params {
		if name != InlineSource {
			rest[name] = raw
		}
	}
	return d, rest, nil
}

// names returns the names of stored scripts.
func (l Library) names() []string {
	stored := l.Stored()
	names := make([]string, len(stored))
	for i, d := range stored {
		names[i] = d.Name
	}
	return names
}

// Find returns the definition in the catalogue with that name, as Library.Find does.
func Find(name string) (*Def, error) { return Library{}.Find(name) }

// FindSpelled is Find for names that may hold values, which it leaves out.
func FindSpelled(name string) (*Def, error) { return Library{}.FindSpelled(name) }

// Resolve resolves a request against the catalogue, as Library.Resolve does.
func Resolve(r Request) (*Selection, error) { return Library{}.Resolve(r) }

// ResolveAlert resolves a name of the catalogue, as Library.ResolveAlert does.
func ResolveAlert(name string) (*Selection, error) { return Library{}.ResolveAlert(name) }
