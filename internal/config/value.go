package config

import (
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/lib/market"
)

// value reads and writes one field of a Config as text.
type value struct {
	setting.Kind
	// set reads text into the field, or returns false and leaves the field alone.
	set func(text string) bool
	// text writes the field as set reads it, of a secret only whether it is set.
	text func() string
	// hidden keeps a wrong value out of messages: a URL with a slip in it may hold a
	// key or a password all the same.
	hidden bool
}

// quote returns a wrong value as a message may show it.
func (v value) quote(text string) string {
	if v.hidden {
		return "(hidden)"
	}
	return text
}

// field is the value of a field that parse reads and format writes.
func field[T any](p *T, kind setting.Kind, parse func(string) (T, bool), format func(T) string) value {
	return value{
		Kind: kind,
		set: func(text string) bool {
			read, ok := parse(text)
			if ok {
				*p = read
			}
			return ok
		},
		text: func() string { return format(*p) },
	}
}

// textField is the value of a text of some kind.
func textField(p *string, kind setting.Kind) value { return field(p, kind, kind.Read, same) }

func same(text string) string { return text }

func checked(good func(string) bool) func(string) (string, bool) {
	return func(text string) (string, bool) { return text, good(text) }
}

// optional makes an empty text the zero value.
func optional[T any](parse func(string) (T, bool)) func(string) (T, bool) {
	return func(text string) (read T, ok bool) {
		if text == "" {
			return read, true
		}
		return parse(text)
	}
}

// listField is the value of a list whose items parse reads and format writes.
func listField[T any](p *[]T, allowed string, parse func(string) (T, bool), format func(T) string) value {
	kind := setting.Kind{Shape: setting.ShapeList, Allowed: allowed}
	return field(p, kind, func(text string) ([]T, bool) { return parseList(text, parse) }, func(items []T) string {
		texts := make([]string, 0, len(items))
		for _, item := range items {
			texts = append(texts, format(item))
		}
		return strings.Join(texts, ",")
	})
}

// parseList splits at commas and trims blanks. An empty text is an empty list; an empty
// item is an error, because it is a slip of some kind.
func parseList[T any](text string, parse func(string) (T, bool)) ([]T, bool) {
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	var all []T
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		read, ok := parse(item)
		if !ok || item == "" {
			return nil, false
		}
		all = append(all, read)
	}
	return all, true
}

// namesField is the value of a list of names that some other package knows.
func namesField(p *[]string) value {
	anyName := checked(func(string) bool { return true })
	return listField(p, "names separated by commas, none of them empty", anyName, same)
}

func boolField(p *bool) value {
	return field(p, setting.Bool(), setting.ReadBool, strconv.FormatBool)
}

func intField(p *int, least, most int) value {
	kind := setting.Int(least, most)
	return field(p, kind, func(text string) (int, bool) {
		read, ok := kind.Read(text)
		n, err := strconv.Atoi(read)
		return n, ok && err == nil
	}, strconv.Itoa)
}

func levelField(p *slog.Level) value {
	name := func(level slog.Level) string { return strings.ToLower(level.String()) }
	return field(p, setting.Kind{Allowed: "debug, info, warn, error"}, func(text string) (slog.Level, bool) {
		// Level.UnmarshalText would also read "info+3": four names are enough.
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			if text == name(level) {
				return level, true
			}
		}
		return 0, false
	}, name)
}

func durationField(p *time.Duration) value {
	kind := setting.Kind{Allowed: "a duration from 1s to 5m, such as 10s or 1m30s"}
	return field(p, kind, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d >= time.Second && d <= 5*time.Minute
	}, time.Duration.String)
}

func symbolField(p *market.Symbol) value {
	kind := setting.Kind{Allowed: "a symbol such as BTCUSDT, AAPL, EURUSD=X or csv:BTCUSDT, or nothing for sample data"}
	return field(p, kind, optional(func(text string) (market.Symbol, bool) {
		symbol, err := market.ParseSymbol(text)
		return symbol, err == nil
	}), market.Symbol.String)
}

func symbolsField(p *[]market.Symbol) value {
	return listField(p, "symbols separated by commas, such as ETHUSDT,AAPL", func(text string) (market.Symbol, bool) {
		symbol, err := market.ParseSymbol(text)
		return symbol, err == nil
	}, market.Symbol.String)
}

func intervalField(p *market.Interval) value {
	kind := setting.Kind{Allowed: market.AllowedIntervals()}
	return field(p, kind, func(text string) (market.Interval, bool) {
		interval, err := market.ParseInterval(text)
		return interval, err == nil
	}, market.Interval.String)
}

func secretField(p *secret.Text) value {
	return field(p, setting.Kind{Allowed: "any text", Secret: true}, func(text string) (secret.Text, bool) {
		return secret.New(text), true
	}, secret.Text.String)
}

// pathField is the value of a file or folder, or none.
func (c *Config) pathField(p *string) value {
	return field(p, c.pathKind(), optional(c.expandPath), same)
}

// givenPathField is the value of a file or folder that cannot be empty.
func (c *Config) givenPathField(p *string) value { return field(p, c.pathKind(), c.expandPath, same) }

// homeField is the value of the state directory, kept absolute so that every message
// about it can be acted on from anywhere.
func (c *Config) homeField(p *string) value {
	return field(p, c.pathKind(), func(text string) (string, bool) {
		path, ok := c.expandPath(text)
		abs, err := filepath.Abs(path)
		return abs, ok && err == nil
	}, same)
}

func (c *Config) pathKind() setting.Kind {
	if c.userHome == "" {
		return setting.Kind{Allowed: "a path without ~, because the user's home directory is not known"}
	}
	return setting.Kind{Allowed: "a path"}
}

// expandPath replaces a leading "~/", because only a shell does that elsewhere, and only
// in some positions. On Windows a path may be written with either slash.
func (c *Config) expandPath(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "~/")
	if !ok {
		rest, ok = strings.CutPrefix(text, "~"+string(filepath.Separator))
	}
	if ok {
		return filepath.Join(c.userHome, rest), c.userHome != "" && !strings.ContainsRune(text, 0)
	}
	return text, text != "" && !strings.ContainsRune(text, 0)
}
