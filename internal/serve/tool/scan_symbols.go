package tool

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/marketdata"
	"candela/internal/kit/budget"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/report"
	"candela/internal/work/research/scan"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// Bounds of a scan.
const (
	mostScanned  = 500
	mostColumns  = 6
	mostWithin   = 100
	scanInFlight = 8 // reads at the same time
	scanSeconds  = 45
)

// scanArgs are the arguments of scan_symbols.
type scanArgs struct {
	scan.Question
	symbols   []market.Symbol
	rankBy    string
	order     string
	limit     int
	seconds   int
	condition json.RawMessage
	waiting   waiting
}

func (c *charts) declareScan() (*scanArgs, args) {
	r := &scanArgs{order: "desc", limit: 20, seconds: scanSeconds, waiting: waiting{-1}}
	r.Library, r.Interval, r.Within = c.library, market.Hour4, 1
	return r, append(args{
		listArg("symbols", &r.symbols, mostScanned, &schema{Type: "string"}, "symbols such as BTCUSDT or AAPL", "1 to 500 instruments.", market.ParseSymbol).require(),
		intervalArg(&r.Interval, "Bar length; default 4h."),
		rawArg("condition", &r.condition).typed(&schema{Type: "object", Description: "A condition of set_alert on closed bars. Without one every symbol is shown with its columns."}),
		intArg("within_bars", &r.Within, 1, mostWithin, "It may hold at any of so many newest closed bars."),
		columnsArg(c.library, &r.Columns),
		stringArg("rank_by", &r.rankBy, 80, "A column. Default: the first."),
		enumArg("order", &r.order, "", "desc", "asc"),
		intArg("limit", &r.limit, 1, 100, "Rows."),
		intArg("max_seconds", &r.seconds, 1, 600, "Then what was read is answered."),
	}, r.waiting.args()...)
}

// typed gives an argument that is read later its schema.
func (f arg) typed(s *schema) arg {
	f.schema = s
	return f
}

const columnExample = `["close","rsi",{"indicator":"macd","line":"Histogram"}]`

// columnsArg is a list of values to show: a price, the name of an indicator, or an object
// that names one of its lines.
func columnsArg(l ta.Library, dst *[]scan.Column) arg {
	allowed := "a list of at most " + strconv.Itoa(mostColumns) + " values such as " + columnExample
	s := &schema{
		Type: "array", Items: &schema{AnyOf: []*schema{{Type: "string"}, {Type: "object"}}}, MaxItems: mostColumns,
		Description: "Values to show: prices, indicators with one line, or objects as in a value condition. Such as " + columnExample + ".",
	}
	return newArg("columns", dst, allowed, s, func(raw json.RawMessage) ([]scan.Column, error) {
		if raw[0] != '[' {
			return nil, noList("columns", raw, allowed)
		}
		var all []scan.Column
		for item := range strictjson.Items(raw) {
			c, err := readColumn(l, item)
			switch {
			case err != nil:
				return nil, err
			case len(all) == mostColumns:
				return nil, fault.Field("columns", "more than "+strconv.Itoa(mostColumns)+" values", allowed)
			case slices.ContainsFunc(all, func(o scan.Column) bool { return o.Name == c.Name }):
				return nil, fault.Field("columns", c.Name, "each value once")
			}
			all = append(all, c)
		}
		return all, nil
	})
}

func readColumn(l ta.Library, item json.RawMessage) (scan.Column, error) {
	const at = "columns"
	if text, ok := strictjson.Text(item); ok {
		if slices.Contains(alert.Prices(), text) {
			return scan.Column{Name: text, Operand: alert.Operand{Price: text}}, nil
		}
		item = json.RawMessage(`{"indicator":` + quote(text) + `}`)
	}
	if item[0] != '{' {
		return scan.Column{}, fault.Field(at, quoteValue(item), "values such as "+columnExample)
	}
	read := side{at: at}
	if err := decodeAt(at, item, (&conditionReader{library: l}).sideArgs(&read)...); err != nil {
		return scan.Column{}, err
	}
	operand, err := read.operand()
	if err != nil {
		return scan.Column{}, err
	}
	name := operand.Price
	if read.entry.selection != nil {
		name = read.entry.name
		if operand.Params != "" {
			name = read.entry.selection.Label()
		}
		if operand.Line != "" {
			name += " " + operand.Line
		}
	}
	return scan.Column{Name: name, Operand: operand}, nil
}

func (c *charts) scanSymbols() toolSpec {
	return toolSpec{
		name: "scan_symbols", title: "Scan symbols", scope: principal.Charts, set: ResearchSet,
		description: "Which of up to 500 symbols meet a condition of set_alert at their last closed bar, with values to compare them by. " +
			"complete is false when some could not be read or judged; failed and skipped name them: say so. About 60 tokens a row.",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(c.declareScan, func(ctx context.Context, caller principal.Caller, r *scanArgs) (mcp.Result, error) {
			if err := r.check(); err != nil {
				return mcp.Result{}, err
			}
			return c.long(ctx, caller, r.waiting, func(ctx context.Context) (mcp.Result, error) {
				found, err := c.scan(ctx, caller, r)
				if err != nil {
					return mcp.Result{}, err
				}
				answer := r.json(found)
				return c.keepReport(caller, "Scan of "+strconv.Itoa(len(r.symbols))+" symbols, "+answer.Interval, &answer.ReportID, &answer, r.tables(found)...)
			})
		}),
	}
}

