package people

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/principal"
)

func TestOwnerUsage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, text := range map[string]string{
		"2026-10-31T23-A": `{"id":"1","hour":"2026-10-31T23:00:00Z","owner":"ann","calls":100,"failed":0,"processor_ms":7,"tools":{}}`,
		"2026-11-01T00-A": `{"id":"2","hour":"2026-11-01T00:00:00Z","owner":"ann","calls":2,"failed":1,"processor_ms":1500,"tools":{"generate_chart":2}}`,
		"2026-11-01T00-B": `{"id":"3","hour":"2026-11-01T00:00:00Z","owner":"ann","calls":1,"failed":0,"processor_ms":250,"tools":{"list_alerts":1}}`,
		"2026-11-02T09-B": `{"id":"4","hour":"2026-11-02T09:00:00Z","owner":"bob","calls":4,"failed":0,"processor_ms":0,"tools":{"list_alerts":4}}`,
	} {
		path := filepath.Join(home, "usage", name+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "ID   CALLS  FAILED  PROCESSOR SECONDS\n"
	for name, tc := range map[string]struct {
		f    ownerFlags
		want string // the output, or a part of the error
	}{
		"all":           {ownerFlags{since: "2026-11-01"}, head + "ann  3      1       1.750\nbob  4      0       0.000\n"},
		"a day":         {ownerFlags{since: "2026-11-01", until: "2026-11-02"}, head + "ann  3      1       1.750\n"},
		"one, as lines": {ownerFlags{ids: []principal.Owner{"bob"}, json: true}, `{"id":"4","hour":"2026-11-02T09:00:00Z","owner":"bob","calls":4,"failed":0,"processor_ms":0,"tools":{"list_alerts":4}}` + "\n"},
		"nobody":        {ownerFlags{ids: []principal.Owner{"eve"}}, "ID  CALLS  FAILED  PROCESSOR SECONDS\n"},
		"no day":        {ownerFlags{since: "yesterday"}, "--since"},
		"the same day":  {ownerFlags{since: "2026-11-01", until: "2026-11-01"}, "a day after that of --since"},
	} {
		var out bytes.Buffer
		err := ownerUsage(t.Context(), cli.Call{Deps: app.Deps{Stdout: &out}}, &config.Config{Home: home}, tc.f)
		if err != nil {
			out.WriteString(err.Error())
		}
		if got := out.String(); got != tc.want && (err == nil || !strings.Contains(got, tc.want)) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
