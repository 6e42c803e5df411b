package fair_test

import (
	"errors"
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
