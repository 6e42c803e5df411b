package email

import (
	"context"
	"crypto/x509"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/sinktest"
	"candela/internal/kit/secret"
	fake "candela/internal/testkit/fake/smtp"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "hunter2-hunter2"

var at = time.Date(2026, 1, 31, 14, 3, 23, 0, time.UTC)

// open returns a receiver of a server.
func open(t *testing.T, s *fake.Server, scheme string, change func(*Config)) *Receiver {
	t.Helper()
	cfg := Config{To: "me@example.com", From: "candela@example.org", Server: scheme + "://" + s.Address, Roots: s.Roots}
	if change != nil {
		change(&cfg)
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func login(c *Config) { c.User, c.Password = "me", secret.New(password) }

func TestSend_ByEveryWay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		server    fake.Config
		scheme    string
		encrypted bool
		user      string
	}{
		"STARTTLS":                   {fake.Config{}, "smtp", true, ""},
		"STARTTLS with PLAIN":        {fake.Config{Auth: []string{"LOGIN", "PLAIN"}}, "smtp", true, "me"},
		"STARTTLS with LOGIN":        {fake.Config{Auth: []string{"LOGIN"}}, "smtp", true, "me"},
		"TLS":                        {fake.Config{Implicit: true}, "smtps", true, ""},
		"TLS with PLAIN":             {fake.Config{Implicit: true, Auth: []string{"PLAIN"}}, "smtps", true, "me"},
		"no encryption, on loopback": {fake.Config{NoTLS: true}, "smtp", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.server.User, tc.server.Password = "me", password
			s := fake.Start(t, tc.server)
			r := open(t, s, tc.scheme, func(c *Config) {
				if tc.user != "" {
					login(c)
				}
			})
			if a := r.Check(t.Context()); a.Outcome != sink.Delivered || len(s.Mail()) > 0 {
				t.Fatalf("check: %+v", a)
			}
			if a := r.Send(t.Context(), sink.Message{Now: at, Alert: sinktest.Entry(7, at)}); a.Outcome != sink.Delivered {
				t.Fatalf("%+v", a)
			}
			m := <-s.Mail()
			if m.From != "candela@example.org" || m.To != "me@example.com" || m.Encrypted != tc.encrypted || m.User != tc.user {
				t.Errorf("%+v", m)
			}
			header, body := parse(t, m.Data)
			if body != "BTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC\r\nsell half\r\n" || header.Get("Subject") != "BTCUSDT alert" {
				t.Errorf("%v %q", header, body)
			}
		})
	}
}

// parse reads a message as a mail program does.
func parse(t *testing.T, data string) (mail.Header, string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Header.Date(); err != nil {
		t.Error(err)
	}
	if kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type")); err != nil || kind != "text/plain" || params["charset"] != "utf-8" {
		t.Errorf("%s %v %v", kind, params, err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Error(err)
	}
	m.Header["Subject"] = []string{subject}
	return m.Header, string(body)
}

func TestCompose_HoldsHeaders(t *testing.T) {
	t.Parallel()
	s := fake.Start(t, fake.Config{})
	r := open(t, s, "smtp", nil)
	names := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}
	for name, m := range map[string]sink.Message{
		"a title with a break":  {Notice: &sink.Notice{ID: "n", Title: "a\r\nBcc: evil@example.com\r\n\r\nbody", Text: "x"}},
		"a symbol with a break": {Alert: &notify.Entry{Symbol: market.Symbol{Name: "BTC\nBcc: evil@example.com"}, Data: []byte("x\r\n.\r\nMAIL FROM:<evil@example.com>")}},
		"umlauts":               {Notice: &sink.Notice{ID: "n", Title: "Gr\u00fc\u00dfe \U0001F4C8 " + strings.Repeat("\u00e4", 150), Text: "\u00e4\n.\n..\n" + strings.Repeat("x", 3000)}},
		"bytes":                 {Notice: &sink.Notice{ID: "n", Title: "\xff\x00", Text: "\xff\x00\r"}},
		"a link":                {Notice: &sink.Notice{ID: "n", Title: "t", Text: "x", Link: "https://candela.example.com/console/approvals/1"}},
		"a test":                {},
	} {
		m.Now = at
		if a := r.Send(t.Context(), m); a.Outcome != sink.Delivered {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		got := <-s.Mail()
		header, body := parse(t, got.Data)
		var has []string
		for key := range header {
			has = append(has, key)
		}
		slices.Sort(has)
		if !slices.Equal(has, names) || got.To != "me@example.com" || strings.ContainsFunc(got.Data, func(r rune) bool { return r > '~' }) {
			t.Errorf("%s: %q in %q", name, has, got.Data)
		}
		if m.Notice != nil && m.Notice.Link != "" && !strings.HasSuffix(body, "\r\n\r\n"+m.Notice.Link+"\r\n") {
			t.Errorf("%s: %q", name, body)
		}
		if name == "umlauts" && (!strings.HasPrefix(header.Get("Subject"), "Gr\u00fc\u00dfe \U0001F4C8 \u00e4") || !strings.Contains(body, "\u00e4\r\n.\r\n..\r\n")) {
			t.Errorf("%s: %v %.30q", name, header, body)
		}
	}
	first, again, other := messageID(sink.Message{Now: at, Alert: sinktest.Entry(7, at)}), messageID(sink.Message{Alert: sinktest.Entry(7, at)}), messageID(sink.Message{Alert: sinktest.Entry(8, at)})
	if first != again || first == other {
		t.Errorf("ids %s, %s, %s", first, again, other)
	}
}

