package install

import (
	"strings"
	"testing"
)

// TestRunner_KnowsTheCachesOfNpxAndUvx: the path of a program in such a cache may be gone
// when the client starts next time.
func TestRunner_KnowsTheCachesOfNpxAndUvx(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ program, system, want string }{
		"npx":               {"/home/me/.npm/_npx/29ae1b/node_modules/candela-linux-x64/bin/candela", "linux", "npx -y candela"},
		"npx on Windows":    {"C:/Users/me/AppData/Local/npm-cache/_npx/29ae1b/node_modules/candela-win32-x64/bin/candela.exe", "windows", "cmd /c npx -y candela"},
		"uvx":               {"/home/me/.cache/uv/archive-v0/Yx3/bin/candela", "linux", "uvx candela"},
		"uvx on Windows":    {"C:/Users/me/AppData/Local/uv/cache/archive-v0/Yx3/Scripts/candela.exe", "windows", "uvx candela"},
		"npm install":       {"/home/me/work/node_modules/candela-linux-x64/bin/candela", "linux", ""},
		"a tool of uv":      {"/home/me/.local/share/uv/tools/candela/bin/candela", "linux", ""},
		"a folder archives": {"/srv/archive-v0/candela", "linux", ""},
		"a package":         {"/usr/bin/candela", "linux", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := strings.Join(runner(test.program, test.system), " "); have != test.want {
				t.Errorf("%q, want %q", have, test.want)
			}
		})
	}
}
