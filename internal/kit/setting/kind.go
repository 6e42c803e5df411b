package setting

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/loopback"
)

// Shape is the type of a value in candela.toml.
type Shape uint8

// The shapes. A list is an array of strings; in flags and variables, commas separate it.
const (
	ShapeString Shape = iota
	ShapeBool
	ShapeInt
	ShapeList
)

// Kind says which values a setting accepts.
type Kind struct {
	// Read returns a value in its one form, or false. It is nil for secrets and paths.
	Read    func(text string) (string, bool)
	Allowed string // what Read accepts, in words
	Shape   Shape
	Choices []string // of Choice

	Secret bool // any text; it comes from the environment alone and is never printed
	Path   bool // a file or folder; a leading ~/ is the user's home directory

	Endpoint bool // a URL whose path or query may be a key
}

// Secret is a text that is never printed.
func Secret() Kind { return Kind{Secret: true} }

// Endpoint is a URL that messages are sent to. Only its scheme and host are printed.
func Endpoint() Kind { return Kind{Endpoint: true} }

// Path is a file or folder.
func Path() Kind { return Kind{Path: true} }

// Choice is one of several words.
func Choice(words ...string) Kind {
	return Kind{Choices: words, Allowed: strings.Join(words, ", "), Read: func(text string) (string, bool) {
		return text, slices.Contains(words, text)
	}}
}

// Bool is true or false.
func Bool() Kind {
	return Kind{Shape: ShapeBool, Allowed: "true, false, 1, 0", Read: func(text string) (string, bool) {
		on, ok := ReadBool(text)
		return strconv.FormatBool(on), ok
	}}
}

// ReadBool reads a boolean. strconv.ParseBool also reads t, F and True: a typing slip
// must not become a decision about trading.
func ReadBool(text string) (on, ok bool) {
	switch text {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// Int is a whole number within bounds.
func Int(least, most int) Kind {
	return Kind{Shape: ShapeInt, Allowed: fmt.Sprintf("a whole number from %d to %d", least, most), Read: func(text string) (string, bool) {
		n, err := strconv.Atoi(text)
		return strconv.Itoa(n), err == nil && n >= least && n <= most
	}}
}

// Moment is an instant, or none.
func Moment() Kind {
	return Kind{Allowed: "a date, or a time in RFC 3339, such as 2025-01-31T09:30:00Z", Read: func(text string) (string, bool) {
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if at, err := time.Parse(layout, text); err == nil {
				return at.UTC().Format(time.RFC3339), true
			}
		}
		return "", text == ""
	}}
}

// URL is the address of an HTTP API, or none.
func URL() Kind { return address("http") }

// streamURL is the address of a WebSocket API, or none.
func streamURL() Kind { return address("ws") }

// address is a host, with a path where a gateway is in front. Unencrypted prices could
// be anyone's, so that is accepted on this machine alone.
func address(scheme string) Kind {
	return Kind{
		Allowed: "an absolute " + scheme + "s URL without query, such as " + scheme + "s://gateway.example.com/venue; " +
			scheme + " only for localhost and loopback addresses",
		Read: func(text string) (string, bool) {
			u, ok := ParseURL(text, scheme, scheme+"s")
			good := ok && u.RawQuery == "" && (u.Scheme != scheme || loopback.Host(u.Hostname()))
			return strings.TrimSuffix(text, "/"), good || text == ""
		},
	}
}

// ParseURL reads a URL of one of the schemes that names a host, with a usable port or
// none, and holds neither user nor fragment.
func ParseURL(text string, schemes ...string) (*url.URL, bool) {
	u, err := url.Parse(text)
	good := err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != "" && goodPort(u) && u.User == nil && u.Fragment == ""
	return u, good
}

// goodPort reports whether a URL has no port or a usable one.
func goodPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}
