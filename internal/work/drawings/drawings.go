// Package drawings keeps what owners and their agents draw on charts: lines, levels, rectangles, retracements, texts and
// measures at times and prices. A drawing belongs to an owner and a symbol, decides nothing, and is there until somebody
// removes it.
package drawings

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of what an owner keeps.
const (
	MostInSymbol = 50
	Most         = 500 // in all symbols
	MostText     = 80  // characters

	maxYear  = 2200
	maxDigit = 20 // of a price
)

// Kind is a type of drawings.
type Kind struct {
	Name   string
	Second bool // it has a second point
	Timed  bool // its first point has a time
}

// Kinds lists the types of drawings.
func Kinds() []Kind {
	return []Kind{
		{"level", false, false}, {"line", true, true}, {"ray", true, true}, {"box", true, true}, {"fib", true, true}, {"text", false, true}, {"measure", true, true},
	}
}

// Names lists the names of the types.
func Names() []string {
	all := Kinds()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// Drawing is a drawing that is kept. Times are unix seconds.
type Drawing struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Time    int64           `json:"time,omitempty"`
	Price   decimal.Decimal `json:"price"`
	Time2   int64           `json:"time2,omitempty"`
	Price2  decimal.Decimal `json:"price2,omitzero"`
	Text    string          `json:"text,omitempty"`
	By      string          `json:"by,omitempty"` // the client that drew it, as it calls itself
	Changed time.Time       `json:"changed"`
}

// Store keeps a record of an owner, as package ledger does.
type Store interface {
	Kept(ctx context.Context, owner principal.Owner, name string) ([]byte, error)
	Keep(ctx context.Context, owner principal.Owner, name string, change func([]byte) ([]byte, error)) error
}

// record is the name of the record that has all drawings of an owner.
const record = "drawings"

// Shelf has the drawings of all owners. It is safe for concurrent use.
type Shelf struct {
	Store Store
	// Resolve returns the instrument of a symbol, with its venue, so that a drawing is found whichever way the symbol is
	// written.
	Resolve func(ctx context.Context, s market.Symbol) (market.Symbol, error)
	Now     func() time.Time
}

// all is what an owner keeps, by the symbol with its venue, oldest first.
type all map[string][]Drawing

func read(value []byte) (all, error) {
	kept := make(all)
	if len(value) == 0 {
		return kept, nil
	}
	if err := json.Unmarshal(value, &kept); err != nil {
		return nil, fmt.Errorf("read drawings: %w", err)
	}
	return kept, nil
}

// Listed is a symbol with its drawings.
type Listed struct {
	Symbol   market.Symbol
	Drawings []Drawing
}

// List returns the drawings of the caller's owner on a symbol, oldest first, or those on all symbols.
func (s *Shelf) List(ctx context.Context, caller principal.Caller, symbol market.Symbol) ([]Listed, error) {
	var err error
	if !symbol.IsZero() {
		if symbol, err = s.Resolve(ctx, symbol); err != nil {
			return nil, err
		}
	}
	value, err := s.Store.Kept(ctx, caller.Subject, record)
	if err != nil {
		return nil, err
	}
	kept, err := read(value)
	if err != nil {
		return nil, err
	}
	if !symbol.IsZero() {
		return []Listed{{symbol, kept[symbol.String()]}}, nil
	}
	listed := make([]Listed, 0, len(kept))
	for name, drawn := range kept {
		of, err := market.ParseSymbol(name)
		if err != nil {
			return nil, fmt.Errorf("read drawings: %w", err)
		}
		listed = append(listed, Listed{of, drawn})
	}
	slices.SortFunc(listed, func(a, b Listed) int { return cmp.Compare(a.Symbol.String(), b.Symbol.String()) })
	return listed, nil
}

// Set keeps a drawing of the caller's owner: in the place of the one with its ID, or as a new one if it has none. It
// returns the drawing as it is kept, and its symbol.
func (s *Shelf) Set(ctx context.Context, caller principal.Caller, symbol market.Symbol, d Drawing) (Drawing, market.Symbol, error) {
	if err := d.check(); err != nil {
		return d, symbol, err
	}
	symbol, err := s.Resolve(ctx, symbol)
	if err != nil {
		return d, symbol, err
	}
	isNew := d.ID == ""
	now := s.Now().UTC().Truncate(time.Microsecond)
	if isNew {
		d.ID = id.New(now)
	}
	d.Text, d.By, d.Changed = fault.Clean(d.Text, MostText), fault.Clean(caller.Client, 60), now
	return d, symbol, s.change(ctx, caller, func(kept all) error {
		drawn := kept[symbol.String()]
		at := find(drawn, d.ID)
		switch {
		case at >= 0:
			drawn[at] = d
			return nil
		case !isNew:
			return unknown(d.ID, symbol)
		}
		return kept.add(symbol, d)
	})
}

