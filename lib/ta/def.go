// Package ta is the catalogue of indicators: their names, parameters,
// computation, appearance and signals. It computes from given bars and does no I/O.
package ta

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"candela/lib/market"
)

// Kind says where an indicator is drawn and where its data comes from.
type Kind uint8

// The kinds, as the catalogue tool names them.
const (
	Overlay  Kind = iota // drawn over the price
	Panel                // drawn in a panel of its own
	External             // a panel fed by series other than bars
)

// String returns the kind as the catalogue tool publishes it.
func (k Kind) String() string {
	return [...]string{"overlay", "panel", "external"}[k]
}

// Group says what an indicator is about, for clients that list a part of the catalogue.
type Group string

// The groups.
const (
	GroupTrend      Group = "trend"
	GroupMomentum   Group = "momentum"
	GroupVolatility Group = "volatility"
	GroupVolume     Group = "volume"
	GroupLevels     Group = "levels"
	GroupSentiment  Group = "sentiment"
)

// Groups returns the groups in the order that clients see.
func Groups() []Group {
	return []Group{GroupTrend, GroupMomentum, GroupVolatility, GroupVolume, GroupLevels, GroupSentiment}
}

// Def is one entry of the catalogue: everything a client may know about an indicator,
// and how to make an instance of it.
type Def struct {
	Name    string   // the key clients use, never changed
	Aliases []string // other spellings that mean the same
	Kind    Kind
	Group   Group
	Doc     string // what it shows, for a model choosing between indicators
	Formula string // how it is computed, for docs/indicators
	Truth   string // whose numbers it agrees with
	Params  []Param
	Lines   []string // labels of the lines, in index order
	Signals []Trigger

	// Switches names the parameters that enable some of the signals: booleans, off by
	// default, and lists. They are on, and all, for alerts.
	Switches []string

	// Order has the parameters that numbers after the name set, such as macd(12,26,9).
	// Without it one number sets the length.
	Order []string

	// Like names an indicator with the same parameters and signals. The whole catalogue
	// lists this one with it.
	Like string

	// Members are names of their own for this definition with some parameters decided.
	Members []Member

	// Check refuses values that do not belong together; it may be nil. Its error names
	// the parameter.
	Check func(Values) error

	// New makes an instance for values that Resolve has checked, so it cannot fail.
	New func(Values) Instance

	// Version is the first half of the hash of a script's source, "" for the catalogue.
	Version string

	// Orders reports that a script is a strategy. Streams alone give the signals of its orders.
	Orders bool
	Script bool // a Pine script: its levels may be in any order

	// Notes say of a script what was converted in it, and where its values may differ from those of other programs.
	Notes []string

	family *Def           // of a member
	fixed  map[string]any // what a member decides
}

// Trigger is a signal label with the exact condition that raises it.
type Trigger struct {
	Label string
	When  string
}

// Sentence returns the condition as a sentence without markup.
func (t Trigger) Sentence() string {
	when := strings.ReplaceAll(t.When, "`", "")
	first, size := utf8.DecodeRuneInString(when)
	return string(unicode.ToUpper(first)) + when[size:] + "."
}

// Pinned returns the name of the family, or the name and version of a script: what a name
// meant stays the same when the script is changed.
func (d *Def) Pinned() string {
	if d.Version != "" {
		return d.Name + "@" + d.Version
	}
	return d.Family().Name
}

// Summary returns the first clause of Doc: what it shows, without how to read it.
func (d *Def) Summary() string {
	end := len(d.Doc)
	for _, stop := range []string{"; ", ". "} {
		if i := strings.Index(d.Doc, stop); i >= 0 {
			end = min(end, i)
		}
	}
	return strings.TrimSuffix(d.Doc[:end], ".")
}

// Emits reports whether label is among the indicator's signals.
func (d *Def) Emits(label string) bool {
	return slices.ContainsFunc(d.Signals, func(t Trigger) bool { return t.Label == label })
}

// Labels returns the indicator's signal labels in order of definition.
func (d *Def) Labels() []string {
	labels := make([]string, len(d.Signals))
	for i, t := range d.Signals {
		labels[i] = t.Label
	}
	return labels
}

// Instance is an indicator with its parameters set. It is immutable and safe for
// concurrent use.
type Instance interface {
	// Label names the indicator with its parameters, such as "RSI(14)".
	Label() string

	// Warmup returns the index of the first bar with a value and the number of
	// bars after which the value no longer depends on where the history began:
	// exactly for windowed values, to the last bit for recursive ones.
	Warmup(Env) (first, stable int)

	// Compute runs over a whole history. Every series of the result has one entry
	// per bar. It does no I/O and never fails: without data there are no values.
	Compute(Input) *Result

	// Stream returns a fresh stream, or nil when a new bar can change past values,
	// so that the whole window must be recomputed.
	Stream(Env) *Stream
}

// Budget is what a piece of work shares with others: memory, turns and processor time.
type Budget interface {
	// Hold says that the work holds so many bytes more, or less where bytes is negative. The
	// error names the bound that they do not fit into; nothing is held then. Less always fits.
	Hold(bytes int64) error

	// Pause is called every few milliseconds, so that other work can go before. It says why
	// the work must end now; nil while it may go on.
	Pause() error

	// Spend says that the work took so much processor time, and Spent returns how much it has
	// taken so far: the scripts of one request share a bound.
	Spend(processor time.Duration)
	Spent() time.Duration

	// Close gives back everything that the work holds.
	Close()
}

// Env describes the bars besides their values.
type Env struct {
	Interval market.Interval // how far apart the bars are
	Calendar market.Calendar // when the market is open; the zero value never closes
	Facts    market.Facts    // what is known of the instrument; only scripts ask
	Budget   Budget          // what the work shares with other work; nil for nothing; only scripts ask
}

// Input is what an indicator computes from.
type Input struct {
	Env
	Bars *market.Bars

	// Shown is how many of the newest bars are shown, if not all. The result may then
	// lack values and signals of earlier bars.
	Shown int

	// NoSignals says that nobody reads the signals. The result may then lack them.
	NoSignals bool

	// Forming says that the last bar has not closed. Only scripts ask.
	Forming bool

	// Scripts is how many scripts one request runs: they share the steps that it may take.
	// Only scripts ask; 0 is one.
	Scripts int

	// Memory provides the columns of the result if it is not nil.
	Memory *Memory

	// Series holds external values as of each bar's close: one per bar, NaN where none
	// was known yet. A missing key means that the series is unavailable.
	Series map[market.SeriesName][]float64

	// Others holds the bars that the instance wants, by want. A missing key means that
	// they are unavailable.
	Others map[Want]*Other
}

// first returns the first bar shown.
func (in *Input) first() int {
	if in.Shown <= 0 {
		return 0
	}
	return max(0, in.Bars.Len()-in.Shown)
}

// Needs is implemented by instances that read outside series.
type Needs interface {
	Needs() []market.SeriesName
}

// FactsReader is implemented by instances that may read more of Env.Facts than the symbol.
type FactsReader interface {
	ReadsFacts() bool
}

// Summing is implemented by instances whose values may be a sum from the first bar
// on. Their level is meaningless without that bar, so results name it.
type Summing interface {
	Sums() bool
}
