package app

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"candela/internal/config"
	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/internal/work/charting/payload"
	"candela/lib/chart"
)

// drawOnce draws the configured chart and writes it to its output.
func (rt Runtime) drawOnce(ctx context.Context) error {
	if rt.Draw == nil || len(rt.Venues) == 0 {
		return absent(config.ModeChart)
	}
	want := rt.Config.Chart
	selections, problems := charting.Resolve(rt.library(), want.Indicators)
	if len(problems) > 0 {
		return &config.Error{Problems: problems}
	}
	theme, err := chart.ParseTheme(want.Theme)
	if err != nil {
		return err
	}
	bars, err := rt.openBars()
	if err != nil {
		return err
	}
	defer bars.close()
	shown, err := charting.Compute(ctx, bars, charting.Request{Symbol: want.Symbol, Interval: want.Interval, Bars: want.Bars, Indicators: selections, Compare: want.Compare})
	if err != nil {
		return marketdata.Suggest(ctx, bars, err)
	}
	spec := charting.Picture(chart.Spec{Width: want.Width, Height: want.Height, Scale: want.Scale, Theme: theme, Log: want.LogScale}, shown)
	spec.Symbol = cmp.Or(want.Symbol.Name, spec.Symbol)
	for i, name := range want.Indicators {
		spec.Results[i].Name = name // as written, without the number of a repeated one
	}
	spec.Boxes = func(missing []rune) {
		rt.Log.WarnContext(ctx, "the picture shows boxes for characters that no font of this machine has", "characters", string(missing))
	}
	png, err := rt.Draw.PNG(spec)
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	if err := rt.deliver(want.Output, png); err != nil {
		return err
	}
	if shown.Source == payload.Sample {
		rt.Log.WarnContext(ctx, "sample bars drawn because no symbol was given; draw a market with --symbol BTCUSDT, and see --help")
	}
	rt.Log.InfoContext(ctx, "chart written", "output", want.Output, "bytes", len(png),
		"source", shown.Provider, "bars", spec.Bars.Len(), "interval", want.Interval.String())
	return nil
}

// deliver writes the picture to output, in place: renaming a finished file over its
// target would replace a device such as /dev/null.
func (rt Runtime) deliver(output string, png []byte) error {
	if output == "-" {
		_, err := rt.Stdout.Write(png)
		return err
	}
	return os.WriteFile(output, png, 0o644) //nolint:gosec // G306: the umask decides who may read a picture
}
