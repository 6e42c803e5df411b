package tool

import (
	"context"
	"encoding/json"

	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/picture/chart"
	"candela/internal/picture/payload"
	"candela/internal/serve/mcp"
)

// Renderer draws charts as PNG. It must be safe for concurrent use. An error names the
// invalid argument.
type Renderer interface {
	PNG(spec *chart.Spec) ([]byte, error)
}

// The formats of generate_chart.
const (
	formatPNG     = "png"
	formatSummary = "summary"
	formatBoth    = "both"
	formatSeries  = "series"
)

const (
	defaultBars = 200

	// seriesLimit keeps a result, which holds the series twice, below the
	// 1,048,576 bytes at which clients truncate.
	seriesLimit = 480_000
)

// pictureLevel is the deflate level of pictures. Their size costs network and model
// context, which is worth a few milliseconds.
const pictureLevel = 6

func defaultIndicators() []string { return []string{"ema_stack", "cipher_b", "macd"} }

// chartArguments holds the arguments of generate_chart.
type chartArguments struct {
	ChartRequest
	width, height, scale int
	format, theme        string
	log                  bool
}

func declareChart() (*chartArguments, args) {
	a := &chartArguments{
		ChartRequest: ChartRequest{Interval: market.Hour4, Bars: defaultBars},
		width:        chart.DefaultWidth, height: chart.DefaultHeight, scale: 1, format: formatPNG, theme: "dark",
	}
	return a, args{
		symbolArg(&a.Symbol, "The instrument, such as BTCUSDT, AAPL, EURUSD=X or binance:BTCUSDT. Omit it for sample data.").alias("ticker"),
		intervalArg("interval", &a.Interval, "Length of a bar.").alias("timeframe"),
		indicatorsArg("indicators", &a.Indicators, "Indicators to draw: names from list_indicators, or objects with a name and parameters. An empty list draws the price alone.", defaultIndicators()).alias("panels"),
		intArg("bars", &a.Bars, 1, chart.MaxBars, "Number of newest bars to show."),
		intArg("width", &a.width, chart.MinSide, chart.MaxSide, "Width of the picture in pixels. Vision models scale down pictures wider than 1568."),
		intArg("height", &a.height, chart.MinSide, chart.MaxSide, "Height of the picture in pixels."),
		enumArg("format", &a.format, "Result format: picture or JSON.",
			formatPNG, formatSummary, formatBoth, formatSeries),
		enumArg("theme", &a.theme, "Colour theme of the picture.", "dark", "light"),
		intArg("scale", &a.scale, 1, chart.MaxScale, "Device pixels per pixel, for sharp screens."),
		boolArg("log", &a.log, "Logarithmic price axis."),
	}
}

// generateChart has no output schema: see docs/adr/0005.
func (c *charts) generateChart() toolSpec {
	return toolSpec{
		name: "generate_chart", title: "Draw a chart",
		description: "Draw a candlestick chart with indicators, or return its data as JSON. " +
			"Set format: png to see the chart (80 to 140 KB of base64), summary for the key figures (2 to 8 KB), " +
			"both, or series for every value of every bar (about 90 KB for 200 bars). Prefer summary when you need numbers only. " +
			"A signal is at bar x, time t; the close of bar confirmed_x confirmed it. " +
			"Without a symbol it draws sample data (source: sample); a real symbol never returns sample data.",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		meta:  json.RawMessage(`{"anthropic/maxResultSizeChars":500000}`),
		call: calling(declareChart, func(ctx context.Context, caller principal.Caller, a *chartArguments) (mcp.Result, error) {
			if a.Indicators == nil {
				a.Indicators = resolveAll(defaultIndicators())
			}
			return c.generate(ctx, caller, a)
		}),
	}
}

func (c *charts) generate(ctx context.Context, caller principal.Caller, a *chartArguments) (mcp.Result, error) {
	shown, err := c.compute(ctx, caller, a.ChartRequest)
	if err != nil {
		return mcp.Result{}, err
	}
	drawn := c.loadOverlay(ctx, caller, a.Symbol, shown)
	switch a.format {
	case formatSeries:
		return rawResult(payload.AppendSeries(nil, shown, seriesLimit)), nil
	case formatSummary:
		return rawResult(payload.AppendSummary(nil, shown)), nil
	}
	var png []byte
	err = c.inTurn(ctx, caller, func() error {
		png, err = c.renderer.PNG(Picture(a.style(drawn), shown))
		return err
	})
	if err != nil {
		return mcp.Result{}, err
	}
	// No structured content with a picture: some clients show it instead of the
	// picture.
	result := mcp.Result{Content: []mcp.Content{{Image: png, MIME: "image/png", Meta: payload.AppendAbout(nil, shown)}}}
	if a.format == formatBoth {
		result.Content = append(result.Content, mcp.Content{Text: payload.AppendSummary(nil, shown)})
	}
	return result, nil
}

// style returns the part of the picture that the arguments choose, with the overlay.
func (a *chartArguments) style(drawn overlay) chart.Spec {
	spec := chart.Spec{
		Width: a.width, Height: a.height, Scale: a.scale, Log: a.log,
		Level: pictureLevel, Levels: drawn.levels, Trades: drawn.trades,
	}
	if a.theme == "light" {
		spec.Theme = chart.Light
	}
	return spec
}

// Picture returns the specification of a picture of the chart. style holds the size,
// the theme and the overlays.
func Picture(style chart.Spec, shown *payload.Chart) *chart.Spec {
	style.Bars, style.Symbol, style.Interval = *shown.Bars, shown.Symbol, shown.Interval
	style.Sample, style.Forming = shown.Source == payload.Sample, !shown.LastBarClosed
	if shown.Stale {
		style.Note = "stale: " + shown.Provider + " does not answer"
	}
	for _, ind := range shown.Indicators {
		style.Results = append(style.Results, chart.Named{Name: ind.Key, Result: ind.Result})
	}
	return &style
}
