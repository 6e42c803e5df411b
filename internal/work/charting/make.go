package charting

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/work/charting/payload"
	"candela/lib/chart"
	"candela/lib/fault"
)

// The formats of a chart.
const (
	PNG     = "png"
	Summary = "summary"
	Both    = "both"
	Series  = "series"
	Scene   = "scene" // the series, and how the picture of them looks
)

// Formats lists the formats of a chart.
func Formats() []string { return []string{PNG, Summary, Both, Series, Scene} }

// Drawn is a request for a chart as a picture or as JSON.
type Drawn struct {
	Request
	Width, Height, Scale int
	Theme                chart.Theme
	Log                  bool // a logarithmic price axis
	Drawings             []Drawing
	Saved                bool   // with the drawings that are kept
	Format               string // one of Formats, in any case
}

// Made is a chart in the format that was asked for.
type Made struct {
	Picture []byte // PNG; nil for a format without a picture
	Boxes   string // what the picture shows as boxes, as a sentence; or ""
	About   []byte // what the picture shows, as JSON
	JSON    []byte // nil for the picture alone
}

// seriesLimit keeps an answer, which with structured content holds the series twice,
// below the 1,048,576 bytes at which clients truncate.
const seriesLimit = 480_000

// usualSummary is a little more than most summaries have.
const usualSummary = 8 << 10

// Make computes a chart with the caller's alerts, position and orders and the drawings of the request, and makes
// what its format asks for.
func (c *Charting) Make(ctx context.Context, caller principal.Caller, q Drawn) (made Made, err error) {
	i := slices.IndexFunc(Formats(), func(f string) bool { return strings.EqualFold(f, q.Format) })
	if i < 0 {
		return made, fault.Field("format", fault.Truncate(q.Format, 80), strings.Join(Formats(), ", "), fault.Nearest(q.Format, Formats())...)
	}
	shown, err := c.Chart(ctx, caller, q.Request)
	if err != nil {
		return made, err
	}
	if err := c.addSaved(ctx, caller, &q, shown); err != nil {
		return made, err
	}
	drawings, err := place(q.Drawings, shown)
	if err != nil {
		return made, err
	}
	own := c.loadOverlay(ctx, caller, q.Symbol, shown)
	spec := Picture(chart.Spec{Width: q.Width, Height: q.Height, Scale: q.Scale, Theme: q.Theme, Log: q.Log, Levels: own.levels, Trades: own.trades}, shown)
	spec.Drawings = drawings
	for i, visible := range spec.Shown() {
		shown.Drawings[i].Shown = visible
	}
	switch format := Formats()[i]; format {
	case Series, Scene:
		made.JSON, err = series(shown, spec, format == Scene)
		return made, err
	case Summary, Both:
		made.JSON = payload.AppendSummary(make([]byte, 0, usualSummary), shown)
		if format == Summary {
			return made, nil
		}
	}
	made.About = payload.AppendAbout(nil, shown)
	spec.Boxes = func(missing []rune) { made.Boxes = Boxes(missing) }
	made.Picture, err = c.Draw(ctx, caller, spec)
	return made, err
}

// series writes the values of a chart, on request with how their picture looks.
func series(shown *payload.Chart, spec *chart.Spec, looks bool) ([]byte, error) {
	if size := shown.DrawnBytes(); size > MaxAnswer {
		return nil, TooLarge("generate_chart", size)
	}
	if !looks {
		return payload.AppendSeries(nil, shown, seriesLimit), nil
	}
	return payload.AppendScene(nil, shown, seriesLimit, func(cut *payload.Chart) ([]byte, error) {
		look, err := chart.Describe(Picture(chart.Spec{Theme: spec.Theme, Log: spec.Log}, cut))
		if err != nil {
			return nil, err
		}
		return json.Marshal(look)
	})
}

// addSaved adds the drawings that are kept on the instrument, those that fit beside the drawings of the request.
func (c *Charting) addSaved(ctx context.Context, caller principal.Caller, q *Drawn, shown *payload.Chart) error {
	if !q.Saved || c.Saved == nil || caller.Scope < principal.Read || q.Symbol.IsZero() || shown.Source == payload.Sample {
		return nil
	}
	saved, more, err := c.Saved.Saved(ctx, caller, shown.Instrument, chart.MaxDrawings-len(q.Drawings))
	q.Drawings, shown.MoreDrawings = append(slices.Clip(q.Drawings), saved...), more
	return err
}

// Boxes says which characters a picture shows as boxes.
func Boxes(missing []rune) string {
	var b strings.Builder
	b.WriteString("The picture shows boxes in place of these characters, which no font of the server's machine has:")
	for _, r := range missing {
		fmt.Fprintf(&b, " %c (%U)", r, r)
	}
	return b.String()
}

// MaxAnswer bounds one answer, of any tool and of a page: its texts, pictures and structured content. The largest
// picture has about 4 MB.
const MaxAnswer = 8 << 20

// TooLarge is the error in place of the answer of a tool, which would have so many bytes.
func TooLarge(tool string, size int) error {
	advice := "ask for a smaller part"
	switch tool {
	case "generate_chart":
		advice = "ask for format summary, for fewer bars or indicators, for a smaller picture, or for a script that draws fewer and shorter texts"
	case "get_indicators":
		advice = "ask for fewer indicators at a time"
	case "run_backtest", "test_alert", "scan_symbols", "get_report":
		advice = "ask for fewer bars, symbols or variants, or for one part of the report with get_report"
	}
	return fault.New(fault.Invalid, "answer_too_large", "the answer of %s would have %d MiB, and an answer has at most %d MiB; %s", tool, (size+1<<20-1)>>20, MaxAnswer>>20, advice)
}
