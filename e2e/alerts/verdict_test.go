package alerts

import (
	"slices"
	"testing"
)

// TestVerdict_OfAnAlert holds the judge against histories of one alert. Prices move
// while the last questions are asked: what fires between them is nobody's fault.
func TestVerdict_OfAnAlert(t *testing.T) {
	t.Parallel()
	const id = "a"
	delivered := []string{"record"}
	for name, c := range map[string]struct {
		fate           fate
		fired, active  bool // at the last look at the log, and in the list after it
		pushed, polled []string
		want           []string
	}{
		"waits":                             {fate: fate{sets: 1}, active: true},
		"cancelled":                         {fate: fate{sets: 1, cancels: 1}},
		"fired and delivered":               {fate: fate{sets: 1, fires: 1}, fired: true, pushed: delivered, polled: delivered},
		"delivered twice, after a crash":    {fate: fate{sets: 1, fires: 1}, fired: true, pushed: slices.Repeat(delivered, 2), polled: slices.Repeat(delivered, 2)},
		"fired after the last look, pushed": {fate: fate{sets: 1, fires: 1}, pushed: delivered},
		"fired after the last look, delivered nowhere":  {fate: fate{sets: 1, fires: 1}},
		"fired after the list":                          {fate: fate{sets: 1, fires: 1}, active: true, pushed: delivered},
		"fired before, and never polled":                {fate: fate{sets: 1, fires: 1, record: "r"}, fired: true, pushed: delivered, want: []string{"LOST: alert a fired and was pushed 1 times, polled 0 times: r"}},
		"fired before, and never pushed":                {fate: fate{sets: 1, fires: 1, record: "r"}, fired: true, polled: delivered, want: []string{"LOST: alert a fired and was pushed 0 times, polled 1 times: r"}},
		"fired before, and still in the list":           {fate: fate{sets: 1, fires: 1}, fired: true, active: true, pushed: delivered, polled: delivered, want: []string{"alert a was set 1 times, fired 1 times, was cancelled 0 times, is active: true"}},
		"fired twice":                                   {fate: fate{sets: 1, fires: 2}, fired: true, pushed: delivered, polled: delivered, want: []string{"alert a was set 1 times, fired 2 times, was cancelled 0 times, is active: false"}},
		"fired twice after the last look":               {fate: fate{sets: 1, fires: 2}, want: []string{"alert a was set 1 times, fired 2 times, was cancelled 0 times, is active: false"}},
		"cancelled and fired":                           {fate: fate{sets: 1, fires: 1, cancels: 1}, want: []string{"alert a was set 1 times, fired 1 times, was cancelled 1 times, is active: false"}},
		"gone without an end":                           {fate: fate{sets: 1}, want: []string{"alert a was set 1 times, fired 0 times, was cancelled 0 times, is active: false"}},
		"delivered though it has not fired, and active": {fate: fate{sets: 1}, active: true, polled: delivered, want: []string{"alert a was delivered and has not fired"}},
	} {
		n := newNotes()
		n.pushed[id], n.polled[id] = c.pushed, c.polled
		f := &final{fired: map[string]bool{id: c.fired}, active: map[string]bool{id: c.active}}
		if got := f.faults(id, &c.fate, n); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
