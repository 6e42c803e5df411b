package research

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/marketdata"
	"candela/internal/kit/budget"
	"candela/internal/kit/principal"
	"candela/internal/work/research/past"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/report"
	"candela/internal/work/research/scan"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine/eval"
)

// Bounds of a scan.
const (
	MostScanned  = 500
	scanInFlight = 8 // reads at the same time
)

// Scan asks which symbols meet a condition.
type Scan struct {
	scan.Question
	Symbols []market.Symbol
	RankBy  string // a column; "" for the first
	Order   string // desc or asc
	Limit   int    // of the rows in the answer
	Seconds int    // then what was read is answered
}

// CheckSymbols refuses a question without symbols, or with one twice.
func (r *Scan) CheckSymbols() error {
	if len(r.Symbols) == 0 {
		return fault.Field("symbols", "[]", "1 to 500 symbols")
	}
	for i, s := range r.Symbols {
		if slices.Contains(r.Symbols[:i], s) {
			return fault.Field("symbols", s.String(), "each symbol once")
		}
	}
	return nil
}

// Check refuses a question that cannot be answered, as far as it can be judged without bars.
func (r *Scan) Check() error {
	if err := r.CheckSymbols(); err != nil {
		return err
	}
	if r.RankBy != "" && len(r.Columns) == 0 {
		return fault.Field("rank_by", fault.Truncate(r.RankBy, 80), `a name in columns, such as "columns":["rsi"],"rank_by":"rsi"`)
	}
	if r.RankBy != "" && r.rank() < 0 {
		names := make([]string, len(r.Columns))
		for i, column := range r.Columns {
			names[i] = column.Name
		}
		return fault.Field("rank_by", r.RankBy, "one of the columns: "+strings.Join(names, ", "), fault.Nearest(r.RankBy, names)...)
	}
	return r.Question.Check()
}

// rank returns the column by which rows are ranked, -1 without columns. The name of an indicator is its column where it has one.
func (r *Scan) rank() int {
	if r.RankBy == "" && len(r.Columns) > 0 {
		return 0
	}
	if i := slices.IndexFunc(r.Columns, func(column scan.Column) bool { return column.Name == r.RankBy }); i >= 0 {
		return i
	}
	of := func(column scan.Column) bool { return strings.HasPrefix(column.Name, r.RankBy+" ") }
	i := slices.IndexFunc(r.Columns, of)
	if i >= 0 && slices.ContainsFunc(r.Columns[i+1:], of) {
		return -1
	}
	return i
}

// scanned is what a scan has found so far.
type scanned struct {
	rows    []scan.Row
	done    int // symbols that were judged
	failed  []ScanFailure
	skipped []ScanFailure
	asOf    int64 // of the newest bar
}

// ScanFailure is a symbol that could not be judged.
type ScanFailure struct {
	Symbol string `json:"symbol"`
	Why    string `json:"why"`
	About  string `json:"message,omitempty"` // what a script or a file reports
	Retry  int    `json:"retry_after_s,omitempty"`
}

// Scan reads and judges the symbols, and keeps the report.
func (r *Research) Scan(ctx context.Context, caller principal.Caller, q Scan) (*Answer, error) {
	found, err := r.scan(ctx, caller, &q)
	if err != nil {
		return nil, err
	}
	answer := q.answer(found)
	kept, err := r.keep(caller, "Scan of "+strconv.Itoa(len(q.Symbols))+" symbols, "+answer.Interval, &answer.ReportID, &answer, q.tables(found)...)
	return &Answer{Report: kept, Scan: &answer}, err
}

