package statedir_test

import (
	"strings"
	"testing"

	"candela/internal/store/statedir"
)

// The next process finds each evaluation that had not ended when the last one did, until it
// forgets it.
func TestEvaluating_NamesWhatWasInEvaluation(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	open := func() *statedir.Evaluating {
		t.Helper()
		e := statedir.NewEvaluating(home)
		if err := e.Open(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	use := func(digit string) string { return strings.Repeat(digit, 64) }
	first := open()
	if died := first.Died(); len(died) != 0 {
		t.Errorf("a new file names %v", died)
	}
	first.Begin(t.Context(), use("a"))()
	first.Begin(t.Context(), use("b"))
	end := first.Begin(t.Context(), use("c"))
	first.Begin(t.Context(), "not a use")
	end()
	// It is not closed, as after a kill.
	for range 2 { // a process that ends before it has forgotten changes nothing
		next := open()
		died := next.Died()
		if _, there := died[use("b")]; len(died) != 1 || !there {
			t.Fatalf("in evaluation was %v", died)
		}
		next.Begin(t.Context(), use("d"))()
	}
	third := open()
	third.Forget()
	for range 100 { // more than there are slots
		third.Begin(t.Context(), use("e"))()
	}
	if died := open().Died(); len(died) != 0 {
		t.Errorf("after Forget there is %v", died)
	}
}
