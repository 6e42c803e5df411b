package run_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/run"
)

// answered runs a call that goes on, and ends then.
func answered(t *testing.T, runs *run.Runs[int], by principal.Caller) *run.Run[int] {
	t.Helper()
	hold := make(chan struct{})
	one, _, err := runs.Do(t.Context(), by, 0, nil, func(context.Context, func(int, int, string)) (int, error) {
		<-hold
		return 1, nil
	})
	if one == nil || err != nil {
		t.Fatalf("the run did not go on: %v", err)
	}
	close(hold)
	if !one.Wait(t.Context(), time.Minute) {
		t.Fatal("the run has not ended")
	}
	return one
}

// Ten thousand runs of one owner do not push out that of another, and only some are kept.
func TestRuns_OneOwnerLosesHisOwn(t *testing.T) {
	t.Parallel()
	var runs run.Runs[int]
	t.Cleanup(runs.Close)
	bob := answered(t, &runs, principal.Caller{Subject: "bob"})
	var ids []string
	for range 10_000 {
		ids = append(ids, answered(t, &runs, principal.Caller{Subject: "ann"}).ID)
	}
	if _, ok := runs.Get("bob", bob.ID); !ok {
		t.Error("the run of the other owner is gone")
	}
	kept := 0
	for _, id := range ids {
		if _, ok := runs.Get("ann", id); ok {
			kept++
		}
	}
	if _, newest := runs.Get("ann", ids[len(ids)-1]); kept != 31 || !newest {
		t.Errorf("%d are kept, the newest %v", kept, newest)
	}
}

// A limit holds for several kinds of runs together.
func TestRuns_ShareALimit(t *testing.T) {
	t.Parallel()
	limit := &run.Limit{}
	reports, tasks := run.Runs[int]{Limit: limit}, run.Runs[string]{Limit: limit}
	t.Cleanup(reports.Close)
	t.Cleanup(tasks.Close)
	hold, ann := make(chan struct{}), principal.Caller{Subject: "ann"}
	for range 2 {
		if one, _, err := reports.Do(t.Context(), ann, 0, nil, func(context.Context, func(int, int, string)) (int, error) { <-hold; return 1, nil }); one == nil || err != nil {
			t.Fatalf("the run did not go on: %v", err)
		}
	}
	ctx, leave := context.WithCancelCause(t.Context())
	left := errors.New("left")
	time.AfterFunc(10*time.Millisecond, func() { leave(left) })
	one, _, err := tasks.Do(ctx, ann, 0, nil, func(ctx context.Context, _ func(int, int, string)) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	if one != nil || !errors.Is(err, left) {
		t.Errorf("a third goes on: %v", err)
	}
	close(hold)
}

func TestRun_Cancelled(t *testing.T) {
	t.Parallel()
	var runs run.Runs[int]
	t.Cleanup(runs.Close)
	ann := principal.Caller{Subject: "ann"}
	ended := answered(t, &runs, ann)
	ended.Cancel()
	if ended.Cancelled() {
		t.Error("a run that has ended was cancelled")
	}
	one, _, _ := runs.Do(t.Context(), ann, 0, nil, func(ctx context.Context, _ func(int, int, string)) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	})
	one.Cancel()
	one.Cancel()
	if !one.Wait(t.Context(), time.Minute) || !one.Cancelled() {
		t.Error("the run goes on")
	}
	if _, err := one.Result(); !errors.Is(err, run.ErrCancelled) {
		t.Error(err)
	}
}
