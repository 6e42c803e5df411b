package doctor

import (
	"context"
	"errors"
	"testing"

	"candela/internal/config"
	"candela/internal/operate/control"
)

// TestStoredAlerts_AreShownWithoutAServer holds that alerts that a start would not evaluate are findings before it.
func TestStoredAlerts_AreShownWithoutAServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found control.Status
		err   error
		want  []string
	}{
		"none":          {found: control.Status{Alerts: 3}},
		"broken, aside": {found: control.Status{Alerts: 5, Broken: 1, SetAside: 2}, want: []string{"1 of 5", "2 of 5 are set aside"}},
		"unreadable":    {err: errors.New("no such column"), want: []string{"they cannot be read: no such column"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []Finding
			x := &examination{cfg: &config.Config{}, Options: Options{
				Report: func(f Finding) { all = append(all, f) },
				Alerts: func(context.Context, *config.Config) (control.Status, error) { return c.found, c.err },
			}}
			x.held(t.Context())
			if len(all) != len(c.want) {
				t.Fatalf("found %+v, want %q", all, c.want)
			}
			for i, f := range all {
				expect(t, f, Warning, c.want[i], "")
			}
		})
	}
}
