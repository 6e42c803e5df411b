package app

import (
	"context"
	"fmt"
	"os"

	"candela/internal/chart"
	"candela/internal/config"
	"candela/internal/fault"
	"candela/internal/indicator"
	"candela/internal/provider"
)

// Renderer draws a chart as a PNG.
type Renderer func(*chart.Spec) ([]byte, error)

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
	defer closeSources(sources)
	source, err := pick(sources, want.Symbol)
	if err != nil {
		return err
	}
	spec, err := compute(ctx, source, want, selections)
	if err != nil {
		return err
	}
	png, err := rt.Draw(spec)
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	if err := rt.deliver(want.Output, png); err != nil {
		return err
	}
	rt.Log.InfoContext(ctx, "chart written", "output", want.Output, "bytes", len(png),
		"source", source.Name(), "bars", spec.Bars.Len(), "interval", want.Interval.String())
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
func compute(ctx context.Context, source provider.Provider, want config.Chart, selections []*indicator.Selection) (*chart.Spec, error) {
	theme, err := chart.ParseTheme(want.Theme)
	if err != nil {
		return nil, err
	}
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
	in := indicator.Input{
		Env:  indicator.Env{Interval: want.Interval, Calendar: instrument.Calendar},
		Bars: &page.Bars,
	}
	results := make([]chart.Named, 0, len(selections))
	for i, s := range selections {
		results = append(results, chart.Named{Name: want.Indicators[i], Result: s.Compute(in)})
	}
	return &chart.Spec{
		Bars: page.Bars, Symbol: instrument.Symbol.Name, Interval: want.Interval, Results: results,
		Width: want.Width, Height: want.Height, Scale: want.Scale, Theme: theme, Log: want.LogScale,
		Sample: page.Synthetic, Forming: page.Running,
	}, nil
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