// scan reads and judges the symbols.
func (r *Research) scan(ctx context.Context, caller principal.Caller, q *Scan) (*scanned, error) {
	requests := make([]marketdata.Request, len(q.Symbols))
	for i, s := range q.Symbols {
		requests[i] = marketdata.Request{Symbol: s, Interval: q.Interval, Bars: 2, Warmup: min(q.Depth(), past.MostWarmup), Background: true, Closed: true}
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(q.Seconds)*time.Second)
	defer cancel()
	var found scanned
	scripts, longer := len(q.Scripts()) > 0, past.LongerReads{Source: r.Charting.Bars, Need: q.Longer(), Within: q.Within}
	report := startProgress(ctx, len(q.Symbols))
	marketdata.ReadEach(limited, requests, scanInFlight, longer.Bars, func(i int, set *marketdata.BarSet, err error) {
		if err == nil {
			run := r.Charting.Turns.Run(limited, caller, scripts)
			err = r.Charting.Turns.Study(limited, caller, run, func(context.Context) error {
				return found.judge(&q.Question, q.Symbols[i], set, replay.Where{Run: run, Longer: longer.Take(q.Symbols[i]), Streams: r.Streams})
			})
		}
		if err != nil {
			found.failed = append(found.failed, failureOf(q.Symbols[i], err))
		}
		report.step(found.done+len(found.skipped), len(found.failed))
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &found, nil
}

// judge evaluates the question over the closed bars of a symbol.
func (s *scanned) judge(q *scan.Question, symbol market.Symbol, set *marketdata.BarSet, w replay.Where) error {
	closed := set.Closed()
	switch {
	case set.Stale:
		return fault.Unreachable(nil, 0, "%s does not answer", set.Provider)
	case closed.Len() == 0:
		s.skipped = append(s.skipped, ScanFailure{Symbol: symbol.String(), Why: "no_history"})
		return nil
	}
	w.Calendar, w.Facts = set.Calendar, set.Facts
	row, err := q.Look(&closed, w)
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
func failureOf(s market.Symbol, err error) ScanFailure {
	out := ScanFailure{Symbol: s.String(), Why: "venue_down"}
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
	case f.Code == "bad_file": // the user's own, so the message says what to write there
		out.Why, out.About = f.Code, f.Public()
	}
	if f != nil {
		out.Retry = int((f.RetryAfter + time.Second - 1) / time.Second)
	}
	return out
}

// ScanRow is a symbol that meets the condition.
type ScanRow struct {
	Symbol string            `json:"symbol"`
	Time   string            `json:"time"`
	Close  Figure            `json:"close"`
	Ago    *int              `json:"bars_ago,omitempty"`
	Values map[string]Figure `json:"values,omitempty"`
	Anchor string            `json:"anchored_at,omitempty"`
	Short  bool              `json:"short_history,omitempty"`
}

// ScanAnswer is the answer to a scan.
type ScanAnswer struct {
	Interval  string         `json:"interval"`
	Condition string         `json:"condition,omitempty"`
	Complete  bool           `json:"complete"`
	Asked     int            `json:"asked"`
	Done      int            `json:"done"`
	Matched   int            `json:"matched"`
	RankedBy  string         `json:"ranked_by,omitempty"`
	Rows      []ScanRow      `json:"rows"`
	Left      int            `json:"more_rows,omitempty"`
	Failed    []ScanFailure  `json:"failed,omitempty"`
	FailedBy  map[string]int `json:"failed_by_reason,omitempty"`
	Skipped   []ScanFailure  `json:"skipped,omitempty"`
	SkippedBy map[string]int `json:"skipped_by_reason,omitempty"`
	Unread    int            `json:"not_read,omitempty"`
	Next      string         `json:"next,omitempty"`
	AsOf      string         `json:"as_of,omitempty"`
	ReportID  string         `json:"report_id"`
}

// mostNamed is the number of failures that are named; the others are counted.
const mostNamed = 10

// answer writes what was found. It does not depend on the order in which reads ended.
func (r *Scan) answer(found *scanned) ScanAnswer {
	scan.Rank(found.rows, r.rank(), r.Order == "asc")
	out := ScanAnswer{
		Interval: r.Interval.String(), Asked: len(r.Symbols), Done: found.done, Matched: len(found.rows), Rows: []ScanRow{},
		Left: max(0, len(found.rows)-r.Limit), Unread: len(r.Symbols) - found.done - len(found.failed) - len(found.skipped),
	}
	out.Complete = found.done == len(r.Symbols)
	if r.Condition != nil {
		a := alert.Alert{Symbol: market.Symbol{Name: "each symbol"}, Interval: r.Interval, Condition: *r.Condition}
		out.Condition = a.Describe()
	}
	if k := r.rank(); k >= 0 {
		out.RankedBy = r.Columns[k].Name + " " + r.Order
	}
	for _, row := range found.rows[:min(len(found.rows), r.Limit)] {
		shown := ScanRow{Symbol: row.Symbol, Time: market.Stamp(row.Time), Close: Figure(row.Close), Short: row.Short}
		if r.Condition != nil && r.Within > 1 {
			shown.Ago = new(row.Ago)
		}
		if row.Anchored != 0 {
			shown.Anchor = market.Stamp(row.Anchored)
		}
		for i, v := range row.Values {
			if shown.Values == nil {
				shown.Values = map[string]Figure{}
			}
			shown.Values[r.Columns[i].Name] = Figure(v)
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
func named(all []ScanFailure) (some []ScanFailure, by map[string]int) {
	slices.SortFunc(all, func(x, y ScanFailure) int { return strings.Compare(x.Symbol, y.Symbol) })
	if len(all) > mostNamed {
		by = map[string]int{}
		for _, f := range all {
			by[f.Why]++
		}
	}
	return all[:min(len(all), mostNamed)], by
}

// tables lists the rows of a scan, and the symbols that are missing.
func (r *Scan) tables(found *scanned) []report.Table {
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
