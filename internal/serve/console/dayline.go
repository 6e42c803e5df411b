package console

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// dayLine is the P&L of the day as a line.
type dayLine struct {
	plot
	Path, Area string
	Positive   bool
	Zero       float64
	Ticks      []tick // of the amounts
	Hours      []tick
	Limit      *tick
	Fills      []fillDot
	Label      string
}

// fillDot is a fill on the line of the day.
type fillDot struct {
	X, Y  float64
	Title string
}

type tick struct {
	At   float64
	Text string
}

// plot is a drawing with amounts to its right and times below, in points. Phones have one of
// their own, so that its text can be read.
type plot struct {
	End, Foot float64 // of what is drawn
	Narrow    bool
}

const plotTop = 12.0

// The plots of the day and of an alert, and those on phones.
func dayPlots() [2]plot   { return [2]plot{{800, 164, false}, {320, 140, true}} }
func alertPlots() [2]plot { return [2]plot{{800, 204, false}, {320, 164, true}} }

// Wide is the width with the amounts, Mark where these begin, High the height with the times,
// and Clock where these stand.
func (p plot) Wide() float64  { return p.End + 60 }
func (p plot) Mark() float64  { return p.End + 8 }
func (p plot) High() float64  { return p.Foot + 32 }
func (p plot) Clock() float64 { return p.Foot + 26 }

// dayScale places times and amounts in the plot.
type dayScale struct {
	plot
	midnight  time.Time
	from      time.Time // the left edge: midnight, or the hour in which a program began late in the day
	hours     int       // from there to the right edge
	low, high float64
}

func (s dayScale) x(t time.Time) float64 {
	return round2(t.Sub(s.from).Hours() / float64(s.hours) * s.End)
}

func (s dayScale) y(v float64) float64 {
	return round2(plotTop + (s.high-v)/(s.high-s.low)*(s.Foot-plotTop))
}

// dayLines draws the samples of the day with its fills, once for wide pages and once for
// phones; none if there are too few.
func (c *Console) dayLines(a guard.Account, all []order.Order, f format) []*dayLine {
	if c.cfg.Day == nil {
		return nil
	}
	samples := c.cfg.Day()
	if len(samples) < 2 {
		return nil
	}
	plots := dayPlots()
	lines := make([]*dayLine, 0, len(plots))
	for _, p := range plots {
		lines = append(lines, newDayLine(p, samples, a, all, f))
	}
	return lines
}

func newDayLine(p plot, samples []desk.Sample, a guard.Account, all []order.Order, f format) *dayLine {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i], _ = s.PnL.Float64()
	}
	scale := dayScale{plot: p, midnight: samples[0].At.Truncate(24 * time.Hour), low: min(0, slices.Min(values)), high: max(0, slices.Max(values))}
	limit, limited := scale.addLimit(a)
	scale.addHours(samples[0].At, samples[len(samples)-1].At)
	step := scale.addSteps()
	line := &dayLine{plot: p, Positive: values[len(values)-1] >= 0, Zero: scale.y(0), Label: "P&L since midnight UTC: " + f.Signed(samples[len(samples)-1].PnL)}
	points := make([]string, len(samples))
	for i, s := range samples {
		points[i] = number(scale.x(s.At)) + "," + number(scale.y(values[i]))
	}
	line.Path = strings.Join(points, " ")
	line.Area = number(scale.x(samples[0].At)) + "," + number(line.Zero) + " " + line.Path + " " + number(scale.x(samples[len(samples)-1].At)) + "," + number(line.Zero)
	every := max(1, scale.hours/6)
	if p.Narrow {
		every = max(1, scale.hours/3)
	}
	for hour := 0; hour <= scale.hours; hour += every {
		line.Hours = append(line.Hours, tick{scale.x(scale.from.Add(time.Duration(hour) * time.Hour)), scale.from.Add(time.Duration(hour) * time.Hour).Format("15:04")})
	}
	for v := scale.low; v <= scale.high+step/2; v += step {
		if math.Abs(v) > step/2 && (!limited || math.Abs(v-limit) > step/2) {
			line.Ticks = append(line.Ticks, tick{scale.y(v), f.SignedFloat(v)})
		}
	}
	if limited {
		line.Limit = &tick{scale.y(limit), f.SignedFloat(limit)}
	}
	line.addFills(scale, samples, values, all, f)
	return line
}

// addLimit makes room for the loss limit when the day comes near it; else it would flatten
// the line.
func (s *dayScale) addLimit(a guard.Account) (limit float64, shown bool) {
	at := slices.IndexFunc(a.Usage, func(u guard.Usage) bool { return u.Rule == guard.LossRule && !u.Limit.Off })
	if at < 0 {
		return 0, false
	}
	limit, _ = a.Usage[at].Limit.Value.Neg().Float64()
	if s.low >= limit/4 {
		return 0, false
	}
	s.low = min(s.low, limit)
	return limit, true
}

// lateStart is the part of the plot before the first sample from which on it begins with that sample: the
// first day of a program would be a sliver at the right.
const lateStart = 0.5

// addHours ends the plot at the next of 3, 6 and so on hours after the last sample, and begins it at
// midnight, or at the hour of the first sample if that is late.
func (s *dayScale) addHours(first, last time.Time) {
	s.from, s.hours = s.midnight, min(24, 3*(int(last.Sub(s.midnight).Hours())/3+1))
	if first.Sub(s.midnight).Hours() <= float64(lateStart*float64(s.hours)) {
		return
	}
	s.from = first.Truncate(time.Hour)
	s.hours = max(1, int(math.Ceil(last.Sub(s.from).Hours())))
}

// addSteps widens the range to whole steps, 3 to 6 of them, and returns the step: 1, 2 or 5
// times a power of ten.
func (s *dayScale) addSteps() float64 {
	wide := max(s.high-s.low, 0.04)
	step := math.Pow(10, math.Floor(math.Log10(wide/3)))
	for _, times := range []float64{5, 2} {
		if step*times <= wide/3 {
			step *= times
			break
		}
	}
	s.low, s.high = math.Floor(s.low/step+1e-9)*step, math.Ceil(s.high/step-1e-9)*step
	if s.high-s.low < step {
		s.high += step
	}
	return step
}

// maxFillDots bounds the dots of a day; those of the newest orders are shown.
const maxFillDots = 100

// addFills marks the fills of the day at the sample before each.
func (l *dayLine) addFills(scale dayScale, samples []desk.Sample, values []float64, all []order.Order, f format) {
	for _, o := range all {
		for _, fill := range o.Fills {
			if fill.At.Before(scale.midnight) || len(l.Fills) == maxFillDots {
				continue
			}
			at := max(0, sort.Search(len(samples), func(i int) bool { return samples[i].At.After(fill.At) })-1)
			verb := map[order.Side]string{order.Buy: "Bought ", order.Sell: "Sold "}[o.Side]
			l.Fills = append(l.Fills, fillDot{
				X: min(scale.x(fill.At), scale.End), Y: scale.y(values[at]),
				Title: fill.At.UTC().Format("15:04") + " " + verb + f.Num(fill.Quantity) + " " + o.Symbol.Name + " at " + f.Px(fill.Price),
			})
		}
	}
}
