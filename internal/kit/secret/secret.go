// Package secret holds values that must never be printed: passphrases, keys and URLs
// that contain them.
package secret

import (
	"log/slog"
	"net/url"
)

// Text is a text that must not be shown. Everything that prints, logs or
// marshals it says that it is set; only Reveal returns the text.
type Text struct {
	text string
}

// New wraps text.
func New(text string) Text { return Text{text} }

// Reveal returns the text, for the one place that compares or signs with it.
func (s Text) Reveal() string { return s.text }

// IsZero reports whether there is no secret.
func (s Text) IsZero() bool { return s.text == "" }

// String says that there is a secret, or returns "" for none. Not even a digest is
// shown: with a few bits of one, guesses of a passphrase can be sorted out.
func (s Text) String() string {
	if s.IsZero() {
		return ""
	}
	return "(set)"
}

// GoString keeps %#v from reaching the text.
func (s Text) GoString() string { return "secret.Text(" + s.String() + ")" }

// LogValue returns what String returns.
func (s Text) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns what String returns.
func (s Text) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// URL is a URL whose path or query may be a key, as those of webhooks and
// topics are. Everything that prints, logs or marshals it writes the scheme and the
// host; only Reveal returns it whole.
type URL struct {
	Text
}

// NewURL wraps an absolute URL.
func NewURL(text string) URL { return URL{New(text)} }

// String returns the part that may be seen, or "" for no URL.
func (e URL) String() string {
	u, err := url.Parse(e.text)
	if err != nil || e.IsZero() {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/..."
}

// GoString keeps %#v from reaching the URL.
func (e URL) GoString() string { return "secret.URL(" + e.String() + ")" }

// LogValue returns what String returns.
func (e URL) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalText returns what String returns.
func (e URL) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
