package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/marketdata"
	"candela/internal/kit/budget"
	"candela/internal/kit/fair"
	"candela/internal/kit/principal"
	"candela/internal/picture/payload"
	"candela/internal/research/report"
	"candela/internal/serve/mcp"
	"candela/lib/chart"
	"candela/lib/market"
	"candela/lib/ta"
)

// BarSource reads bars; a set holds at least one. It must be safe for concurrent use,
// and return errors that a client may read: never sample bars in place of real ones.
type BarSource interface {
	Bars(ctx context.Context, r marketdata.Request) (marketdata.BarSet, error)
}

// charts implements the tools that need no trading.
type charts struct {
	source   BarSource
	renderer Renderer
	alerts   Alerts    // nil without trading
	account  Positions // nil without trading
	library  ta.Library
	log      *slog.Logger
	turns    *fair.Slots // shares the processors fairly among owners, and among the tokens of each
	behind   *fair.Slots // shares the processors that long work may use
	scripted *fair.Slots // the calls with scripts that run at a time
	studies  *fair.Slots // the back-tests, tests of alerts and scans with scripts that run at a time
	budget   *budget.Pool
	lends    bool      // charts give their slots to owners who have used less
	memory   sync.Pool // of *ta.Memory
	reports  *report.Store
	runs     *report.Runs[mcp.Result]
	trials   *report.Trials
	scripts  Scripts // nil without the tool set scripts
	version  string  // of the program
	apart    func(work func() error) error
}

// compute is Compute with a slot held for all but reading the bars.
func (c *charts) compute(ctx context.Context, caller principal.Caller, q ChartRequest) (shown *payload.Chart, err error) {
	bars, err := read(ctx, c.source, q)
	if err != nil {
		return nil, err
	}
	turn := c.inTurn
	if countScripts(q.Indicators) > 0 {
		turn = c.inScripts
	}
	err = turn(ctx, caller, func(ctx context.Context) error {
		memory, ok := c.memory.Get().(*ta.Memory)
		if !ok {
			memory = new(ta.Memory)
		}
		defer c.memory.Put(memory)
		run := c.budget.Run(ctx, caller.Subject)
		defer run.Close()
		shown, err = show(ctx, bars, q, memory, run)
		return err
	})
	return shown, err
}

// ChartRequest describes the content of a chart, for generate_chart, get_indicators and
// the command line.
type ChartRequest struct {
	Symbol     market.Symbol
	Interval   market.Interval
	Indicators []NamedIndicator
	Bars       int // the newest to show; 0 with a start for all of the range
	Range      TimeRange
	Compare    []market.Symbol // drawn as percent lines
}

// Compute reads the bars and runs the indicators. Each receives the visible bars and
// its own warm-up, so that the result of one does not depend on the others, and is then
// cut to the visible bars.
func Compute(ctx context.Context, source BarSource, q ChartRequest) (*payload.Chart, error) {
	bars, err := read(ctx, source, q)
	if err != nil {
		return nil, err
	}
	return show(ctx, bars, q, new(ta.Memory), nil)
}

// chartBars holds the bars that a request needs: those to show among those for the
// warm-up, and those of the symbols to compare with.
type chartBars struct {
	marketdata.BarSet
	shown    market.Bars
	compared []marketdata.BarSet
	wanted   wantedBars
	scripts  int // among the indicators
}

// read reads the bars that a request needs.
func read(ctx context.Context, source BarSource, q ChartRequest) (bars chartBars, err error) {
	if err := cmp.Or(q.Range.check(q.Symbol), checkCompared(q.Symbol, q.Compare), checkWants(&q)); err != nil {
		return bars, err
	}
	if bars.BarSet, err = source.Bars(ctx, wanted(&q)); err != nil {
		return bars, err
	}
	if bars.shown, err = q.Range.shown(&bars.BarSet, q.Bars, q.Interval); err != nil {
		return bars, err
	}
	if bars.compared, err = readCompared(ctx, source, &q, &bars.BarSet, &bars.shown); err != nil {
		return bars, err
	}
	bars.wanted, err = readWants(ctx, source, &q, &bars)
	return bars, err
}

// wanted is the request for the bars of the chart's own symbol.
func wanted(q *ChartRequest) marketdata.Request {
	env := ta.Env{Interval: q.Interval}
	most := q.Range.most(q.Bars)
	want := marketdata.Request{Symbol: q.Symbol, Interval: q.Interval, Bars: most, Start: q.Range.Start, End: q.Range.End}
	for _, r := range q.Indicators {
		_, stable := r.Selection.Warmup(env)
		history := ta.History{Interval: q.Interval, Shown: most, Stable: stable}
		want.Warmup = max(want.Warmup, history.Len()-most)
		if needs, ok := r.Selection.Instance.(ta.Needs); ok {
			want.Series = append(want.Series, needs.Needs()...)
		}
		if reader, ok := r.Selection.Instance.(ta.FactsReader); ok {
			want.Facts = want.Facts || reader.ReadsFacts()
		}
	}
	return want
}

