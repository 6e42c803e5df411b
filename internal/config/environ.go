package config

import (
	"runtime"
	"strings"
)

const envPrefix = "CANDELA_"

// parseEnviron reads the CANDELA_ variables. An empty one counts as not set,
// because compose files and units write "NAME=" for that.
func (l *loader) parseEnviron(environ []string) []given {
	var values []given
	linked := false
	for _, entry := range environ {
		name, text := variable(entry)
		if !strings.HasPrefix(name, envPrefix) || text == "" {
			continue
		}
		s := l.find(func(s Setting) bool { return s.Env() == name && s.Sources&FromEnv != 0 })
		if s.Name == "" {
			// The value stays out of the message: it may be a secret.
			l.refuse(unknown(name, l.names(FromEnv, Setting.Env), "unknown environment variable %s", name))
			linked = linked || name == envPrefix+"SERVICE_HOST"
			continue
		}
		values = append(values, given{s, text, name})
	}
	if linked {
		l.refuse(refused(envPrefix+"SERVICE_HOST", "CANDELA_SERVICE_HOST comes from Kubernetes, which sets such variables for a "+
			"service named candela: put enableServiceLinks: false into the pod's specification"))
	}
	return values
}

// variable splits an entry of the environment. On Windows Candela_Home and CANDELA_HOME
// are one variable, kept as it was written first.
func variable(entry string) (name, text string) {
	name, text, _ = strings.Cut(entry, "=")
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return name, text
}
