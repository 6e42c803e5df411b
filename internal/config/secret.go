package config

import (
	"log/slog"
	"net/url"
)

// Secret is a text that must not be shown. Everything that prints, logs or
// marshals it says that it is set; only Reveal returns the text.
type Secret struct {
	text string
}

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text, for the one place that compares or signs with it.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == "" }

// String says that there is a secret, or returns "" for none. Not even a digest is
// shown: with a few bits of one, guesses of a passphrase can be sorted out.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return "(set)"
}

// GoString keeps %#v from reaching the text.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// LogValue returns what String returns.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns what String returns.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Endpoint is a URL whose path or query may be a key, as those of webhooks and
// topics are. Everything that prints, logs or marshals it writes the scheme and the
// host; only Reveal returns it whole.
type Endpoint struct {
	text string
}

// Reveal returns the URL, for the one place that sends something there.
func (e Endpoint) Reveal() string { return e.text }

// IsZero reports whether there is none.
func (e Endpoint) IsZero() bool { return e.text == "" }

// String returns the part that may be seen, or "" for no URL.
func (e Endpoint) String() string {
	u, err := url.Parse(e.text)
	if err != nil || e.IsZero() {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/..."
}

// GoString keeps %#v from reaching the URL.
func (e Endpoint) GoString() string { return "config.Endpoint(" + e.String() + ")" }

// LogValue returns what String returns.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalText returns what String returns.
func (e Endpoint) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
