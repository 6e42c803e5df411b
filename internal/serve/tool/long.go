package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/research/report"
)

// Clients give up after about a minute, so a call is answered before.
const (
	defaultWait = 45
	mostWait    = 55
)

// waiting is how long a call is waited for. Less than 0 is the default: 45 s, or as long as it
// takes if the client gets notifications of its progress.
type waiting struct{ seconds int }

func (w *waiting) args() args {
	return args{intArg("wait_seconds", &w.seconds, 0, mostWait, fmt.Sprintf("If it takes longer, the answer is status running with a report_id for get_report. Default: %d; no limit with a progressToken.", defaultWait))}
}

type patientKey struct{}

// Patient returns a context whose calls are waited for as long as they take, for commands.
func Patient(ctx context.Context) context.Context { return context.WithValue(ctx, patientKey{}, true) }

// runningJSON is the answer to a call that goes on.
type runningJSON struct {
	Status   string `json:"status"`
	ReportID string `json:"report_id"`
	Seconds  int    `json:"running_seconds"`
	Progress string `json:"progress,omitempty"`
	Next     string `json:"next"`
}

func running(run *report.Run[mcp.Result]) (mcp.Result, error) {
	message, since := run.Progress()
	return jsonResult(runningJSON{
		Status: "running", ReportID: run.ID, Seconds: int(since.Seconds()), Progress: message,
		Next: fmt.Sprintf("call get_report with this report_id and wait_seconds (at most %d): it has the answer when the run has ended", mostWait),
	}, nil)
}

// long runs a call that may take long, and answers in time.
func (c *charts) long(ctx context.Context, caller principal.Caller, w waiting, call func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	wait := time.Duration(w.seconds) * time.Second
	forward := mcp.Progress(ctx)
	if w.seconds < 0 {
		wait = defaultWait * time.Second
		if patient, _ := ctx.Value(patientKey{}).(bool); patient || forward != nil {
			wait = -1
		}
	}
	run, result, err := c.runs.Do(ctx, caller.Subject, wait, forward, func(ctx context.Context, note func(done, total int, message string)) (mcp.Result, error) {
		if forward != nil || wait >= 0 {
			ctx = mcp.WithProgress(ctx, note)
		}
		return call(ctx)
	})
	if run != nil {
		return running(run)
	}
	return result, err
}

// ended returns the answer of a run that its client did not wait for, or the id of its report if
// a part of it is wanted.
func (r *reportArgs) ended(ctx context.Context, run *report.Run[mcp.Result]) (result mcp.Result, id string, err error) {
	if !run.Wait(ctx, time.Duration(r.wait)*time.Second) {
		result, err = running(run)
		return result, "", err
	}
	if result, err = run.Result(); err != nil || r.part == "" || result.IsError {
		return result, "", err
	}
	var about struct {
		ID string `json:"report_id"`
	}
	if err := json.Unmarshal(result.Structured, &about); err != nil {
		return mcp.Result{}, "", fmt.Errorf("read the answer: %w", err)
	}
	return mcp.Result{}, about.ID, nil
}
