package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// journal notes what happens in which order. Safe for concurrent use.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// steady is a part that is ready after warm and stops after drain.
func (j *journal) steady(name string, warm, drain time.Duration) Part {
	return Part{Name: name, Run: func(ctx, hard context.Context, ready func()) error {
		j.note("start " + name)
		wait(hard, warm)
		j.note("ready " + name)
		ready()
		ready() // a second call is harmless
		<-ctx.Done()
		j.note("stop " + name)
		wait(hard, drain)
		j.note("end " + name)
		return ctx.Err()
	}}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestRun_StartsInOrderStopsInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		parts := []Part{j.steady("a", time.Second, time.Second), j.steady("b", time.Second, time.Second)}
		if err := Run(ctx, parts, 10*time.Second, quiet()); err != nil {
			t.Fatal(err)
		}
		want := []string{"start a", "ready a", "start b", "ready b", "stop b", "end b", "stop a", "end a"}
		if !slices.Equal(j.lines, want) {
			t.Errorf("order is %q, want %q", j.lines, want)
		}
	})
}

func TestRun_FailureStopsTheOthers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	failing := func(after time.Duration, readyFirst bool, err error) Part {
		return Part{Name: "failing", Run: func(_, hard context.Context, ready func()) error {
			if readyFirst {
				ready()
			}
			wait(hard, after)
			return err
		}}
	}
	cases := map[string]struct {
		parts func(j *journal) []Part
		want  error
		lines []string
	}{
		"while running": {
			func(j *journal) []Part { return []Part{j.steady("a", 0, 0), failing(time.Minute, true, broken)} },
			broken,
			[]string{"start a", "ready a", "stop a", "end a"},
		},
		"before it was ready, the next never starts": {
			func(j *journal) []Part {
				return []Part{j.steady("a", 0, 0), failing(time.Minute, false, broken), j.steady("c", 0, 0)}
			},
			broken,
			[]string{"start a", "ready a", "stop a", "end a"},
		},
		"while a later part is starting": {
			func(j *journal) []Part {
				return []Part{failing(time.Second, true, broken), j.steady("b", time.Minute, 0)}
			},
			broken,
			[]string{"start b", "ready b", "stop b", "end b"},
		},
		"a part that is done ends the program without error": {
			func(j *journal) []Part { return []Part{j.steady("a", 0, 0), failing(time.Minute, true, nil)} },
			nil,
			[]string{"start a", "ready a", "stop a", "end a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j journal
				err := Run(t.Context(), tc.parts(&j), 2*time.Minute, quiet())
				if !errors.Is(err, tc.want) {
					t.Errorf("error is %v, want %v", err, tc.want)
				}
				if tc.want != nil && !strings.HasPrefix(err.Error(), "failing: ") {
					t.Errorf("%v does not name the part", err)
				}
				if !slices.Equal(j.lines, tc.lines) {
					t.Errorf("order is %q, want %q", j.lines, tc.lines)
				}
			})
		})
	}
}

func TestRun_DeadlineCutsTheStopShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		parts := []Part{j.steady("first", 0, 0), j.steady("slow", 0, time.Hour)}
		err := Run(ctx, parts, 10*time.Second, quiet())
		if err == nil || !strings.Contains(err.Error(), "not stopped within 10s: first, slow") {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(begin); took != 11*time.Second {
			t.Errorf("took %v, want 11s: slow obeys the end of hard", took)
		}
	})
}

// TestRun_AnEndOfItselfIsPartOfTheStop has a part take eight seconds to finish
// when its work is over: of the ten for the stop two are left to the others.
func TestRun_AnEndOfItselfIsPartOfTheStop(t *testing.T) {
	t.Parallel()
	for name, interrupted := range map[string]bool{"it ends": false, "it is stopped while it ends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j journal
				var since atomic.Pointer[time.Time]
				ending := Part{Name: "ending", Run: func(_, hard context.Context, ready func()) error {
					ready()
					now := time.Now()
					since.Store(&now)
					wait(hard, 8*time.Second)
					return nil
				}, Ending: func() time.Time { return *since.Load() }}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if interrupted {
					defer time.AfterFunc(5*time.Second, cancel).Stop()
				}
				begin := time.Now()
				err := Run(ctx, []Part{j.steady("slow", 0, time.Hour), ending}, 10*time.Second, quiet())
				if err == nil || !strings.Contains(err.Error(), "not stopped within 10s: slow") {
					t.Errorf("error is %v", err)
				}
				if took := time.Since(begin); took != 10*time.Second {
					t.Errorf("took %v, want 10s", took)
				}
			})
		})
	}
}

func TestRun_StuckPartDoesNotHoldTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := func(name string) Part {
			return Part{Name: name, Run: func(_, _ context.Context, ready func()) error {
				ready()
				<-release
				return nil
			}}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := Run(ctx, []Part{stuck("a"), stuck("b")}, 10*time.Second, quiet())
		if err == nil || !strings.Contains(err.Error(), "a, b") {
			t.Errorf("error is %v", err)
		}
		if took, want := time.Since(begin), 11*time.Second+killTimeout; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		close(release)
	})
}

func TestRun_StopDuringStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		var logged bytes.Buffer
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		parts := []Part{j.steady("a", 0, 0), j.steady("b", 5*time.Second, 0), j.steady("c", 0, 0)}
		if err := Run(ctx, parts, 10*time.Second, slog.New(slog.NewTextHandler(&logged, nil))); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(j.lines, "start c") || strings.Contains(logged.String(), "ready") {
			t.Errorf("went on starting: %q %s", j.lines, &logged)
		}
		if !strings.Contains(logged.String(), "cause=enough") {
			t.Errorf("log does not give the cause: %s", &logged)
		}
	})
}