func (kept all) add(symbol market.Symbol, d Drawing) error {
	total := 0
	for _, drawn := range kept {
		total += len(drawn)
	}
	switch drawn := kept[symbol.String()]; {
	case len(drawn) >= MostInSymbol:
		return tooMany(MostInSymbol, " on "+symbol.String())
	case total >= Most:
		return tooMany(Most, "")
	}
	kept[symbol.String()] = append(kept[symbol.String()], d)
	return nil
}

// Delete removes a drawing of the caller's owner, and returns what it was, and its symbol.
func (s *Shelf) Delete(ctx context.Context, caller principal.Caller, of market.Symbol, drawingID string) (gone Drawing, symbol market.Symbol, err error) {
	if symbol, err = s.Resolve(ctx, of); err != nil {
		return gone, symbol, err
	}
	err = s.change(ctx, caller, func(kept all) error {
		name := symbol.String()
		at := find(kept[name], drawingID)
		switch {
		case at >= 0:
			gone = kept[name][at]
			kept[name] = slices.Delete(kept[name], at, at+1)
		case gone.ID != drawingID || drawingID == "": // else an attempt before this one removed it
			return unknown(drawingID, symbol)
		}
		if len(kept[name]) == 0 {
			delete(kept, name)
		}
		return nil
	})
	return gone, symbol, err
}

// change changes what an owner keeps. do may be called again, with what others have changed.
func (s *Shelf) change(ctx context.Context, caller principal.Caller, do func(all) error) error {
	return s.Store.Keep(ctx, caller.Subject, record, func(before []byte) ([]byte, error) {
		kept, err := read(before)
		if err == nil {
			err = do(kept)
		}
		if err != nil || len(kept) == 0 {
			return nil, err
		}
		return json.Marshal(kept)
	})
}

func find(drawn []Drawing, id string) int {
	return slices.IndexFunc(drawn, func(d Drawing) bool { return d.ID == id })
}

func unknown(id string, symbol market.Symbol) error {
	return &fault.Error{Kind: fault.NotFound, Code: "unknown_drawing", Field: "drawing_id", Value: fault.Clean(id, 64), Message: "There is no drawing " + fault.Clean(id, 64) + " on " + symbol.String() + ": list_drawings has those there are."}
}

func tooMany(most int, where string) error {
	return fault.New(fault.Conflict, "too_many_drawings", "There are %d drawings%s already, which is the most. Remove one first.", most, where)
}

// kind returns the type of a drawing, false if there is none of that name.
func (d *Drawing) kind() (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == d.Type })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// check refuses a drawing that lacks something of its type or has something of another.
func (d *Drawing) check() error {
	kind, ok := d.kind()
	if !ok {
		return fault.Field("type", fault.Truncate(d.Type, 40), "level, line, ray, box, fib, text or measure", fault.Nearest(d.Type, Names())...)
	}
	for _, p := range []struct {
		name  string
		price decimal.Decimal
		has   bool
	}{{"price", d.Price, true}, {"price2", d.Price2, kind.Second}} {
		switch {
		case p.price.Exponent() > maxDigit || p.price.Exponent() < -maxDigit || p.price.NumDigits() > maxDigit: // which has no short text
			return fault.Field(p.name, "that number", "a number above 0 with at most "+strconv.Itoa(maxDigit)+" digits")
		case p.has && !p.price.IsPositive():
			return fault.Field(p.name, p.price.String(), "a number above 0; "+kind.says())
		case !p.has && !p.price.IsZero():
			return fault.Field(p.name, p.price.String(), "no "+p.name+" with type "+kind.says())
		}
	}
	for _, t := range []struct {
		name string
		at   int64
		has  bool
	}{{"time", d.Time, kind.Timed}, {"time2", d.Time2, kind.Second}} {
		switch {
		case t.has && (t.at <= 0 || t.at > time.Date(maxYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()):
			return fault.Field(t.name, strconv.FormatInt(t.at, 10), "a time after 1970 and before "+strconv.Itoa(maxYear)+"; "+kind.says())
		case !t.has && t.at != 0:
			return fault.Field(t.name, strconv.FormatInt(t.at, 10), "no "+t.name+" with type "+kind.says())
		}
	}
	switch {
	case d.Type == "text" && d.Text == "":
		return fault.Missing("text", "the words of the text")
	case utf8.RuneCountInString(d.Text) > MostText:
		return fault.Field("text", fault.Truncate(d.Text, 40), "at most "+strconv.Itoa(MostText)+" characters")
	case d.Type == "ray" && d.Time2 <= d.Time:
		return fault.Field("time2", market.Stamp(d.Time2), "a time after time, "+market.Stamp(d.Time)+": a ray goes on to the right")
	}
	return nil
}

// says is the name of a type with what it has.
func (k Kind) says() string {
	switch {
	case k.Second:
		return k.Name + ", which has time, price, time2 and price2"
	case k.Timed:
		return k.Name + ", which has time, price and text"
	}
	return k.Name + ", which has a price"
}
