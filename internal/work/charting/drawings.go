package charting

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/work/charting/payload"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// MomentAllowed says how a moment is written.
const MomentAllowed = "a date such as 2026-01-31, or a time such as 2026-01-31T16:00:00Z, after 1970"

// ParseMoment reads a moment in Unix seconds, that of a date or time, or so many days or seconds after it.
func ParseMoment(value string, after int) (int64, bool) {
	at, err := time.Parse(time.DateOnly, value)
	if err == nil {
		at = at.AddDate(0, 0, after)
	} else if at, err = time.Parse(time.RFC3339, value); err == nil {
		at = at.Add(time.Duration(after) * time.Second)
	}
	return at.Unix(), err == nil && at.Unix() > 0
}

// drawingKinds lists the types of drawings by chart.DrawingKind.
//
//nolint:gochecknoglobals // a table, never written
var drawingKinds = [...]DrawingKind{
	chart.LevelDrawing: {"level", []string{"price"}},
	chart.LineDrawing:  {"line", []string{"time", "price", "time2", "price2"}},
	chart.RayDrawing:   {"ray", []string{"time", "price", "time2", "price2"}},
	chart.BoxDrawing:   {"box", []string{"time", "price", "time2", "price2"}},
	chart.FibDrawing:   {"fib", []string{"time", "price", "time2", "price2"}},
	chart.TextDrawing:  {"text", []string{"time", "price", "text"}},
}

// DrawingKind is a type of drawings, with the keys that it needs besides its type; a text is also a label for
// the others.
type DrawingKind struct {
	Name  string
	Needs []string
}

// DrawingKinds lists the types of drawings by chart.DrawingKind.
func DrawingKinds() []DrawingKind { return drawingKinds[:] }

// Drawing is a drawing as the client described it.
type Drawing struct {
	ID            string // of one that is kept, "" for others
	Kind          chart.DrawingKind
	Field         string // such as drawings[2], for errors
	Time, Time2   DrawnTime
	Price, Price2 decimal.Decimal
	Text          string
}

// DrawnTime is a moment, or with sample data, which has no times, the number of a bar.
type DrawnTime struct {
	Unix int64
	Bar  int // if Unix is 0
}

// String returns the time as a client writes it.
func (t DrawnTime) String() string {
	if t.Unix == 0 {
		return "#" + strconv.Itoa(t.Bar)
	}
	return market.Stamp(t.Unix)
}

// place finds the bars of the drawings and adds them to the chart data.
func place(all []Drawing, shown *payload.Chart) ([]chart.Drawing, error) {
	placed := make([]chart.Drawing, len(all))
	for i := range all {
		d := &all[i]
		c := chart.Drawing{Kind: d.Kind, Y: d.Price.InexactFloat64(), Y2: d.Price2.InexactFloat64(), Text: d.Text}
		p := payload.Drawing{ID: d.ID, Type: drawingKinds[d.Kind].Name, T: d.Time.Unix, Y: c.Y, T2: d.Time2.Unix, Y2: c.Y2, Text: d.Text}
		needs := drawingKinds[d.Kind].Needs
		p.Timed, p.Second = slices.Contains(needs, "time"), slices.Contains(needs, "time2")
		var err error
		if p.Timed {
			c.X, err = d.Time.barOf(shown, d.Field+".time")
		}
		if p.Second && err == nil {
			c.X2, err = d.Time2.barOf(shown, d.Field+".time2")
		}
		if err != nil {
			return nil, err
		}
		if d.Kind == chart.FibDrawing {
			for _, level := range chart.Retracements(c.Y, c.Y2) {
				p.Levels = append(p.Levels, payload.Level{Ratio: level.Ratio, Price: level.Price})
			}
		}
		p.X, p.X2 = c.X, c.X2
		placed[i], shown.Drawings = c, append(shown.Drawings, p)
	}
	return placed, nil
}

// barOf returns the bar of the chart at a time: the one that holds it, or the last one
// before it if the market was closed. Outside the bars it counts those that the calendar
// has, so that a line keeps its slope.
func (t DrawnTime) barOf(shown *payload.Chart, field string) (int, error) {
	sample := shown.Source == payload.Sample
	switch {
	case sample && t.Unix != 0:
		return 0, fault.Field(field, t.String(), `the number of a bar such as "#12", because sample data has no dates, or give a symbol`)
	case sample:
		return t.Bar, nil
	case t.Unix == 0:
		return 0, fault.Field(field, t.String(), MomentAllowed)
	}
	bars := shown.Bars
	last := bars.Len() - 1
	switch first, newest := bars.T[0], bars.T[last]; {
	case t.Unix < first:
		return -barsBetween(shown, t.Unix+1, first+1), nil
	case t.Unix > newest:
		return last + barsBetween(shown, newest+1, t.Unix+1), nil
	}
	return bars.Search(t.Unix+1) - 1, nil
}

// barsBetween counts the bars that open from one time to another by the calendar, and
// estimates those more than a year away: counting them may take long.
func barsBetween(shown *payload.Chart, from, to int64) int {
	const year = 365 * 86400
	near := min(to-from, year)
	span := market.Span{Open: to - near, Close: to}
	if from > shown.Bars.T[shown.Bars.Len()-1] { // ahead of the bars: the near part comes first
		span = market.Span{Open: from, Close: from + near}
	}
	n := shown.Calendar.Count(shown.Interval, span)
	return n + int(math.Round(float64(to-from-near)/year*shown.Calendar.PerYear(shown.Interval)))
}
