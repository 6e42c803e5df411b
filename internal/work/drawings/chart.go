package drawings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/work/charting"
	"candela/lib/chart"
	"candela/lib/market"
)

// Saved returns the drawings of the caller's owner on an instrument as a chart draws them, the newest of them first, at
// most so many, and how many more there are.
func (s *Shelf) Saved(ctx context.Context, caller principal.Caller, instrument market.Symbol, most int) (drawn []charting.Drawing, more int, err error) {
	value, err := s.Store.Kept(ctx, caller.Subject, record)
	if err != nil {
		return nil, 0, err
	}
	kept, err := read(value)
	if err != nil {
		return nil, 0, err
	}
	all := kept[instrument.String()]
	slices.SortStableFunc(all, func(a, b Drawing) int { return b.Changed.Compare(a.Changed) })
	shown := all[:min(max(most, 0), len(all))]
	for i := range shown {
		drawn = append(drawn, shown[i].drawn())
	}
	return drawn, len(all) - len(shown), nil
}

// drawn is the drawing as a picture has it. A picture has no measure, but a box whose text says what was measured.
func (d *Drawing) drawn() charting.Drawing {
	as := charting.Drawing{
		ID: d.ID, Field: "drawings", Time: charting.DrawnTime{Unix: d.Time}, Time2: charting.DrawnTime{Unix: d.Time2}, Price: d.Price, Price2: d.Price2, Text: d.Text,
	}
	switch d.Type {
	case "line":
		as.Kind = chart.LineDrawing
	case "ray":
		as.Kind = chart.RayDrawing
	case "fib":
		as.Kind = chart.FibDrawing
	case "text":
		as.Kind = chart.TextDrawing
	case "box":
		as.Kind = chart.BoxDrawing
	case "measure":
		as.Kind, as.Text = chart.BoxDrawing, d.measured()
	default:
		as.Kind = chart.LevelDrawing
	}
	return as
}

// measured says how far the second point of a measure is from the first.
func (d *Drawing) measured() string {
	by := d.Price2.Sub(d.Price)
	percent := by.Mul(decimal.NewFromInt(100)).DivRound(d.Price, 2)
	sign := ""
	if by.IsPositive() {
		sign = "+"
	}
	text := fmt.Sprintf("%s%s (%s%s %%)", sign, by, sign, percent.StringFixed(2))
	if took := time.Duration(d.Time2-d.Time) * time.Second; took != 0 {
		text += ", " + span(took.Abs())
	}
	if d.Text != "" {
		text += ", " + d.Text
	}
	return text
}

func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}
