package provider

import (
	"time"

	"candela/internal/data/upstream"
	"candela/internal/kit/setting"
)

// Descriptor declares one source of bars or of series. Configuration, routing, the
// doctor and the documentation read it, so a new venue is a package with a Descriptor
// and a line of the table in package app.
type Descriptor struct {
	setting.Part
	Kind       Kind
	Example    string     // symbol that the venue always has, "" for a source without a venue
	Separator  string     // between the currencies of a pair, such as the hyphen in BTC-USD
	Perpetuals bool       // there are perpetual futures of pairs, whose names end in .P
	Time       ServerTime // the venue's clock, if it publishes one
	// Listed returns well-known instruments, which the venue has; nil for none. It asks
	// nobody.
	Listed func() []Listing

	// Enabled reports whether the settings turn the source on; nil means always.
	Enabled func(setting.Values) bool
	// Open returns the source. Exactly one of Open and OpenSeries is set.
	Open       func(Env) (Provider, error)
	OpenSeries func(Env) SeriesSource
}

// On reports whether the settings turn the source on.
func (d Descriptor) On(v setting.Values) bool { return d.Enabled == nil || d.Enabled(v) }

// Env is what a source is opened with.
type Env struct {
	Values setting.Values
	Hosts  *upstream.Hosts
	Now    func() time.Time
	Live   bool // orders go to a live account at the same venue
}

// Kind says what a source has bars of. The zero value is neither.
type Kind uint8

// The kinds.
const (
	Pairs  Kind = iota + 1 // pairs in a crypto currency
	Stocks                 // stocks, funds, indices, currencies
	Files                  // whatever the user has put into files
)

// ServerTime says how to read a venue's clock.
type ServerTime struct {
	URL func(setting.Values) string // nil: the venue publishes no time
	// Read returns the time in an answer, false where it has none. Where it is nil, the
	// Date header counts.
	Read func(body []byte) (time.Time, bool)
}
