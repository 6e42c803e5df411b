package report_test

import (
	"context"
	"testing"
	"time"

	"candela/internal/work/research/report"
)

// A panic of a run reaches the caller that takes its result, and ends nothing else.
func TestRuns_APanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	var runs report.Runs[int]
	t.Cleanup(runs.Close)
	hold := make(chan struct{})
	fails := func(context.Context, func(int, int, string)) (int, error) {
		<-hold
		panic("wrong")
	}
	panics := func(what string, ask func()) {
		defer func() {
			if recover() != "wrong" {
				t.Errorf("%s did not get the panic", what)
			}
		}()
		ask()
	}
	run, _, err := runs.Do(t.Context(), "ann", 0, nil, fails)
	if run == nil || err != nil {
		t.Fatalf("the run did not go on: %v", err)
	}
	close(hold)
	if !run.Wait(t.Context(), time.Minute) {
		t.Fatal("the run has not ended")
	}
	panics("who asks later", func() { _, _ = run.Result() })
	panics("who waits", func() { _, _, _ = runs.Do(t.Context(), "ann", -1, nil, fails) })
}
