package email

import (
	"net/mail"
	"strings"
	"testing"

	"candela/internal/alerting/sink"
)

// FuzzCompose holds that no text adds a header or leaves seven bits.
func FuzzCompose(f *testing.F) {
	f.Add("a\r\nBcc: evil@example.com", "\r\n.\r\nQUIT")
	f.Add("Gr\u00fc\u00dfe\x00", "\xff")
	r, err := New(Config{To: "me@example.com", From: "candela@example.org", Server: "smtps://mail.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, title, text string) {
		data := string(r.compose(sink.Message{Now: at, Notice: &sink.Notice{ID: "n", Title: title, Text: text}}))
		m, err := mail.ReadMessage(strings.NewReader(data))
		if err != nil || len(m.Header) != 9 || m.Header.Get("Bcc") != "" {
			t.Fatalf("%v: %q", err, data)
		}
		for line := range strings.SplitSeq(data, "\n") {
			if len(line) > 998 || strings.ContainsFunc(strings.TrimSuffix(line, "\r"), func(r rune) bool { return r > '~' || r < ' ' && r != '\t' }) {
				t.Errorf("%q", line)
			}
		}
		if strings.Count(data, "\n") != strings.Count(data, "\r\n") {
			t.Errorf("a bare line feed in %q", data)
		}
	})
}
