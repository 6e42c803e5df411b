// Package plan has the limits of one owner where owners are many: plans by name, read from a file
// of the operator. It is the one table of these limits.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"candela/internal/config"
	"candela/lib/fault"
)

// Default is the name of the plan of owners who have no other. A file may change its limits.
const Default = "default"

// Plan is what one owner may have and do.
type Plan struct {
	Name      string
	Alerts    int // active
	Symbols   int // distinct, of active alerts
	Calls     int // requests at a time, of all tokens together
	Rate      int // requests a second on average, of all tokens together; ten seconds' worth at once
	Streams   int // clients with an open event stream
	Orders    int // orders a minute that are not for closing a position; a minute's worth at once
	Processor int // seconds of an hour in which charts, indicators, scripts and back-tests have a processor
}

// The limits by their names in the file.
const (
	Alerts    = "alerts"
	Symbols   = "symbols"
	Calls     = "calls_at_once"
	Rate      = "calls_per_second"
	Streams   = "streams"
	Orders    = "orders_per_minute"
	Processor = "processor_seconds_per_hour"
)

// limit is a line of the table.
type limit struct {
	key      string
	of       func(*Plan) *int
	standard int // of the default plan
	top      int // no plan may have more
}

func limits() []limit {
	return []limit{
		{Alerts, func(p *Plan) *int { return &p.Alerts }, 200, 10_000},
		{Symbols, func(p *Plan) *int { return &p.Symbols }, 50, 2_000},
		{Calls, func(p *Plan) *int { return &p.Calls }, 50, 500},
		{Rate, func(p *Plan) *int { return &p.Rate }, 20, 500},
		{Streams, func(p *Plan) *int { return &p.Streams }, 20, 500},
		{Orders, func(p *Plan) *int { return &p.Orders }, 60, 600},
		{Processor, func(p *Plan) *int { return &p.Processor }, 1800, 14_400},
	}
}

// Table has the plans of an installation. The zero value has the default plan alone.
type Table struct{ plans map[string]Plan }

func standard() (p Plan) {
	p.Name = Default
	for _, l := range limits() {
		*l.of(&p) = l.standard
	}
	return p
}

// Of returns a plan by its name, "" for the default. An unknown one is the default.
func (t Table) Of(name string) Plan {
	if p, ok := t.plans[cmp.Or(name, Default)]; ok {
		return p
	}
	if p, ok := t.plans[Default]; ok {
		return p
	}
	return standard()
}

// Has reports whether there is a plan of a name.
func (t Table) Has(name string) bool {
	_, ok := t.plans[name]
	return ok || name == Default || name == ""
}

// Names returns the names of all plans.
func (t Table) Names() []string {
	names := slices.Collect(maps.Keys(t.plans))
	if _, ok := t.plans[Default]; !ok {
		names = append(names, Default)
	}
	slices.Sort(names)
	return names
}

// Limit is one limit of a plan.
type Limit struct {
	Key   string // in the file
	Value int
}

// Limits returns the limits of a plan, as Of finds it.
func (t Table) Limits(name string) []Limit {
	p := t.Of(name)
	rows := limits()
	all := make([]Limit, 0, len(rows))
	for _, l := range rows {
		all = append(all, Limit{l.key, *l.of(&p)})
	}
	return all
}

// Digest identifies the plans: the same for files that mean the same.
func (t Table) Digest() string {
	sum := sha256.New()
	for _, name := range t.Names() {
		fmt.Fprintln(sum, name, t.Limits(name))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Read returns the plans of a file, the default alone if there is no file.
func Read(path string) (Table, error) {
	data, err := config.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Table{}, nil
	}
	if err != nil {
		return Table{}, err
	}
	table, err := Parse(data)
	if err != nil {
		return table, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}

// Parse reads plans: a table for each, whose missing limits are those of the default plan. It
// returns all problems of a file at once.
func Parse(data []byte) (Table, error) {
	var raw map[string]any
	if _, err := toml.Decode(string(data), &raw); err != nil {
		return Table{}, notAPlan(strings.TrimPrefix(err.Error(), "toml: "))
	}
	doc := make(map[string]map[string]any, len(raw))
	for name, value := range raw {
		values, ok := value.(map[string]any)
		if !ok {
			return Table{}, notAPlan(name + " is not in a plan")
		}
		doc[name] = values
	}
	t := Table{plans: make(map[string]Plan, len(doc))}
	var problems []string
	read := func(name string, base Plan) {
		base.Name = name
		t.plans[name] = base.with(name, doc[name], &problems)
	}
	base := standard()
	if _, ok := doc[Default]; ok {
		read(Default, base)
		base = t.plans[Default]
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if name != Default {
			read(name, base)
		}
	}
	if len(problems) > 0 {
		return Table{}, fault.New(fault.Invalid, "invalid_file", "%s", strings.Join(problems, "; "))
	}
	return t, nil
}

func notAPlan(why string) error {
	return fault.New(fault.Invalid, "invalid_file", "%s: a plan is a table such as [pro] with limits below it", why)
}

// with returns the plan with the limits of a table.
func (p Plan) with(name string, values map[string]any, problems *[]string) Plan {
	known := make([]string, 0, len(limits()))
	for _, l := range limits() {
		known = append(known, l.key)
		value, given := values[l.key]
		if !given {
			continue
		}
		n, ok := value.(int64)
		if !ok || n < 1 || n > int64(l.top) {
			*problems = append(*problems, fmt.Sprintf("%s.%s must be a whole number from 1 to %d (got %v)", name, l.key, l.top, value))
			continue
		}
		*l.of(&p) = int(n)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, key) {
			*problems = append(*problems, fmt.Sprintf("unknown limit %s.%s; use one of %s", name, key, strings.Join(known, ", ")))
		}
	}
	return p
}
