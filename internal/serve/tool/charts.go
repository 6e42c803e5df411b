package tool

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/charting"
	"candela/internal/work/charting/payload"
	"candela/internal/work/research"
	"candela/lib/chart"
	"candela/lib/market"
	"candela/lib/ta"
)

// charts implements the tools that need no trading.
type charts struct {
	*charting.Charting
	research *research.Research // nil without the tool set research
	library  ta.Library
	peers    Peers // nil on a single node
	saved    bool  // the set drawings is on
}

func (c *charts) getIndicators() toolSpec {
	arguments := func() (*charting.Request, args) {
		q := &charting.Request{Interval: market.Hour4, Bars: defaultBars}
		return q, args{
			symbolArg(&q.Symbol, "As in generate_chart.").require(),
			indicatorsArg(c.library, "indicators", &q.Indicators, "As in generate_chart. None: the last price alone.", nil).require().unless("symbol"),
			intervalArg(&q.Interval, "Length of a bar.").describe("As in generate_chart."),
			startArg(&q.Range, "Signals from here on."), endArg(&q.Range, "Values as of then."),
		}
	}
	return toolSpec{
		name: "get_indicators", title: "Compute indicators", scope: principal.Charts,
		description: "Compute indicators and return the latest values, the last price, newest signals and levels. " +
			"0.5 to 2 KB per indicator.",
		output: computedSchema(), hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: reusing(arguments, func(ctx context.Context, caller principal.Caller, q *charting.Request) (mcp.Result, error) {
			if q.Range.Start != 0 {
				q.Bars = 0
			}
			chart, err := c.Chart(ctx, caller, *q)
			if err != nil {
				return mcp.Result{}, err
			}
			return rawResult(payload.AppendComputed(nil, chart)), nil
		}),
	}
}

const defaultBars = 200

func defaultIndicators() []string { return []string{"ema_stack", "cipher_b", "macd"} }

// chartArguments holds the arguments of generate_chart.
type chartArguments struct {
	charting.Drawn
	theme     string
	barsGiven bool
}

func (c *charts) declareChart() (*chartArguments, args) {
	a := &chartArguments{
		Drawn: charting.Drawn{
			Request: charting.Request{Interval: market.Hour4, Bars: defaultBars},
			Width:   chart.DefaultWidth, Height: chart.DefaultHeight, Scale: 1, Format: charting.PNG,
		},
		theme: "dark",
	}
	all := args{
		symbolArg(&a.Symbol, "Such as BTCUSDT, AAPL, EURUSD=X or binance:BTCUSDT.").alias("ticker"),
		intervalArg(&a.Interval, "Bar length.").alias("timeframe"),
		indicatorsArg(c.library, "indicators", &a.Indicators, `Names from list_indicators, or objects with parameters such as {"name":"rsi","length":21}; [] draws the price alone.`, defaultIndicators()).alias("panels"),
		intArg("bars", &a.Bars, 1, chart.MaxBars, "How many newest bars.").note(&a.barsGiven),
		startArg(&a.Range, "Oldest bar: a date or RFC 3339 time, UTC. Without bars, all bars from there, at most 5000."),
		endArg(&a.Range, "Bars closed by then; a date includes its day."),
		compareArg(&a.Compare, "Other symbols, drawn as percent lines."),
		drawingsArg(&a.Drawings, "level has price; text has time, price, text; the others have two points. fib retraces the move from price to price2. Times as in start."),
		intArg("width", &a.Width, chart.MinSide, chart.MaxSide, "Pixels. Vision models scale down above 1568."),
		intArg("height", &a.Height, chart.MinSide, chart.MaxSide, ""),
		enumArg("format", &a.Format, "", charting.Formats()...),
		enumArg("theme", &a.theme, "", "dark", "light"),
		intArg("scale", &a.Scale, 1, chart.MaxScale, "For sharp screens."),
		boolArg("log", &a.Log, "Logarithmic price axis."),
	}
	if c.saved {
		all = append(all, boolArg("saved_drawings", &a.Saved, "With what stays on the owner's chart: the newest, 20 in all."))
	}
	return a, all
}

// generateChart has no output schema: see docs/adr/0005.
func (c *charts) generateChart() toolSpec {
	usual := sync.OnceValue(func() []charting.NamedIndicator { return resolveAll(defaultIndicators()) })
	return toolSpec{
		name: "generate_chart", title: "Draw a chart", scope: principal.Charts,
		description: "Draw a candlestick chart with indicators, or its data as JSON. " +
			"format png is the picture (50 to 140 KB), summary the key figures (2 to 8 KB; best for numbers), " +
			"both the two, series every value of every bar (90 KB for 200 bars). " +
			"A signal is at bar x, time t; the close of confirmed_x confirmed it. " +
			"Without a symbol it draws sample data (source: sample).",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		meta:  json.RawMessage(`{"anthropic/maxResultSizeChars":500000}`),
		call: reusing(c.declareChart, func(ctx context.Context, caller principal.Caller, a *chartArguments) (mcp.Result, error) {
			if a.Indicators == nil {
				a.Indicators = slices.Clone(usual())
			}
			if a.Range.Start != 0 && !a.barsGiven {
				a.Bars = 0
			}
			if a.theme == "light" {
				a.Theme = chart.Light
			}
			made, err := c.Make(ctx, caller, a.Drawn)
			switch {
			case err != nil:
				return mcp.Result{}, err
			case made.Picture == nil:
				return rawResult(made.JSON), nil
			}
			// No structured content with a picture: some clients show it instead of the
			// picture.
			result := mcp.Result{Content: []mcp.Content{{Image: made.Picture, MIME: "image/png", Meta: made.About}}}
			if made.Boxes != "" {
				result.Content = append(result.Content, mcp.Content{Text: []byte(made.Boxes)})
			}
			if made.JSON != nil {
				result.Content = append(result.Content, mcp.Content{Text: made.JSON})
			}
			return result, nil
		}),
	}
}