// provenance describes the origin of the bars.
func provenance(set *marketdata.BarSet) payload.Provenance {
	p := payload.Provenance{
		Source: payload.Fetch, Provider: set.Provider, AsOf: set.AsOf,
		LastBarClosed: !set.Forming, Cut: set.Cut, Stale: set.Stale, WarmupOK: true, BuiltFrom: set.BuiltFrom, Calendar: set.Calendar,
	}
	switch {
	case set.Synthetic:
		p.Source, p.AsOf = payload.Sample, time.Time{}
	case set.Live:
		p.Source = payload.Cache
	}
	return p
}

// show runs the indicators over the bars, in memory that the chart does not keep, and
// compares the symbols. run is what scripts may hold.
func show(ctx context.Context, bars chartBars, q ChartRequest, memory *ta.Memory, run *budget.Run) (*payload.Chart, error) {
	set, shown := bars.BarSet, bars.shown
	bars.scripts = countScripts(q.Indicators)
	env := ta.Env{Interval: q.Interval, Calendar: set.Calendar, Facts: set.Facts, Budget: run}
	chart := &payload.Chart{
		Symbol: set.Symbol.String(), Instrument: set.Instrument, Interval: q.Interval, Bars: &shown,
		Provenance: provenance(&set),
	}
	chart.Stale = chart.Stale || bars.wanted.stale()
	chart.Holes = holes(&set, &shown, q.Interval)
	var err error
	if chart.Compared, err = compared(bars.compared, &shown, q.Interval, set.Calendar); err != nil {
		return nil, err
	}
	keys := payload.Keys(keyNames(q.Indicators))
	for i, r := range q.Indicators {
		if err := fair.Pause(ctx); err != nil {
			return nil, err
		}
		memory.Reset()
		result, warm := compute(r.Selection, env, &bars, shown.Len(), memory)
		chart.WarmupOK = chart.WarmupOK && warm
		chart.Indicators = append(chart.Indicators, payload.Indicator{Key: keys[i], Result: result})
	}
	return chart, nil
}

// countScripts returns how many of the indicators are scripts.
func countScripts(all []NamedIndicator) (n int) {
	for _, r := range all {
		if alert.UsesScript(r.Selection) {
			n++
		}
	}
	return n
}

// holes counts the missing bars among those shown: of the interval they were built
// from, or of their own. It returns 0 if the bars do not match the calendar.
func holes(set *marketdata.BarSet, shown *market.Bars, i market.Interval) int {
	if set.BuiltFrom.Valid() {
		within := slices.DeleteFunc(slices.Clone(set.Holes), func(g market.Gap) bool { return g.To <= shown.T[0] })
		return set.Calendar.Missed(within)
	}
	if set.Synthetic {
		return 0
	}
	found, err := market.Gaps(shown, i, set.Calendar)
	if err != nil || len(found.OffGrid) > 0 {
		return 0
	}
	return set.Calendar.Missed(found.Gaps)
}

// compute computes one indicator over the bars shown and its own warm-up, and reports
// whether the warm-up was complete.
func compute(s *ta.Selection, env ta.Env, all *chartBars, shown int, memory *ta.Memory) (*ta.Result, bool) {
	set := &all.BarSet
	_, stable := s.Warmup(env)
	sums, ok := s.Instance.(ta.Summing)
	sum := ok && sums.Sums()
	if sum {
		stable = 0 // a sum starts at the first bar shown, which the result names
	}
	history := ta.History{Interval: env.Interval, Shown: shown, Stable: stable}
	from := history.Begin(&set.Bars, set.Forming)
	total := set.Bars.Len() - from
	bars := set.Bars.Tail(total)
	in := ta.Input{Env: env, Bars: &bars, Shown: shown, Forming: set.Forming, Memory: memory, Scripts: all.scripts, Series: make(map[market.SeriesName][]float64, len(set.Series))}
	for name, values := range set.Series {
		in.Series[name] = values[from:]
	}
	others, otherWarm := all.wanted.of(s, env.Interval)
	in.Others = others
	result := payload.Cut(s.Compute(in), total, shown)
	result.Shown = stable == 0 && others == nil
	if sum {
		result.Anchored = bars.T[0]
	}
	result.Until = all.wanted.until(s, env, &bars)
	return result, total >= shown+stable && otherWarm
}

func (c *charts) getIndicators() toolSpec {
	arguments := func() (*ChartRequest, args) {
		q := &ChartRequest{Interval: market.Hour4, Bars: defaultBars}
		return q, args{
			symbolArg(&q.Symbol, "The instrument, such as BTCUSDT, AAPL or binance:BTCUSDT.").require(),
			indicatorsArg(c.library, "indicators", &q.Indicators, "As in generate_chart.", nil).require(),
			intervalArg(&q.Interval, "Length of a bar.").describe("Length of a bar, as in generate_chart."),
			q.Range.startArg("Signals from here on: a date or RFC 3339 time, UTC."), q.Range.endArg("Values as of then. Default: now."),
		}
	}
	return toolSpec{
		name: "get_indicators", title: "Compute indicators", scope: principal.Charts,
		description: "Compute indicators and return the latest values, newest signals and levels, for questions such as whether RSI is oversold. " +
			"0.5 to 2 KB per indicator.",
		output: computedSchema(), hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, q *ChartRequest) (mcp.Result, error) {
			if q.Range.Start != 0 {
				q.Bars = 0
			}
			chart, err := c.compute(ctx, caller, *q)
			if err != nil {
				return mcp.Result{}, err
			}
			return rawResult(payload.AppendComputed(nil, chart)), nil
		}),
	}
}

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

	// seriesLimit keeps a result, which with structured content holds the series twice,
	// below the 1,048,576 bytes at which clients truncate.
	seriesLimit = 480_000
)