// check reads the condition and checks what can be checked without bars.
func (r *scanArgs) check() error {
	if len(r.symbols) == 0 {
		return fault.Field("symbols", "[]", "1 to 500 symbols")
	}
	for i, s := range r.symbols {
		if slices.Contains(r.symbols[:i], s) {
			return fault.Field("symbols", s.String(), "each symbol once")
		}
	}
	if r.condition == nil && len(r.Columns) == 0 {
		return fault.Missing("condition", `a condition such as {"value":`+valueExample+`}, or columns to show`)
	}
	if r.condition != nil {
		condition, err := readBarCondition(r.Library, "condition", r.condition)
		if err != nil {
			return err
		}
		r.Condition = &condition
	}
	if r.rankBy != "" && len(r.Columns) == 0 {
		return fault.Field("rank_by", truncate(r.rankBy), `a name in columns, such as "columns":["rsi"],"rank_by":"rsi"`)
	}
	if r.rankBy != "" && r.rank() < 0 {
		names := make([]string, len(r.Columns))
		for i, column := range r.Columns {
			names[i] = column.Name
		}
		return fault.Field("rank_by", r.rankBy, "one of the columns: "+strings.Join(names, ", "), fault.Nearest(r.rankBy, names)...)
	}
	return r.Check()
}

// rank returns the column by which rows are ranked, -1 without columns.
func (r *scanArgs) rank() int {
	if r.rankBy == "" && len(r.Columns) > 0 {
		return 0
	}
	return slices.IndexFunc(r.Columns, func(column scan.Column) bool { return column.Name == r.rankBy })
}

// scanned is what a scan has found so far.
type scanned struct {
	rows    []scan.Row
	done    int // symbols that were judged
	failed  []scanFailure
	skipped []scanFailure
	asOf    int64 // of the newest bar
}

type scanFailure struct {
	Symbol string `json:"symbol"`
	Why    string `json:"why"`
	About  string `json:"message,omitempty"` // what a script reports
	Retry  int    `json:"retry_after_s,omitempty"`
}

