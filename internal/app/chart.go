package app

import (
	"context"
	"fmt"
	"os"

	"candela/internal/config"
	"candela/internal/fault"
	"candela/internal/indicator"
	"candela/internal/market"
	"candela/internal/provider"
)

// Picture is what a Renderer draws.
type Picture struct {
	config.Chart
	Bars    market.Bars
	Results []Result
	Running bool // the last bar has not closed
	Sample  bool // the bars are made up
}

// Result is what an indicator gave, under the name it was asked for.
type Result struct {
	Name string
	*indicator.Result
}

// Renderer draws a picture as a PNG.
type Renderer func(*Picture) ([]byte, error)

// drawOnce draws the one chart that is configured and writes it to its place.
func (rt Runtime) drawOnce(ctx context.Context) error {
	if rt.Draw == nil || rt.Sources == nil {
		return absent(config.ModeChart)
	}
	want := rt.Config.Chart
	selections, err := resolve(want.Indicators)
	if err != nil {
		return err
	}
	sources, err := rt.Sources(rt.Config)
	if err != nil {
		return err
	}
	source, err := pick(sources, want.Symbol)
	if err != nil {
		return err
	}
	picture, err := compute(ctx, source, want, selections)
	if err != nil {
		return err
	}
	png, err := rt.Draw(picture)
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	if err := rt.deliver(want.Output, png); err != nil {
		return err
	}
	rt.Log.InfoContext(ctx, "chart written", "output", want.Output, "bytes", len(png),
		"source", source.Name(), "bars", picture.Bars.Len(), "interval", want.Interval.String())
	return nil
}

// resolve looks every name up and reports all that are wrong.
func resolve(names []string) ([]*indicator.Selection, error) {
	selections := make([]*indicator.Selection, 0, len(names))
	var problems []error
	for _, name := range names {
		s, err := indicator.Resolve(indicator.Request{Name: name})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		selections = append(selections, s)
	}
	if len(problems) > 0 {
		return nil, &config.Error{Problems: problems}
	}
	return selections, nil
}

// compute reads the bars and runs the indicators over them.
func compute(ctx context.Context, source provider.Provider, want config.Chart, selections []*indicator.Selection) (*Picture, error) {
	instrument, err := source.Instrument(ctx, want.Symbol)
	if err != nil {
		return nil, err
	}
	page, err := newest(ctx, source, provider.BarQuery{Symbol: want.Symbol, Interval: want.Interval, Limit: want.Bars})
	if err != nil {
		return nil, err
	}
	if page.Bars.Len() == 0 {
		return nil, &fault.Error{
			Kind: fault.NotFound, Code: "no_bars", Field: "symbol", Value: want.Symbol.String(),
			Message: fmt.Sprintf("%s has no %s bars of %s", source.Name(), want.Interval, want.Symbol),
		}
	}
	picture := &Picture{Chart: want, Bars: page.Bars, Running: page.Running, Sample: page.Synthetic}
	in := indicator.Input{
		Env:  indicator.Env{Interval: want.Interval, Calendar: instrument.Calendar},
		Bars: &page.Bars,
	}
	for i, s := range selections {
		picture.Results = append(picture.Results, Result{want.Indicators[i], s.Compute(in)})
	}
	return picture, nil
}

// deliver writes the picture where it was asked for. It writes in place: renaming
// a finished file over its target would replace a device such as /dev/null.
func (rt Runtime) deliver(output string, png []byte) error {
	if output == "-" {
		_, err := rt.Stdout.Write(png)
		return err
	}
	return os.WriteFile(output, png, 0o644) //nolint:gosec // G306: a picture is for whoever the umask admits
}
