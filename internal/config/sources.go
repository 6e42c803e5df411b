package config

import (
	"runtime"
	"slices"
	"strings"

	"candela/lib/fault"
)

// parseArgs reads flags: --name value, --name=value, and --name alone for a
// boolean. The flag package would stop at the first problem and take "True" for
// a boolean, so this is written out.
func (l *loader) parseArgs(args []string) []given {
	var values []given
	seen := make(map[string]bool)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "--") || arg == "--" {
			l.refuse(l.strayArgument(arg))
			continue
		}
		name, text, assigned := strings.Cut(arg[len("--"):], "=")
		s := l.find(func(s Setting) bool { return s.Name == name && s.Sources&FromFlag != 0 })
		if s.Name == "" {
			l.refuse(l.unknownFlag(name))
			if !assigned && startsValue(args) {
				args = args[1:] // the unknown flag's value is no second problem
			}
			continue
		}
		switch {
		case assigned:
		case s.isBool():
			text = "true"
		case startsValue(args):
			text, args = args[0], args[1:]
		default:
			l.bad[s.Name] = true
			l.refuse(fault.Missing(s.Flag(), s.value.Allowed))
			continue
		}
		if seen[s.Name] {
			l.refuse(refused(s.Name, "%s is given more than once", s.Flag()))
		}
		seen[s.Name] = true
		values = append(values, given{s, text, s.Flag()})
	}
	return values
}

// FirstWord returns the index of the first argument that is neither a flag nor the value of
// one, -1 if there is none. An unknown flag, which Load refuses, has no value here.
func FirstWord(p Parts, args []string) int {
	table := Settings(p)
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return i
		}
		hasValue := slices.ContainsFunc(table, func(s Setting) bool { return s.Flag() == args[i] && !s.isBool() })
		if hasValue && startsValue(args[i+1:]) {
			i++
		}
	}
	return -1
}

// startsValue reports whether the next argument can be a flag's value. Another
// flag cannot: --symbol --mcp is a forgotten symbol. A value that does begin
// with two dashes can be written as --flag=value.
func startsValue(args []string) bool {
	return len(args) > 0 && !strings.HasPrefix(args[0], "--")
}

// unknownFlag names the flag but not its value, which may be a secret.
func (l *loader) unknownFlag(name string) error {
	if s := l.find(func(s Setting) bool { return s.Name == name }); s.Name != "" {
		return refused(name, "--%s is no flag, because other users can read a command line: set %s in the environment", name, s.Env())
	}
	known := append([]string{"--help", "--version"}, l.names(FromFlag, Setting.Flag)...)
	return unknown("--"+name, known, "unknown flag --%s", name)
}

func (l *loader) strayArgument(arg string) error {
	name := strings.TrimLeft(arg, "-")
	if name, _, _ = strings.Cut(name, "="); name != "" && strings.HasPrefix(arg, "-") {
		if s := l.find(func(s Setting) bool { return s.Name == name }); s.Name != "" {
			return refused(name, "-%s: write it with two dashes, %s", name, s.Flag())
		}
	}
	return refused("", "unexpected argument %q: a command comes first, everything else is a flag", arg)
}

// unknown reports a name that no setting has, with the nearest that one has.
func unknown(name string, known []string, format string, args ...any) *fault.Error {
	near := fault.Nearest(name, known)
	e := refused(name, format, args...)
	if len(near) > 0 {
		e.Message += "; did you mean " + near[0] + "?"
		e.Suggestions = near
	}
	return e
}

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
		s := l.find(func(s Setting) bool { return s.Env() == name && s.Sources&fromEnv != 0 })
		if s.Name == "" {
			// The value stays out of the message: it may be a secret.
			l.refuse(unknown(name, l.names(fromEnv, Setting.Env), "unknown environment variable %s", name))
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