// scan reads and judges the symbols.
func (c *charts) scan(ctx context.Context, caller principal.Caller, r *scanArgs) (*scanned, error) {
	requests := make([]marketdata.Request, len(r.symbols))
	for i, s := range r.symbols {
		requests[i] = marketdata.Request{Symbol: s, Interval: r.Interval, Bars: 2, Warmup: min(r.Depth(), mostWarmup), Background: true, Closed: true}
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(r.seconds)*time.Second)
	defer cancel()
	var found scanned
	scripts := len(r.Scripts()) > 0
	report := startProgress(ctx, len(r.symbols))
	marketdata.ReadEach(limited, requests, scanInFlight, c.Bars.Bars, func(i int, set *marketdata.BarSet, err error) {
		if err == nil {
			run := c.Turns.Run(limited, caller, scripts)
			err = c.Turns.Study(limited, caller, run, func(context.Context) error { return found.judge(&r.Question, r.symbols[i], set, run) })
		}
		if err != nil {
			found.failed = append(found.failed, failureOf(r.symbols[i], err))
		}
		report.step(found.done+len(found.skipped), len(found.failed))
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &found, nil
}

// judge evaluates the question over the closed bars of a symbol.
func (s *scanned) judge(q *scan.Question, symbol market.Symbol, set *marketdata.BarSet, run *budget.Run) error {
	n := set.Bars.Len()
	if set.Forming {
		n--
	}
	switch {
	case set.Stale:
		return fault.Unreachable(nil, 0, "%s does not answer", set.Provider)
	case n == 0:
		s.skipped = append(s.skipped, scanFailure{Symbol: symbol.String(), Why: "no_history"})
		return nil
	}
	closed := set.Bars.Slice(0, n)
	row, err := q.Look(&closed, replay.Where{Calendar: set.Calendar, Facts: set.Facts, Run: run})
	if err != nil {
		return err
	}
	row.Symbol = symbol.String()
	s.done++
	s.asOf = max(s.asOf, row.Time)
	if row.Meets {
		s.rows = append(s.rows, row)
	}
	return nil
}

// failureOf says in a word why a symbol could not be read.
func failureOf(s market.Symbol, err error) scanFailure {
	out := scanFailure{Symbol: s.String(), Why: "venue_down"}
	failed, script := errors.AsType[*eval.Error](err)
	f := fault.Of(err)
	switch {
	case budget.IsMemory(err):
		out.Why, out.About = budget.MemoryCode, f.Public()
	case script && failed.Unwrap() == nil:
		out.Why, out.About = "script_failed", failed.Error()
	case errors.Is(err, context.DeadlineExceeded) && f == nil:
		out.Why = "timeout"
	case f == nil:
		out.Why = "internal"
	case f.Code == "no_bars":
		out.Why = "no_history"
	case f.Kind == fault.NotFound || f.Kind == fault.Invalid:
		out.Why = "not_found"
	case f.Code == "rate_limited":
		out.Why = f.Code
	}
	if f != nil {
		out.Retry = int((f.RetryAfter + time.Second - 1) / time.Second)
	}
	return out
}

type scanRowJSON struct {
	Symbol string            `json:"symbol"`
	Time   string            `json:"time"`
	Close  figure            `json:"close"`
	Ago    *int              `json:"bars_ago,omitempty"`
	Values map[string]figure `json:"values,omitempty"`
	Anchor string            `json:"anchored_at,omitempty"`
	Short  bool              `json:"short_history,omitempty"`
}

type scanJSON struct {
	Interval  string         `json:"interval"`
	Condition string         `json:"condition,omitempty"`
	Complete  bool           `json:"complete"`
	Asked     int            `json:"asked"`
	Done      int            `json:"done"`
	Matched   int            `json:"matched"`
	RankedBy  string         `json:"ranked_by,omitempty"`
	Rows      []scanRowJSON  `json:"rows"`
	Left      int            `json:"more_rows,omitempty"`
	Failed    []scanFailure  `json:"failed,omitempty"`
	FailedBy  map[string]int `json:"failed_by_reason,omitempty"`
	Skipped   []scanFailure  `json:"skipped,omitempty"`
	SkippedBy map[string]int `json:"skipped_by_reason,omitempty"`
	Unread    int            `json:"not_read,omitempty"`
	Next      string         `json:"next,omitempty"`
	AsOf      string         `json:"as_of,omitempty"`
	ReportID  string         `json:"report_id"`
}

// mostNamed is the number of failures that are named; the others are counted.
const mostNamed = 10

// json writes what was found. It does not depend on the order in which reads ended.
func (r *scanArgs) json(found *scanned) scanJSON {
	scan.Rank(found.rows, r.rank(), r.order == "asc")
	out := scanJSON{
		Interval: r.Interval.String(), Asked: len(r.symbols), Done: found.done, Matched: len(found.rows), Rows: []scanRowJSON{},
		Left: max(0, len(found.rows)-r.limit), Unread: len(r.symbols) - found.done - len(found.failed) - len(found.skipped),
	}
	out.Complete = found.done == len(r.symbols)
	if r.Condition != nil {
		a := alert.Alert{Symbol: market.Symbol{Name: "each symbol"}, Interval: r.Interval, Condition: *r.Condition}
		out.Condition = a.Describe()
	}
	if k := r.rank(); k >= 0 {
		out.RankedBy = r.Columns[k].Name + " " + r.order
	}
	for _, row := range found.rows[:min(len(found.rows), r.limit)] {
		shown := scanRowJSON{Symbol: row.Symbol, Time: market.Stamp(row.Time), Close: figure(row.Close), Short: row.Short}
		if r.Condition != nil && r.Within > 1 {
			shown.Ago = new(row.Ago)
		}
		if row.Anchored != 0 {
			shown.Anchor = market.Stamp(row.Anchored)
		}
		for i, v := range row.Values {
			if shown.Values == nil {
				shown.Values = map[string]figure{}
			}
			shown.Values[r.Columns[i].Name] = figure(v)
		}
		out.Rows = append(out.Rows, shown)
	}
	out.Failed, out.FailedBy = named(found.failed)
	out.Skipped, out.SkippedBy = named(found.skipped)
	if out.Unread > 0 {
		out.Next = "max_seconds was over; call again: bars that were read are kept, so the next scan gets further"
	}
	if found.asOf > 0 {
		out.AsOf = market.Stamp(found.asOf)
	}
	return out
}

// named returns the first failures by symbol, and how many there are for each reason if that
// is not all of them.
func named(all []scanFailure) (some []scanFailure, by map[string]int) {
	slices.SortFunc(all, func(x, y scanFailure) int { return strings.Compare(x.Symbol, y.Symbol) })
	if len(all) > mostNamed {
		by = map[string]int{}
		for _, f := range all {
			by[f.Why]++
		}
	}
	return all[:min(len(all), mostNamed)], by
}

// tables lists the rows of a scan, and the symbols that are missing.
func (r *scanArgs) tables(found *scanned) []report.Table {
	columns := append(make([]string, 0, 5+len(r.Columns)), "symbol", "time", "close", "bars_ago", "short_history")
	for _, c := range r.Columns {
		columns = append(columns, c.Name)
	}
	missing := slices.Concat(found.failed, found.skipped)
	return []report.Table{
		{Name: "rows", Columns: columns, Len: len(found.rows), Row: func(i int) []any {
			row := &found.rows[i]
			line := append(make([]any, 0, len(columns)), row.Symbol, market.Stamp(row.Time), row.Close, row.Ago, row.Short)
			for _, v := range row.Values {
				line = append(line, v)
			}
			return line
		}},
		{Name: "failures", Columns: []string{"symbol", "why", "retry_after_s"}, Len: len(missing), Row: func(i int) []any {
			return []any{missing[i].Symbol, missing[i].Why, missing[i].Retry}
		}},
	}
}
