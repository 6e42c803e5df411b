package cli

import "testing"

// Colours take no room.
func TestFit_CountsWhatIsShown(t *testing.T) {
	t.Parallel()
	if n := shownWidth("\033[31m-3\033[0m of \033[2mten\033[0m"); n != len("-3 of ten") {
		t.Errorf("%d characters", n)
	}
}
