package console

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
)

// dayLine is the P&L of the day as a line.
type dayLine struct {
	Path, Area string
	Positive   bool
	Zero       float64
	Ticks      []tick // of the amounts
	Hours      []tick
	Limit      *tick
	Label      string
}

type tick struct {
	At   float64
	Text string
}

// The plot of the day, in points.
const (
	plotLeft, plotEnd = 0.0, 800.0
	plotTop, plotFoot = 12.0, 164.0
)

// newDayLine draws the samples of the day; nil if there are too few.
func (c *Console) newDayLine(a guard.Account, f format) *dayLine {
	if c.cfg.Day == nil {
		return nil
	}
	samples := c.cfg.Day()
	if len(samples) < 2 {
		return nil
	}
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i], _ = s.PnL.Float64()
	}
	low, high := min(0, slices.Min(values)), max(0, slices.Max(values))
	line := &dayLine{Positive: values[len(values)-1] >= 0}
	at := slices.IndexFunc(a.Usage, func(u guard.Usage) bool { return u.Rule == guard.LossRule && !u.Limit.Off })
	limit := 0.0
	if at >= 0 {
		limit, _ = a.Usage[at].Limit.Value.Neg().Float64()
		// The limit is drawn when the day comes near it; else it would flatten the line.
		if low < limit/4 {
			low = min(low, limit)
		}
	}
	if high-low < 1e-9 {
		high = low + 1
	}
	y := func(v float64) float64 { return round2(plotTop + (high-v)/(high-low)*(plotFoot-plotTop)) }
	midnight := samples[0].At.Truncate(24 * time.Hour)
	x := func(t time.Time) float64 {
		return round2(plotLeft + t.Sub(midnight).Hours()/24*(plotEnd-plotLeft))
	}
	line.Zero = y(0)
	var path strings.Builder
	for i, s := range samples {
		if i > 0 {
			path.WriteByte(' ')
		}
		path.WriteString(number(x(s.At)) + "," + number(y(values[i])))
	}
	line.Path = path.String()
	line.Area = number(x(samples[0].At)) + "," + number(line.Zero) + " " + line.Path + " " + number(x(samples[len(samples)-1].At)) + "," + number(line.Zero)
	for hour := 0; hour <= 24; hour += 6 {
		line.Hours = append(line.Hours, tick{x(midnight.Add(time.Duration(hour) * time.Hour)), twoDigits(hour) + ":00"})
	}
	for _, v := range []float64{high, low} {
		if v != 0 {
			line.Ticks = append(line.Ticks, tick{y(v), signedFloat(v, f)})
		}
	}
	if at >= 0 && low <= limit {
		line.Limit = &tick{y(limit), signedFloat(limit, f)}
	}
	last := samples[len(samples)-1]
	line.Label = "P&L since midnight UTC: " + f.Signed(last.PnL)
	return line
}

func round2(v float64) float64 { return math.Round(v*100) / 100 }

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func twoDigits(n int) string { return fmt.Sprintf("%02d", n) }

func signedFloat(v float64, f format) string { return f.Signed(decimal.NewFromFloat(v).Round(2)) }
