package storetest

import (
	"slices"
	"testing"

	"candela/internal/kit/principal"
)

// RunStates runs the suite of StateStore. open is as for RunAlerts.
func RunStates(t *testing.T, open func(t *testing.T, dir string) StateStore) {
	t.Helper()
	t.Run("a state is kept by owner and name", func(t *testing.T) {
		t.Parallel()
		s := open(t, t.TempDir())
		set := func(owner principal.Owner, name, value string) {
			t.Helper()
			must(t, s.SaveState(t.Context(), caller(owner), name, []byte(value)))
		}
		set("ann", "guard", `{"state":"ACTIVE"}`)
		set("ann", "other", `1`)
		set("bob", "guard", `{"state":"HALTED"}`)
		set("ann", "guard", `{"state":"REDUCING"}`)
		for _, want := range [][3]string{
			{"ann", "guard", `{"state":"REDUCING"}`}, {"bob", "guard", `{"state":"HALTED"}`}, {"ann", "other", `1`}, {"bob", "other", ""}, {"eve", "guard", ""},
		} {
			got, err := s.State(t.Context(), principal.Owner(want[0]), want[1])
			must(t, err)
			if string(got) != want[2] || (got == nil) != (want[2] == "") {
				t.Errorf("%s of %s is %q", want[1], want[0], got)
			}
		}
		for text, want := range map[string][]principal.Owner{"HALTED": {"bob"}, "state": {"ann", "bob"}, "ACTIVE": nil} {
			if got, err := s.OwnersWith(t.Context(), "guard", text); err != nil || !slices.Equal(got, want) {
				t.Errorf("owners with %s: %v, %v", text, got, err)
			}
		}
	})
}