func defaultIndicators() []string { return []string{"ema_stack", "cipher_b", "macd"} }

// chartArguments holds the arguments of generate_chart.
type chartArguments struct {
	ChartRequest
	width, height, scale int
	format, theme        string
	log                  bool
	barsGiven            bool
	drawings             []drawing
}

func (c *charts) declareChart() (*chartArguments, args) {
	a := &chartArguments{
		ChartRequest: ChartRequest{Interval: market.Hour4, Bars: defaultBars},
		width:        chart.DefaultWidth, height: chart.DefaultHeight, scale: 1, format: formatPNG, theme: "dark",
	}
	return a, args{
		symbolArg(&a.Symbol, "The instrument, such as BTCUSDT, AAPL, EURUSD=X or binance:BTCUSDT.").alias("ticker"),
		intervalArg(&a.Interval, "Length of a bar.").alias("timeframe"),
		indicatorsArg(c.library, "indicators", &a.Indicators, `Names from list_indicators, or objects with parameters such as {"name":"rsi","length":21}; an empty list draws the price alone.`, defaultIndicators()).alias("panels"),
		intArg("bars", &a.Bars, 1, chart.MaxBars, "Number of newest bars to show.").note(&a.barsGiven),
		a.Range.startArg("Oldest bar: a date or RFC 3339 time, UTC. Without bars, all bars from there, at most 5000."),
		a.Range.endArg("Bars closed by then; a date includes its day. Default: now."),
		compareArg(&a.Compare, "Other symbols, drawn as percent lines."),
		drawingsArg(&a.drawings, "level has price; text has time, price, text; the others have two points. fib retraces the move from price to price2. Times as in start."),
		intArg("width", &a.width, chart.MinSide, chart.MaxSide, "Pixels. Vision models scale down above 1568."),
		intArg("height", &a.height, chart.MinSide, chart.MaxSide, "Pixels."),
		enumArg("format", &a.format, "",
			formatPNG, formatSummary, formatBoth, formatSeries),
		enumArg("theme", &a.theme, "", "dark", "light"),
		intArg("scale", &a.scale, 1, chart.MaxScale, "For sharp screens."),
		boolArg("log", &a.log, "Logarithmic price axis."),
	}
}

// generateChart has no output schema: see docs/adr/0005.
func (c *charts) generateChart() toolSpec {
	return toolSpec{
		name: "generate_chart", title: "Draw a chart", scope: principal.Charts,
		description: "Draw a candlestick chart with indicators, or return its data as JSON. " +
			"format png is the picture (80 to 140 KB of base64), summary the key figures (2 to 8 KB; prefer it for numbers), " +
			"both the two, series every value of every bar (about 90 KB for 200 bars). " +
			"A signal is at bar x, time t; the close of bar confirmed_x confirmed it. " +
			"Without a symbol it draws sample data (source: sample).",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		meta:  json.RawMessage(`{"anthropic/maxResultSizeChars":500000}`),
		call: calling(c.declareChart, func(ctx context.Context, caller principal.Caller, a *chartArguments) (mcp.Result, error) {
			if a.Indicators == nil {
				a.Indicators = resolveAll(defaultIndicators())
			}
			if a.Range.Start != 0 && !a.barsGiven {
				a.Bars = 0
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
	drawings, err := place(a.drawings, shown)
	if err != nil {
		return mcp.Result{}, err
	}
	spec := Picture(a.style(c.loadOverlay(ctx, caller, a.Symbol, shown)), shown)
	spec.Drawings = drawings
	for i, visible := range spec.Shown() {
		shown.Drawings[i].Shown = visible
	}
	if a.format == formatSeries {
		if err := checkDrawn("generate_chart", shown); err != nil {
			return mcp.Result{}, err
		}
	}
	switch a.format {
	case formatSeries:
		return rawResult(payload.AppendSeries(nil, shown, seriesLimit)), nil
	case formatSummary:
		return rawResult(payload.AppendSummary(nil, shown)), nil
	}
	png, err := c.draw(ctx, caller, spec)
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
		Levels: drawn.levels, Trades: drawn.trades,
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
	for _, other := range shown.Compared {
		style.Compare = append(style.Compare, chart.Comparison{Symbol: other.Symbol, Percent: other.Values, Stale: other.Stale})
	}
	for _, ind := range shown.Indicators {
		style.Results = append(style.Results, chart.Named{Name: ind.Key, Result: ind.Result})
	}
	return &style
}
