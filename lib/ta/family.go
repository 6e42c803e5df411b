package ta

import (
	"maps"
	"slices"
	"sync"
)

// Member is a name of its own for a family's definition with some of its parameters
// decided, such as sma for ma with type sma.
type Member struct {
	Name    string
	Aliases []string
	Doc     string   // as Def.Doc; its first clause is listed
	Lines   []string // if they differ from the family's

	Fixed    map[string]any // parameters that the name decides
	Defaults map[string]any // other defaults than the family's
	Omit     []string       // parameters that mean nothing to this member
	Signals  []string       // labels that it emits, if not all of the family's
}

// member returns the member as a definition that resolves like any other.
func (d *Def) member(m *Member) Def {
	own := *d
	own.Name, own.Aliases, own.Doc, own.Members = m.Name, m.Aliases, m.Doc, nil
	own.family, own.fixed = d, m.Fixed
	if m.Lines != nil {
		own.Lines = m.Lines
	}
	own.Params = nil
	for _, p := range d.Params {
		if _, fixed := m.Fixed[p.Name]; fixed || slices.Contains(m.Omit, p.Name) {
			continue
		}
		if value, other := m.Defaults[p.Name]; other {
			p.Default = value
		}
		own.Params = append(own.Params, p)
	}
	own.Switches = slices.DeleteFunc(slices.Clone(d.Switches), func(name string) bool { return own.param(name) < 0 })
	if m.Signals != nil {
		own.Signals = slices.DeleteFunc(slices.Clone(d.Signals), func(t Trigger) bool { return !slices.Contains(m.Signals, t.Label) })
	}
	return own
}

// whole returns the values of the family's parameters for those of a member.
func (d *Def) whole(v Values) Values {
	if d.family == nil {
		return v
	}
	full := Values{params: d.family.Params, values: make([]any, len(d.family.Params))}
	for i, p := range d.family.Params {
		full.values[i] = p.Default
		if value, fixed := d.fixed[p.Name]; fixed {
			full.values[i] = value
		} else if k := d.param(p.Name); k >= 0 {
			full.values[i] = v.values[k]
		}
	}
	return full
}

// Family returns the entry of the catalogue that the definition belongs to: itself, or
// the family of a member.
func (d *Def) Family() *Def {
	if d.family != nil {
		return d.family
	}
	return d
}

// register is the catalogue with its members and the ways to find them.
type register struct {
	entries []Def
	members []Def
	names   map[string]*Def // by name or alias
	sorted  []string        // those names
	loose   map[string]*Def // by name, alias or title without spaces and marks; nil if several have it
	plain   map[string]*Def // members whose name is also an alias of an entry, which has it without parameters
}

//nolint:gochecknoglobals // the catalogue, built once and never written
var catalogue = sync.OnceValue(func() *register {
	c := &register{entries: list(), names: map[string]*Def{}, loose: map[string]*Def{}, plain: map[string]*Def{}}
	for i := range c.entries {
		d := &c.entries[i]
		for k := range d.Members {
			c.members = append(c.members, d.member(&d.Members[k]))
		}
	}
	for i := range c.entries {
		c.add(&c.entries[i])
	}
	for i := range c.members {
		c.add(&c.members[i])
	}
	c.addTitles(c.entries)
	c.addTitles(c.members)
	c.sorted = slices.Sorted(maps.Keys(c.names))
	return c
})

// add enters a definition by its name and aliases. An entry comes before a member.
func (c *register) add(d *Def) {
	for _, name := range append([]string{d.Name}, d.Aliases...) {
		if c.names[name] == nil {
			c.names[name] = d
		} else if d.family != nil {
			c.plain[name] = d
		}
		if key := compact(name); c.loose[key] == nil {
			c.loose[key] = d
		}
	}
}

// addTitles enters definitions by what their description begins with, such as "simple
// moving average", where no name has that spelling and only one definition that title.
func (c *register) addTitles(all []Def) {
	titles := map[string]*Def{}
	for i := range all {
		key := compact(all[i].title())
		if _, taken := titles[key]; taken {
			titles[key] = nil
			continue
		}
		titles[key] = &all[i]
	}
	for key, d := range titles {
		if d != nil && c.loose[key] == nil && key != "" {
			c.loose[key] = d
		}
	}
}

// OtherNames returns the aliases that Find needs in its list: it
// knows the name and the title in any spelling.
func (d *Def) OtherNames() []string {
	var names []string
	for _, alias := range d.Aliases {
		if key := compact(alias); key != compact(d.Name) && key != compact(d.title()) {
			names = append(names, alias)
		}
	}
	return names
}

// All returns the catalogue in a fixed order, a family once. The slice is shared: do not
// write to it.
func All() []Def { return catalogue().entries }

// Members returns the members of all families as definitions, in a fixed order. The
// slice is shared: do not write to it.
func Members() []Def { return catalogue().members }

// Names returns the names of all entries and then of all members that have a name which
// no entry uses.
func Names() []string {
	c := catalogue()
	names := make([]string, 0, len(c.entries)+len(c.members))
	for _, all := range [][]Def{c.entries, c.members} {
		for i := range all {
			if c.names[all[i].Name] == &all[i] {
				names = append(names, all[i].Name)
			}
		}
	}
	return names
}
