package config

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"candela/internal/kit/secret"
	"candela/lib/fault"
)

// FileName is the name of the configuration file in the state directory.
const FileName = "candela.toml"

// Input is everything a configuration is made of besides candela.toml.
type Input struct {
	Args    []string // flags, without the program's name and the command
	Environ []string // as os.Environ returns it
	Parts   Parts    // the venues, brokers and sinks of this build

	// Inspect loads a configuration to look at it: a flag may then belong to
	// a mode that was not asked for.
	Inspect bool
}

// Error holds every problem of a configuration, in the order flags,
// environment, file, combinations. Each is a *fault.Error of kind Invalid.
type Error struct {
	Problems []error
}

// Error returns one problem per line.
func (e *Error) Error() string {
	if len(e.Problems) == 0 {
		return ""
	}
	return errors.Join(e.Problems...).Error()
}

// Unwrap returns the problems.
func (e *Error) Unwrap() []error { return e.Problems }

// given is a value that some source holds for a setting.
type given struct {
	setting Setting
	text    string
	origin  string // the flag, variable or key, as messages name it
}

// loader gathers values and problems. One goroutine only.
type loader struct {
	parts    Parts
	config   *Config
	bad      map[string]bool // settings with a malformed value in some source
	problems []error
}

// Load reads all sources and returns the checked configuration, or an *Error
// that lists every problem found.
func Load(in Input) (*Config, error) {
	c := &Config{userHome: userHome(in.Environ), environ: foreign(in.Environ), origins: make(map[string]string)}
	c.table = c.settings(in.Parts)
	l := &loader{parts: in.Parts, config: c, bad: make(map[string]bool)}
	l.setDefaults()
	flags := l.parseArgs(in.Args)
	values := append(l.parseEnviron(in.Environ), flags...)
	l.applyHome(values)
	l.applyAll(append(l.openFile(), values...))
	l.derive()
	l.implyServe()
	l.implyNoConsole()
	if !in.Inspect {
		l.refuseIdle(flags)
	}
	l.checkRules()
	if c.Mode()&ModeServe != 0 {
		l.loadSecret("owner-password", c.OAuth.OwnerPasswordFile, &c.OAuth.OwnerPassword, readPassphraseFile)
	}
	if c.ManyOwners() {
		l.loadSecret("oidc-client-secret", c.Owners.SecretFile, &c.Owners.Secret, readProviderSecret)
		l.loadSecret("host-password", c.Owners.Desk.PasswordFile, &c.Owners.Desk.Password, readPassphraseFile)
	}
	l.checkNATS()
	if c.Shared() && (c.Serve || in.Inspect) {
		l.loadSecret("cluster-secret", c.NATS.SecretFile, &c.NATS.Secret, readClusterSecret)
	}
	l.loadKeys()
	l.loadSinkSecrets()
	if len(l.problems) > 0 {
		return nil, &Error{l.problems}
	}
	c.Trading.Network = in.Parts.broker(c.Trading.Broker).Network(c.Values, c.Trading.Live)
	return c, nil
}

// foreign returns the variables of an environment that are not of candela.
func foreign(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool { return strings.HasPrefix(strings.ToUpper(pair), "CANDELA_") })
}

// userHome returns what the environment calls the user's home directory, or "".
func userHome(environ []string) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home := ""
	for _, entry := range environ {
		if key, text := variable(entry); key == name {
			home = text
		}
	}
	return home
}

func (l *loader) refuse(problem error) { l.problems = append(l.problems, problem) }

func (l *loader) setDefaults() {
	for _, s := range l.config.table {
		if s.Default != "" && s.derive == nil && !s.value.set(s.Default) {
			panic("config: the default of " + s.Name + " is not allowed")
		}
	}
}

// applyHome settles the state directory first, because the file lies in it.
func (l *loader) applyHome(values []given) {
	for _, g := range values {
		if g.setting.Name == "home" {
			l.apply(g)
		}
	}
	if l.config.Home == "" && !l.bad["home"] {
		l.deriveOne(l.find(func(s Setting) bool { return s.Name == "home" }))
	}
}

