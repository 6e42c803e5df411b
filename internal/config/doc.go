// Package config turns flags, environment variables and candela.toml into one
// checked Config.
//
// Every setting is one line of the table in settings.go. The flag set, the
// environment names, the keys of the file, --help, "candela config" and
// docs/configuration.md are all read from that table, so they cannot disagree.
// A later setting is a field of Config and a line of the table; a rule that ties
// several settings together is a line of the table in rules.go.
//
// A value given by a flag beats one from the environment, which beats one from
// the file, which beats the default. A wrong value is refused wherever it stands,
// even where a stronger source overrides it, and all problems are reported at
// once. There is no warning that lets the program start anyway.
//
// The package reads candela.toml and the owner's password file. It creates,
// changes and locks nothing.
package config
