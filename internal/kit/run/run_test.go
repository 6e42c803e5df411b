package run_test

import (
	"context"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/run"
)

// A panic of a run reaches the caller that takes its result, and ends nothing else.
func TestRuns_APanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	var runs run.Runs[int]
	t.Cleanup(runs.Close)
	ann, hold := principal.Caller{Subject: "ann"}, make(chan struct{})
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
	one, _, err := runs.Do(t.Context(), ann, 0, nil, fails)
	if one == nil || err != nil {
		t.Fatalf("the run did not go on: %v", err)
	}
	close(hold)
	if !one.Wait(t.Context(), time.Minute) {
		t.Fatal("the run has not ended")
	}
	panics("a later call for the result", func() { _, _ = one.Result() })
	panics("a call that waits for the result", func() { _, _, _ = runs.Do(t.Context(), ann, -1, nil, fails) })
}
