package scripts

import "candela/lib/ta"

// Unstored returns the scripts that requests bring, without what is stored: neither scripts nor libraries.
func (s *Shelf) Unstored() ta.Scripts { return unstored{s} }

// unstored compiles sources of requests.
type unstored struct{ shelf *Shelf }

// Inline compiles a source. Of libraries it knows those that are built in.
func (u unstored) Inline(source string) (*ta.Def, error) {
	c, err := u.shelf.build(ta.InlineName, source, func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	return c.def, nil
}

// Script finds nothing.
func (unstored) Script(string) (*ta.Def, error) { return nil, nil }

// Stored lists nothing.
func (unstored) Stored() []*ta.Def { return nil }

// Pin refuses: there is nothing to keep.
func (u unstored) Pin(d *ta.Def) error { return u.shelf.unknown(d.Name) }
