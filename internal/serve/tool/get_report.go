package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/work/research"
	"candela/lib/fault"
)

// pageBytes bounds a page of a report: about 2,000 tokens.
const pageBytes = 7600

// Defaults of get_report.
const (
	usualRows  = 50
	usualTheme = "dark"
)

// reportArgs are the arguments of get_report.
type reportArgs struct {
	paging
	id, part, theme string
	wait            int // seconds
}

func declareReport() (*reportArgs, args) {
	r := &reportArgs{paging: paging{limit: usualRows}, theme: usualTheme}
	return r, args{
		reportID(&r.id),
		enumArg("part", &r.part, "Default: trades; of a run that was not waited for, its answer.", "trades", "equity", "months", "trials", "folds", "firings", "forward", "rows", "failures", research.PicturePart),
		limitArg(&r.limit, 500, "Rows; a page has at most about 2,000 tokens."), r.cursor("get_report"),
		enumArg("theme", &r.theme, "Of the picture; other parts have none.", "dark", "light"),
		intArg("wait_seconds", &r.wait, 0, mostWait, "How long to wait for a run that is answered with status running."),
	}
}

// reportID declares the id of a report. What is no id is answered with where to find one.
func reportID(dst *string) arg {
	const from = "the report_id in an answer of run_backtest, test_alert or scan_symbols"
	a := stringArg("report_id", dst, 64, "From run_backtest, test_alert or scan_symbols.").allowing(from).require()
	read := a.read
	a.read = func(raw json.RawMessage) error {
		if err := read(raw); err != nil {
			return fault.Field("report_id", quoteValue(raw), from)
		}
		return nil
	}
	return a
}

func (c *charts) getReport() toolSpec {
	return toolSpec{
		name: "get_report", title: "Read a report", scope: principal.Charts, set: ResearchSet,
		description: "The rest of an answer of run_backtest, test_alert or scan_symbols, in pages: all trades, equity, months, trials, firings or rows; picture draws a back-test. " +
			"Reports are kept for an hour. At most 8 KB.",
		hints: hints{readOnly: true, idempotent: true},
		call: calling(declareReport, func(ctx context.Context, caller principal.Caller, r *reportArgs) (mcp.Result, error) {
			result, found, err := c.readReport(ctx, caller, r)
			if !found && err == nil {
				result, found, err = c.peerReport(ctx, caller, r)
			}
			if !found && err == nil {
				err = fault.New(fault.NotFound, "unknown_report", "there is no report %q, or it is over an hour old: repeat the call that made it", truncate(r.id)).
					About("report_id", truncate(r.id), "a report_id of the last hour")
			}
			return result, err
		}),
	}
}

// readReport answers from a report or a run of this program, and reports false if there is none of that id.
func (c *charts) readReport(ctx context.Context, caller principal.Caller, r *reportArgs) (_ mcp.Result, found bool, err error) {
	at := *r
	if run, ok := c.research.Run(caller, at.id); ok {
		result, id, err := at.ended(ctx, run)
		if id == "" || err != nil {
			return result, true, err
		}
		at.id = id
	}
	at.part = cmp.Or(at.part, "trades")
	if err := at.fits(); err != nil {
		return mcp.Result{}, true, err
	}
	report, ok := c.research.Report(caller, at.id)
	if !ok {
		return mcp.Result{}, false, nil
	}
	if at.part == research.PicturePart && report.Curve != nil {
		png, err := c.research.ReportPicture(ctx, caller, report, at.theme)
		return mcp.Result{Content: []mcp.Content{{Image: png, MIME: "image/png"}}}, true, err
	}
	table, ok := report.Table(at.part)
	if !ok {
		return mcp.Result{}, true, fault.Field("part", at.part, "a part of this report: "+strings.Join(report.Names(), ", "), report.Names()...)
	}
	result, err := at.page(report, table)
	return result, true, err
}

// fits returns an error for the first argument that the part has no use for.
func (r *reportArgs) fits() error {
	const of = "no %s with part %s: it is for %s"
	switch {
	case r.part != research.PicturePart && r.theme != usualTheme:
		return fault.Field("theme", r.theme, fmt.Sprintf(of, "theme", r.part, "the part picture"))
	case r.part == research.PicturePart && r.limit != usualRows:
		return fault.Field("limit", strconv.Itoa(r.limit), fmt.Sprintf(of, "limit", r.part, "parts with rows"))
	case r.part == research.PicturePart && r.after != "":
		return fault.Field("cursor", "a cursor", fmt.Sprintf(of, "cursor", r.part, "parts with rows"))
	}
	return nil
}

// page returns the rows after the cursor, as many as fit.
func (r *reportArgs) page(found *research.Report, t *research.Table) (mcp.Result, error) {
	from := 0
	if r.after != "" {
		part, at, _ := strings.Cut(r.after, " ")
		n, err := strconv.Atoi(at)
		if err != nil || part != found.ID+"/"+t.Name || n < 0 {
			return mcp.Result{}, fault.Field("cursor", "a cursor of another part", "the cursor from the previous page of "+t.Name)
		}
		from = n
	}
	out := struct {
		ID      string   `json:"report_id"`
		Part    string   `json:"part"`
		Total   int      `json:"total"`
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
		More    *more    `json:"more,omitempty"`
	}{ID: found.ID, Part: t.Name, Total: t.Len, Columns: t.Columns, Rows: [][]any{}}
	size, i := 0, from
	for ; i < t.Len && i-from < r.limit; i++ {
		row := t.Row(i)
		for k, v := range row {
			if x, ok := v.(float64); ok {
				row[k] = research.Figure(x)
			}
		}
		data, err := strictjson.Marshal(row)
		if err != nil {
			return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
		}
		if size += len(data) + 1; size > pageBytes && i > from {
			break
		}
		out.Rows = append(out.Rows, row)
	}
	if i < t.Len {
		out.More = moreAfter("get_report", found.ID+"/"+t.Name+" "+strconv.Itoa(i), t.Len-i)
	}
	return jsonResult(out, nil)
}
