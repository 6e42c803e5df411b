// Package research asks what would have been: back-tests of rules and scripts, sweeps and walks forward over their
// values, when an alert would have fired, and which symbols meet a condition. It keeps the reports, trials and runs
// of the last hour. It knows no protocol and no language of conditions: its requests and answers are types, and
// an answer is written as JSON once, as its clients and its report have it.
//
// The program makes one [Research] beside its charting.Charting. A face turns what its client wrote into a
// [Backtest], an [AlertTest] or a [Scan], calls the method of that name and gets an [Answer]. A face whose clients
// do not wait for long passes a [Question] to [Research.Do], and answers with the [Run] if it goes on; [Research.Run]
// and [Research.Report] find both later.
package research

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/kit/run"
	"candela/internal/work/charting"
	"candela/internal/work/research/past"
	"candela/internal/work/research/report"
	"candela/internal/work/research/rules"
	"candela/internal/work/research/scan"
	"candela/internal/work/research/sweep"
	"candela/lib/ta"
)

// Alerts lists the alerts of a caller.
type Alerts interface {
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
}

// Scripts finds stored scripts.
type Scripts interface {
	Source(name string) (string, error)
	// Library returns the source of what an import names, as user/library/number.
	Library(path string) (string, bool)
}

// Config holds what questions about the past are answered from.
type Config struct {
	Charting *charting.Charting // its bars, turns and pictures
	Library  ta.Library         // of indicators; the zero value is the catalogue
	Alerts   Alerts             // nil without trading
	Scripts  Scripts            // nil without stored scripts
	Version  string             // of the program: the id of a back-test depends on it
	Rates    Rates              // funding rates of perpetual futures; nil for none
	Limit    *run.Limit         // of runs that go on, with those of others; nil for one of its own
	Streams  *ta.Streams        // of the indicators of scans; nil for none
}

// Research answers questions about the past. It is safe for concurrent use.
type Research struct {
	Config
	reports report.Store
	trials  report.Trials
	runs    run.Runs[*Answer]
}

// New returns the research over cfg. Close it after use.
func New(cfg Config) *Research {
	return &Research{Config: cfg, reports: report.Store{Now: time.Now}, trials: report.Trials{Now: time.Now}, runs: run.Runs[*Answer]{Limit: cfg.Limit}}
}

// Close cancels the runs that go on after their calls were answered, and waits for them.
func (r *Research) Close() { r.runs.Close() }

// Answer is what a question is answered with. One of Backtest, Alert and Scan is set.
type Answer struct {
	Report   *report.Report // kept for an hour; its Answer is the JSON of the one that is set
	Backtest *BacktestAnswer
	Alert    *AlertAnswer
	Scan     *ScanAnswer

	First, From int64 // of a back-test: the opens of the first bar, and of the first at which it could order

	Format  string // that a back-test was asked for
	Picture []byte // PNG, unless the format is the summary
}

// Faces make questions of these types and read reports with them. They need no other package of this room.
type (
	// Span says which closed bars a question is about.
	Span = past.Span
	// Data says which bars an answer is about, and what is wrong with them.
	Data = past.Data
	// Rates reads the funding rates of a perpetual future.
	Rates = past.Rates
	// Side is how positions of one direction begin and end.
	Side = rules.Side
	// Grid has the values of a sweep.
	Grid = sweep.Grid
	// Axis has the values of one name of a sweep.
	Axis = sweep.Axis
	// Column is a value that a scan shows.
	Column = scan.Column
	// Report is what is kept of an answer for an hour.
	Report = report.Report
	// Table is a part of a report.
	Table = report.Table
)

// Bounds of a question about the past.
const (
	LeastBars = past.LeastBars
	MostBars  = past.MostBars
	UsualBars = past.UsualBars
)

// PicturePart names the picture among the parts of a report.
const PicturePart = report.PicturePart

// Question asks something for a caller.
type Question func(ctx context.Context, r *Research, caller principal.Caller) (*Answer, error)

// Run is a call that goes on after its client was answered.
type Run = run.Run[*Answer]

// Do asks a question, as run.Runs.Do describes it: it returns the run if the answer takes longer than wait, which
// has no limit if it is negative.
func (r *Research) Do(ctx context.Context, caller principal.Caller, wait time.Duration, forward Progress, ask Question) (*Run, *Answer, error) {
	return r.runs.Do(ctx, caller, wait, forward, func(ctx context.Context, note func(done, total int, message string)) (*Answer, error) {
		if forward != nil || wait >= 0 {
			ctx = WithProgress(ctx, note)
		}
		return ask(ctx, r, caller)
	})
}

// Run finds a run of the caller's owner that went on after its call was answered.
func (r *Research) Run(caller principal.Caller, id string) (*Run, bool) {
	return r.runs.Get(caller.Subject, id)
}

// Report returns a report that a call of the caller's owner has made.
func (r *Research) Report(caller principal.Caller, id string) (*report.Report, bool) {
	return r.reports.Get(caller.Subject, id)
}

// Reports lists what the calls of a caller's owner have made in the last hour, the newest first.
func (r *Research) Reports(caller principal.Caller) []report.Kept {
	return r.reports.List(caller.Subject)
}

// ReportPicture draws the picture of a back-test.
func (r *Research) ReportPicture(ctx context.Context, caller principal.Caller, found *report.Report, theme string) (png []byte, err error) {
	spec, err := found.PictureIn(theme)
	if err != nil {
		return nil, err
	}
	return r.Charting.Draw(ctx, caller, spec)
}

// keep keeps the tables behind an answer under an id that follows from it, which it sets.
func (r *Research) keep(caller principal.Caller, title string, id *string, answer any, tables ...report.Table) (*report.Report, error) {
	kept := &report.Report{Title: title, Tables: tables}
	if err := kept.SetAnswer(answer); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(kept.Answer)
	*id = hex.EncodeToString(sum[:8])
	if err := kept.SetAnswer(answer); err != nil {
		return nil, err
	}
	kept.ID = *id
	r.reports.Put(caller.Subject, caller.Client, kept)
	return kept, nil
}
