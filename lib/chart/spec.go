package chart

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// The limits of a picture. A frame of 4096x4096 at scale 3 would be 150
// megapixels, so the device size has its own cap.
const (
	MinSide   = 200
	MaxSide   = 4096
	MaxScale  = 3
	MaxBars   = 5000
	maxPixels = 4096 * 4096

	DefaultWidth  = 1440
	DefaultHeight = 810
)

// Theme picks the colours.
type Theme uint8

// The themes.
const (
	Dark Theme = iota
	Light
)

// ParseTheme reads the name of a theme; the empty string is dark.
func ParseTheme(s string) (Theme, error) {
	names := themeNames()
	i := slices.Index(names, cmp.Or(s, names[Dark]))
	if i < 0 {
		return Dark, fault.Field("theme", s, strings.Join(names, " "), fault.Nearest(s, names)...)
	}
	return Theme(i), nil //nolint:gosec // there are a few
}

// Spec describes a picture. The chart keeps no reference to it.
type Spec struct {
	Bars     market.Bars
	Symbol   string // as the title shows it
	Interval market.Interval
	Results  []Named
	Levels   []Level
	Trades   []Trade      // drawn as dots over the bars
	Compare  []Comparison // at most MaxCompared
	Drawings []Drawing    // at most MaxDrawings

	Width, Height int // logical pixels, MinSide to MaxSide; zero is the default
	Scale         int // device pixels per logical pixel, 1 to MaxScale; zero is 1
	Theme         Theme
	Log           bool // logarithmic price; ignored with a note when a price is not positive

	// Sample marks synthetic bars: the picture shows the word SAMPLE and numbers bars
	// instead of showing times.
	Sample bool
	// Forming says that the last bar has not closed.
	Forming bool
	// Facts stand in the header in place of the prices of the last bar.
	Facts []string
	// Shares are the parts of the plot that the panels take, from the top; nil for equal
	// ones. There must be one for each panel, and the price keeps the rest.
	Shares []float64
	// Note goes into the header as a warning, such as "stale 12m" or the provider.
	Note string

	// Pause is called every millisecond or so while the picture is drawn, so that other work can
	// go before; nil for none. Its error ends the picture.
	Pause func() error

	// Boxes is called with the first characters of the picture that no font has, which are drawn as
	// boxes; nil if nobody asks.
	Boxes func(missing []rune)
}

// Named is a result under the name it was requested with.
type Named struct {
	Name   string
	Result *ta.Result
}

// LevelKind is the meaning of a level on the price axis.
type LevelKind uint8

// The kinds of level.
const (
	EntryLevel LevelKind = iota // where a position was opened
	OrderLevel                  // an open order's limit
	AlertLevel                  // a price that fires an alert
)

// Level is a labelled line across the price pane.
type Level struct {
	Kind  LevelKind
	Price float64
	Label string // "Long 0.5", "Sell 0.2", "Alert"
	Sell  bool   // a short position or a sell order
}

// Trade is something bought or sold at a bar.
type Trade struct {
	X     int // the bar
	Price float64
	Sell  bool
}

// Check returns an error for the first field that cannot be drawn.
func (s *Spec) Check() error {
	n := s.Bars.Len()
	for _, column := range [...][]float64{s.Bars.O, s.Bars.H, s.Bars.L, s.Bars.C, s.Bars.V} {
		if len(column) != n {
			return fault.Field("bars", strconv.Itoa(len(column))+" values", "columns as long as the "+strconv.Itoa(n)+" open times")
		}
	}
	between := strconv.Itoa(MinSide) + " to " + strconv.Itoa(MaxSide)
	switch {
	case n < 1 || n > MaxBars:
		return fault.Field("bars", strconv.Itoa(n), "1 to "+strconv.Itoa(MaxBars))
	case s.Width != 0 && (s.Width < MinSide || s.Width > MaxSide):
		return fault.Field("width", strconv.Itoa(s.Width), between)
	case s.Height != 0 && (s.Height < MinSide || s.Height > MaxSide):
		return fault.Field("height", strconv.Itoa(s.Height), between)
	case s.Scale < 0 || s.Scale > MaxScale:
		return fault.Field("scale", strconv.Itoa(s.Scale), "1 to "+strconv.Itoa(MaxScale))
	case len(s.Compare) > MaxCompared:
		return fault.Field("compare", strconv.Itoa(len(s.Compare))+" symbols", "at most "+strconv.Itoa(MaxCompared))
	case slices.ContainsFunc(s.Compare, func(c Comparison) bool { return len(c.Percent) != n }):
		return fault.Field("compare", "values", "as many as the "+strconv.Itoa(n)+" bars")
	case s.Shares != nil && (len(s.Shares) != s.panels() || shared(s.Shares) > mostShared):
		return fault.Field("shares", strconv.Itoa(len(s.Shares))+" parts", "one part for each of "+strconv.Itoa(s.panels())+" panels, of at most 0.8 together")
	case len(s.Drawings) > MaxDrawings:
		return fault.Field("drawings", strconv.Itoa(len(s.Drawings))+" drawings", "at most "+strconv.Itoa(MaxDrawings))
	case int(s.Theme) >= len(themes):
		return fault.Field("theme", strconv.Itoa(int(s.Theme)), strings.Join(themeNames(), " "))
	}
	if w, h, k := s.size(); w*k*h*k > maxPixels {
		return fault.Field("scale", strconv.Itoa(k),
			"a picture of at most "+strconv.Itoa(maxPixels)+" pixels; "+strconv.Itoa(w)+"x"+strconv.Itoa(h)+" fits at a smaller scale")
	}
	return nil
}

// size returns width, height and scale with the defaults filled in.
func (s *Spec) size() (width, height, scale int) {
	return cmp.Or(s.Width, DefaultWidth), cmp.Or(s.Height, DefaultHeight), max(s.Scale, 1)
}

// mostShared is the most of the plot that panels with shares of their own take.
const mostShared = 0.8

// panels returns the number of results below the price.
func (s *Spec) panels() int {
	n := 0
	for _, r := range s.Results {
		if r.Result != nil && !r.Result.Overlay {
			n++
		}
	}
	return n
}

func shared(parts []float64) float64 {
	all := 0.0
	for _, p := range parts {
		all += p
	}
	return all
}
