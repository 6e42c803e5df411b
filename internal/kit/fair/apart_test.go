package fair_test

import (
	"errors"
	"runtime"
	"testing"

	"candela/internal/kit/fair"
)

func TestApart_PassesOnWhatTheWorkEndsWith(t *testing.T) {
	wrong := errors.New("wrong")
	if err := fair.Apart(func() error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("the error is %v, want %v", err, wrong)
	}
	defer func() {
		if r := recover(); r != wrong { //nolint:errorlint // the very value
			t.Errorf("the panic is %v, want %v", r, wrong)
		}
	}()
	_ = fair.Apart(func() error { panic(wrong) })
}

// MakeRoom changes what the whole process may run, so this test runs alone and undoes it.
func TestMakeRoom_AddsThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	fair.MakeRoom(2)
	if n := runtime.GOMAXPROCS(0); n != before+2 {
		t.Errorf("%d threads run at a time, want %d", n, before+2)
	}
}
