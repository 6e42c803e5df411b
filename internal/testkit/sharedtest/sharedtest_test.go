package sharedtest_test

import (
	"runtime"
	"testing"

	"candela/internal/testkit/sharedtest"
)

// outcome stands in for a test and remembers how Path ended it.
type outcome struct {
	testing.TB
	ended string
}

func (o *outcome) Helper() {}

func (o *outcome) Skipf(string, ...any) {
	o.ended = "skipped"
	runtime.Goexit()
}

func (o *outcome) Fatalf(string, ...any) {
	o.ended = "failed"
	runtime.Goexit()
}

func TestPath_AbsentDataSkipsOnlyOutsideCI(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped", "1": "failed", "true": "failed"} {
		t.Setenv("CI", ci)
		o := &outcome{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			sharedtest.Path(o, "data/no-such-file.csv")
		}()
		<-done
		if o.ended != want {
			t.Errorf("with CI=%q the test is %s, want %s", ci, o.ended, want)
		}
	}
}

func TestBars_ReadsBothLayouts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"data/BTCUSDT_1h_raw.csv", "data/BTCUSDT_1h.csv", "data/AAPL_1d.csv"} {
		bars := sharedtest.Bars(t, name)
		if bars.Len() < 500 {
			t.Errorf("%s has %d bars", name, bars.Len())
		}
		for i := range bars.T {
			if err := bars.At(i).Check(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