func (l *loader) applyAll(values []given) {
	for _, g := range values {
		if g.setting.Name != "home" {
			l.apply(g)
		}
	}
}

// apply sets one value. The stronger source comes later and so wins.
func (l *loader) apply(g given) {
	field := g.setting.value
	if field.set(g.text) {
		l.config.origins[g.setting.Name] = g.origin
		return
	}
	l.bad[g.setting.Name] = true
	l.refuse(fault.Field(g.origin, field.quote(g.text), field.Allowed, fault.Nearest(g.text, field.Choices)...))
}

func (l *loader) derive() {
	for _, s := range l.config.table {
		if _, ok := l.config.origins[s.Name]; !ok && s.derive != nil && s.Name != "home" && !l.bad[s.Name] {
			l.deriveOne(s)
		}
	}
}

func (l *loader) deriveOne(s Setting) {
	if text := s.derive(); !s.value.set(text) {
		l.bad[s.Name] = true
		l.refuse(fault.Field(s.Title(), text, s.value.Allowed))
	}
}

// implyServe makes --trade alone mean --serve --trade.
func (l *loader) implyServe() {
	c := l.config
	if c.Trade && !c.MCP && !c.Serve && !l.bad["mcp"] && !l.bad["serve"] {
		c.Serve = true
		c.origins["serve"] = "implied by --trade"
	}
}

// refuseIdle refuses flags without effect in this mode: a user who typed one
// expects something of it, such as --port without --serve. Variables and the
// file may hold settings of several modes.
func (l *loader) refuseIdle(flags []given) {
	if l.bad["mcp"] || l.bad["serve"] || l.bad["trade"] {
		return
	}
	mode := l.config.Mode()
	for _, g := range flags {
		if s := g.setting; s.Modes&mode == 0 {
			l.refuse(refused(s.Name, "%s has no effect in this mode (%s): it belongs to %s", s.Flag(), mode, modeNames(s.Modes)))
		}
	}
}

func modeNames(modes Mode) string {
	var names []string
	for _, m := range []Mode{ModeChart, ModeMCP, ModeServe} {
		if modes&m != 0 {
			names = append(names, m.String())
		}
	}
	return strings.Join(names, ", ")
}

func (l *loader) checkRules() {
	bad := func(name string) bool { return l.bad[name] }
	for _, r := range rules(l.parts) {
		if r.modes&l.config.Mode() == 0 || slices.ContainsFunc(r.reads, bad) {
			continue
		}
		if err := r.check(l.config); err != nil {
			l.refuse(err)
		}
	}
}

// loadSecret reads a secret out of the file that the setting of its name and -file
// gives, unless it came from the environment.
func (l *loader) loadSecret(name, path string, into *secret.Text, read func(path string) (secret.Text, error)) {
	if path == "" || !into.IsZero() {
		return
	}
	text, err := read(path)
	if err != nil {
		l.refuseFile(name+"-file", err)
		return
	}
	*into = text
	l.config.origins[name] = path
}

// refuseFile reports a file, named by a setting, that cannot be used.
func (l *loader) refuseFile(name string, err error) {
	l.refuse(refused(name, "%s: %s", l.config.origins[name], err))
}

// find returns the first setting that matches, or the zero Setting.
func (l *loader) find(match func(Setting) bool) Setting {
	i := slices.IndexFunc(l.config.table, match)
	if i < 0 {
		return Setting{}
	}
	return l.config.table[i]
}

// names returns the names that settings have in a source.
func (l *loader) names(from Sources, name func(Setting) string) []string {
	names := make([]string, 0, len(l.config.table))
	for _, s := range l.config.table {
		if s.Sources&from != 0 {
			names = append(names, name(s))
		}
	}
	return names
}

func (l *loader) openFile() []given {
	if l.bad["home"] {
		return nil
	}
	path := filepath.Join(l.config.Home, FileName)
	data, err := readConfigFile(path)
	if err != nil {
		l.refuse(refused("home", "%s", err))
		return nil
	}
	return l.parseFile(path, data)
}
