package config

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/internal/market"
)

// value reads and writes one field of a Config as text.
type value interface {
	// set reads text into the field, or returns false and leaves the field alone.
	set(text string) bool
	// String writes the field as set reads it, a secret as its digest.
	String() string
	// allowed says in words what set accepts.
	allowed() string
	// shape is how the value is written in candela.toml.
	shape() setting.Shape
}

// quote returns a wrong value as a message may show it: a URL with a slip in it may
// hold a key or a password all the same.
func quote(field value, text string) string {
	switch field.(type) {
	case endpointValue, natsURLValue:
		return "(hidden)"
	default:
		return text
	}
}

type boolValue struct{ p *bool }

func (v boolValue) set(text string) bool {
	on, ok := setting.ReadBool(text)
	if ok {
		*v.p = on
	}
	return ok
}

func (v boolValue) String() string     { return strconv.FormatBool(*v.p) }
func (boolValue) allowed() string      { return "true, false, 1, 0" }
func (boolValue) shape() setting.Shape { return setting.ShapeBool }

type intValue struct {
	p        *int
	min, max int
}

func (v intValue) set(text string) bool {
	n, err := strconv.Atoi(text)
	if err != nil || n < v.min || n > v.max {
		return false
	}
	*v.p = n
	return true
}

func (v intValue) String() string     { return strconv.Itoa(*v.p) }
func (v intValue) allowed() string    { return fmt.Sprintf("a whole number from %d to %d", v.min, v.max) }
func (intValue) shape() setting.Shape { return setting.ShapeInt }

// textValue is a text of some kind.
type textValue struct {
	p    *string
	kind setting.Kind
}

func (v textValue) set(text string) bool {
	read, ok := v.kind.Read(text)
	if ok {
		*v.p = read
	}
	return ok
}

func (v textValue) String() string       { return *v.p }
func (v textValue) allowed() string      { return v.kind.Allowed }
func (v textValue) shape() setting.Shape { return v.kind.Shape }

type levelValue struct{ p *slog.Level }

func (v levelValue) set(text string) bool {
	// Level.UnmarshalText would also read "info+3": four names are enough.
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if text == strings.ToLower(level.String()) {
			*v.p = level
			return true
		}
	}
	return false
}

func (v levelValue) String() string     { return strings.ToLower(v.p.String()) }
func (levelValue) allowed() string      { return "debug, info, warn, error" }
func (levelValue) shape() setting.Shape { return setting.ShapeString }

type durationValue struct{ p *time.Duration }

func (v durationValue) set(text string) bool {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > 5*time.Minute {
		return false
	}
	*v.p = d
	return true
}

func (v durationValue) String() string     { return v.p.String() }
func (durationValue) allowed() string      { return "a duration from 1s to 5m, such as 10s or 1m30s" }
func (durationValue) shape() setting.Shape { return setting.ShapeString }

type symbolValue struct{ p *market.Symbol }

func (v symbolValue) set(text string) bool {
	if text == "" {
		*v.p = market.Symbol{}
		return true
	}
	symbol, err := market.ParseSymbol(text)
	if err != nil {
		return false
	}
	*v.p = symbol
	return true
}

func (v symbolValue) String() string { return v.p.String() }
func (symbolValue) allowed() string {
	return "a symbol such as BTCUSDT, AAPL, EURUSD=X or csv:BTCUSDT, or nothing for sample data"
}
func (symbolValue) shape() setting.Shape { return setting.ShapeString }

type intervalValue struct{ p *market.Interval }

func (v intervalValue) set(text string) bool {
	interval, err := market.ParseInterval(text)
	if err != nil {
		return false
	}
	*v.p = interval
	return true
}

func (v intervalValue) String() string     { return v.p.String() }
func (intervalValue) allowed() string      { return strings.Join(market.IntervalNames(), ", ") }
func (intervalValue) shape() setting.Shape { return setting.ShapeString }

// namesValue is a list of names that some other package knows.
type namesValue struct{ p *[]string }

func (v namesValue) set(text string) bool {
	names, ok := splitList(text)
	if !ok {
		return false
	}
	*v.p = names
	return true
}

func (v namesValue) String() string     { return strings.Join(*v.p, ",") }
func (namesValue) allowed() string      { return "names separated by commas, none of them empty" }
func (namesValue) shape() setting.Shape { return setting.ShapeList }

// splitList splits at commas and trims blanks. An empty text is an empty list;
// an empty item is an error, because it is a slip of some kind.
func splitList(text string) ([]string, bool) {
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
		if items[i] == "" {
			return nil, false
		}
	}
	return items, true
}

// need says whether a path may be empty.
type need bool

const (
	optional need = false
	required need = true
)

// pathValue is a file or folder. A leading "~/" is expanded here because only a
// shell expands it elsewhere, and only in some positions.
type pathValue struct {
	p        *string
	userHome string
	need     need
}

func (v pathValue) set(text string) bool {
	if strings.ContainsRune(text, 0) || text == "" && v.need == required {
		return false
	}
	if rest, ok := cutHome(text); ok {
		if v.userHome == "" {
			return false
		}
		text = filepath.Join(v.userHome, rest)
	}
	*v.p = text
	return true
}

// cutHome returns what follows the user's home directory. On Windows a path may be
// written with either slash.
func cutHome(text string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, "~"+string(filepath.Separator)); ok {
		return rest, true
	}
	return strings.CutPrefix(text, "~/")
}

func (v pathValue) String() string { return *v.p }
func (v pathValue) allowed() string {
	if v.userHome == "" {
		return "a path without ~, because the user's home directory is not known"
	}
	return "a path"
}
func (pathValue) shape() setting.Shape { return setting.ShapeString }

// homeValue is the path of the state directory, kept absolute so that every
// message about it can be acted on from anywhere.
type homeValue struct{ pathValue }

func (v homeValue) set(text string) bool {
	before := *v.p
	if !v.pathValue.set(text) {
		return false
	}
	abs, err := filepath.Abs(*v.p)
	if err != nil {
		*v.p = before
		return false
	}
	*v.p = abs
	return true
}

type secretValue struct{ p *secret.Text }

func (v secretValue) set(text string) bool {
	*v.p = secret.New(text)
	return true
}

func (v secretValue) String() string     { return v.p.String() }
func (secretValue) allowed() string      { return "any text" }
func (secretValue) shape() setting.Shape { return setting.ShapeString }
