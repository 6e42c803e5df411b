package naming

import "testing"

func TestPython(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3-rc.4": "1.2.3rc4", "1.2.3-beta1": "1.2.3b1", "1.2.4-snapshot": "1.2.4.dev0+snapshot", "0.0.0-check-2": "0.0.0.dev0+check.2",
	} {
		if have := Python(version); have != want {
			t.Errorf("%s is %s, want %s", version, have, want)
		}
	}
}
