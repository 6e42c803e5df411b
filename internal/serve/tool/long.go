package tool

import (
	"context"
	"fmt"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/research"
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

// runningJSON is the answer to a call that goes on.
type runningJSON struct {
	Status   string `json:"status"`
	ReportID string `json:"report_id"`
	Seconds  int    `json:"running_seconds"`
	Progress string `json:"progress,omitempty"`
	Next     string `json:"next"`
}

func running(run *research.Run) (mcp.Result, error) {
	message, since := run.Progress()
	return jsonResult(runningJSON{
		Status: "running", ReportID: run.ID, Seconds: int(since.Seconds()), Progress: message,
		Next: fmt.Sprintf("call get_report with this report_id and wait_seconds (at most %d): it has the answer when the run has ended", mostWait),
	}, nil)
}

// long asks a question that may take long, and answers in time.
func (c *charts) long(ctx context.Context, caller principal.Caller, w waiting, ask research.Question) (mcp.Result, error) {
	wait := time.Duration(w.seconds) * time.Second
	forward := mcp.Progress(ctx)
	switch {
	case mcp.IsTask(ctx): // the client is answered meanwhile
		wait = -1
	case w.seconds < 0:
		wait = defaultWait * time.Second
		if forward != nil {
			wait = -1
		}
	}
	run, answer, err := c.research.Do(ctx, caller, wait, forward, ask)
	switch {
	case run != nil:
		return running(run)
	case err != nil:
		return mcp.Result{}, err
	}
	return researchResult(answer), nil
}

// researchResult is an answer in the format that was asked for. There is no structured content with a picture, as in
// generate_chart.
func researchResult(a *research.Answer) mcp.Result {
	answer := rawResult(a.Report.Answer)
	if a.Picture == nil {
		return answer
	}
	shown := mcp.Result{Content: []mcp.Content{{Image: a.Picture, MIME: "image/png"}}}
	if a.Format == research.FormatBoth {
		shown.Content = append(shown.Content, answer.Content...)
	}
	return shown
}

// ended returns the answer of a run that its client did not wait for, or the id of its report if
// a part of it is wanted.
func (r *reportArgs) ended(ctx context.Context, run *research.Run) (result mcp.Result, id string, err error) {
	if !run.Wait(ctx, time.Duration(r.wait)*time.Second) {
		result, err = running(run)
		return result, "", err
	}
	answer, err := run.Result()
	switch {
	case err != nil:
		return mcp.Result{}, "", err
	case r.part == "":
		return researchResult(answer), "", nil
	}
	return mcp.Result{}, answer.Report.ID, nil
}