func TestSend_Answers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command, reply string
		outcome        sink.Outcome
	}{
		"busy at first":        {"CONNECT", "421 4.3.2 too busy", sink.Unreachable},
		"unwelcome":            {"CONNECT", "554 5.7.1 go away", sink.Refused},
		"greylisted":           {"RCPT", "451 4.7.1 try later", sink.Failed},
		"no such mailbox":      {"RCPT", "550 5.1.1 no such user", sink.Refused},
		"sender refused":       {"MAIL", "553 5.7.1 not yours", sink.Refused},
		"quota":                {".", "452 4.2.2 mailbox full", sink.Failed},
		"spam":                 {".", "554 5.7.1 spam", sink.Refused},
		"leaving":              {"DATA", "421 4.3.2 shutting down", sink.Unreachable},
		"a login that waits":   {"AUTH", "454 4.7.0 temporary failure", sink.Unreachable},
		"a login that fails":   {"AUTH", "535 5.7.8 wrong: " + password, sink.Refused},
		"a password and more":  {"AUTH", "535 5.7.8 wrong: " + encoded("\x00me\x00"+password), sink.Refused},
		"no SMTP":              {"CONNECT", "HTTP/1.1 400 Bad Request", sink.Unreachable},
		"a line without end":   {"CONNECT", "220 " + strings.Repeat("x", 2<<20), sink.Unreachable},
		"lines without end":    {"EHLO", strings.Repeat("250-x\r\n", 1<<18) + "250 x", sink.Unreachable},
		"a refused encryption": {"STARTTLS", "454 4.7.0 no TLS now", sink.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fake.Start(t, fake.Config{Auth: []string{"PLAIN"}, User: "me", Password: password, Reply: func(command string) string {
				if command == tc.command {
					return tc.reply
				}
				return ""
			}})
			a := open(t, s, "smtp", login).Send(t.Context(), sink.Message{Now: at})
			if a.Outcome != tc.outcome || a.Text == "" || strings.Contains(a.Text, "hunter2") || strings.Contains(a.Text, encoded(password)) || len(a.Text) > 400 || len(s.Mail()) > 0 {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestSend_WrongPassword(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"PLAIN", "LOGIN"} {
		s := fake.Start(t, fake.Config{Auth: []string{method}, User: "me", Password: "another"})
		a := open(t, s, "smtp", login).Send(t.Context(), sink.Message{Now: at})
		// The server repeats what it was sent.
		if a.Outcome != sink.Refused || !strings.Contains(a.Text, "check --email-user") || strings.Contains(a.Text, encoded(password)) {
			t.Errorf("%s: %+v", method, a)
		}
	}
}

// Without encryption nothing is sent to another machine, and a password nowhere.
func TestSend_NothingInTheClear(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		server fake.Config
		change func(*Config, *Receiver)
		want   string
	}{
		"another machine without STARTTLS": {fake.Config{NoTLS: true}, func(_ *Config, r *Receiver) { r.local = false }, "offers no encryption"},
		"a password on this machine":       {fake.Config{NoTLS: true}, func(_ *Config, r *Receiver) { r.cfg.User, r.cfg.Password = "me", secret.New(password) }, "a password is not sent without"},
		"an unknown authority":             {fake.Config{}, func(_ *Config, r *Receiver) { r.cfg.Roots = x509.NewCertPool() }, "unknown authority"},
		"another name":                     {fake.Config{}, func(_ *Config, r *Receiver) { r.host = "mail.example.com" }, "not mail.example.com"},
		"no known login":                   {fake.Config{Auth: []string{"GSSAPI"}}, func(_ *Config, r *Receiver) { r.cfg.User = "me" }, "neither AUTH PLAIN nor LOGIN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fake.Start(t, tc.server)
			r := open(t, s, "smtp", nil)
			tc.change(&r.cfg, r)
			a := r.Send(t.Context(), sink.Message{Now: at})
			if a.Outcome != sink.Unreachable || !strings.Contains(a.Text, tc.want) {
				t.Errorf("%+v, want %q", a, tc.want)
			}
			if got := s.Commands(); slices.Contains(got, "MAIL") || slices.Contains(got, "AUTH") {
				t.Errorf("it got %v", got)
			}
		})
	}
}

// A server that says nothing is left when the caller gives up.
func TestSend_SilentServer(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			accepted <- conn
		}
		cancel()
	}()
	r, err := New(Config{To: "me@example.com", From: "candela@example.org", Server: "smtp://" + ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Send(ctx, sink.Message{Now: at}); a.Outcome != sink.Unreachable || a.Text == "" {
		t.Errorf("%+v", a)
	}
	_ = (<-accepted).Close()
}

func TestNew_Addresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"me@example.com": true, "": true, "a+b@example.co.uk": true, "me": false, "me@example.com\r\nRCPT TO:<x@y.z>": false, "Me <me@example.com>": false,
		"<me@example.com>": false, "a@b.c, d@e.f": false, "m\u00fc@example.com": false, `"a b"@example.com`: false, "me@example.com ": false,
	} {
		if _, ok := readAddress(text); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
	for _, server := range []string{"smtp://10.0.0.1", "smtps://169.254.169.254", "smtp://[fe80::1]"} {
		if _, err := New(Config{To: "a@b.c", From: "a@b.c", Server: server}); err == nil || !strings.HasPrefix(err.Error(), "--email-server: ") {
			t.Errorf("%s: %v", server, err)
		}
	}
	if _, err := New(Config{To: "a@b.c", From: "a@b.c\r\nx", Server: "smtp://localhost"}); err == nil {
		t.Error("an address with a break is taken")
	}
	for server, want := range map[string]string{"smtp://a.example": "a.example:587", "smtps://a.example": "a.example:465", "smtps://a.example:2465": "a.example:2465"} {
		if r, err := New(Config{To: "a@b.c", From: "a@b.c", Server: server}); err != nil || r.Host() != want {
			t.Errorf("%s: %v", server, err)
		}
	}
}
