// Package email is the sink that sends messages as e-mail through an SMTP server, always
// encrypted except on this machine. It is called by package app through its Descriptor.
package email

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
)

// The settings.
const (
	toSetting       = "email-to"
	fromSetting     = "email-from"
	serverSetting   = "email-server"
	userSetting     = "email-user"
	passwordSetting = "email-password"
	fileSetting     = "email-password-file"
)

// Descriptor declares the sink.
func Descriptor() sink.Descriptor {
	address := setting.Kind{Allowed: "one address without a name, such as me@example.com", Read: readAddress}
	server := setting.Kind{
		Allowed: "smtps://HOST for TLS from the start (port 465), or smtp://HOST for STARTTLS (port 587), with another port as HOST:PORT",
		Read: func(text string) (string, bool) {
			u, ok := setting.ParseURL(text, "smtp", "smtps")
			return text, text == "" || ok && strings.Trim(u.Path, "/") == "" && u.RawQuery == ""
		},
	}
	user := setting.Kind{Allowed: "a text without control characters", Read: func(text string) (string, bool) {
		return text, !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	}}
	return sink.Descriptor{
		Part: setting.Part{
			Name: "email", Title: "e-mail", EnabledBy: toSetting,
			Secrets: []setting.FileSecret{{
				Name: passwordSetting, File: fileSetting, Purpose: "the password of --" + userSetting,
				Needed: func(v setting.Values) bool { return v.Text(userSetting) != "" },
			}},
			Settings: []setting.Spec{
				{Name: toSetting, Arg: "ADDRESS", Kind: address, Doc: "address that gets an e-mail for every fired alert"},
				{Name: fromSetting, Arg: "ADDRESS", Kind: address, Doc: "address that they come from"},
				{Name: serverSetting, Arg: "URL", Kind: server, Doc: "SMTP server: smtps://HOST, or smtp://HOST for STARTTLS; encrypted except on this machine"},
				{Name: userSetting, Arg: "NAME", Kind: user, Doc: "user at that server, where it wants one"},
				{Name: fileSetting, Arg: "FILE", Kind: setting.Path(), Doc: "file of mode 0600 with the password of that user"},
				{Name: passwordSetting, Arg: "TEXT", Kind: setting.Secret(), Doc: "the password itself"},
			},
			Check: check,
		},
		Open: func(env sink.Env) (sink.Receiver, error) {
			v := env.Values
			return New(Config{
				To: v.Text(toSetting), From: v.Text(fromSetting), Server: v.Text(serverSetting),
				User: v.Text(userSetting), Password: v.Secret(passwordSetting), AllowPrivate: env.AllowPrivate,
			})
		},
	}
}

// readAddress accepts the plain form alone, in ASCII: it becomes part of SMTP commands and
// of headers.
func readAddress(text string) (string, bool) {
	if text == "" {
		return "", true
	}
	a, err := mail.ParseAddress(text)
	plain := func(r rune) bool { return r > ' ' && r <= '~' && r != '"' && r != '<' && r != '>' }
	good := err == nil && a.Name == "" && a.Address == text && len(text) <= 254 && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) })
	return text, good
}

// check refuses what is incomplete.
func check(v setting.Values) error {
	for _, name := range []string{fromSetting, serverSetting} {
		if v.Text(name) == "" {
			return errors.New("--" + toSetting + " needs --" + name)
		}
	}
	if v.Text(userSetting) == "" && (!v.Secret(passwordSetting).IsZero() || v.Text(fileSetting) != "") {
		return errors.New("a password for e-mail is set, but --" + userSetting + " is not")
	}
	return nil
}

// Config configures a receiver.
type Config struct {
	To, From     string
	Server       string // smtp or smtps
	User         string // "" for none
	Password     secret.Text
	AllowPrivate bool
	Roots        *x509.CertPool // nil for those of the system
}

// Receiver is an address. It is safe for concurrent use: each message has a connection of
// its own.
type Receiver struct {
	cfg      Config
	host     string
	address  string // with the port
	implicit bool   // TLS from the start
	local    bool   // the server is on this machine
	dialer   *net.Dialer
	secrets  sink.Secrets
}

// New returns a receiver.
func New(cfg Config) (*Receiver, error) {
	u, err := url.Parse(cfg.Server)
	if err != nil {
		return nil, sink.BadSetting(serverSetting, errors.New("it is not a valid URL"))
	}
	for name, address := range map[string]string{toSetting: cfg.To, fromSetting: cfg.From} {
		if _, ok := readAddress(address); !ok || address == "" {
			return nil, sink.BadSetting(name, errors.New("it is not an address"))
		}
	}
	r := &Receiver{cfg: cfg, host: u.Hostname(), implicit: u.Scheme == "smtps"}
	if password := cfg.Password.Reveal(); password != "" { // also as AUTH encodes it
		for _, form := range []string{password, encoded(password), encoded("\x00" + cfg.User + "\x00" + password)} {
			r.secrets = append(r.secrets, secret.New(form))
		}
	}
	port := u.Port()
	switch {
	case port != "":
	case r.implicit:
		port = "465"
	default:
		port = "587"
	}
	r.address = net.JoinHostPort(r.host, port)
	r.dialer, r.local, err = sink.NewDialer(serverSetting, r.host, cfg.AllowPrivate)
	return r, err
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// Host is the server.
func (r *Receiver) Host() string { return r.address }

// Close does nothing: no connection outlives a message.
func (r *Receiver) Close() {}

// Send sends a message.
func (r *Receiver) Send(ctx context.Context, m sink.Message) sink.Answer {
	return r.converse(ctx, r.compose(m))
}

// Check connects, logs in and names the addresses, and sends no message.
func (r *Receiver) Check(ctx context.Context) sink.Answer { return r.converse(ctx, nil) }

// compose returns a message with its headers, one part of text in lines of 7 bits.
func (r *Receiver) compose(m sink.Message) []byte {
	var b strings.Builder
	header := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	header("From", "candela <"+r.cfg.From+">")
	header("To", "<"+r.cfg.To+">")
	header("Subject", mime.QEncoding.Encode("utf-8", line(m.Title())))
	header("Date", m.Now.UTC().Format(time.RFC1123Z))
	header("Message-ID", "<"+messageID(m)+"@"+r.cfg.From[strings.LastIndex(r.cfg.From, "@")+1:]+">")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	header("Auto-Submitted", "auto-generated")
	b.WriteString("\r\n")
	text := strings.ReplaceAll(strings.ToValidUTF8(m.Text(), "?"), "\r", "")
	if m.Notice != nil && m.Notice.Link != "" {
		text += "\n\n" + m.Notice.Link
	}
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(text + "\n")) // a strings.Builder does not fail
	_ = w.Close()
	return []byte(b.String())
}

// line returns text without line breaks and other control characters, at most 200 bytes.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	for len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "")
	}
	return text
}

// messageID is the same for a repetition, so that a mailbox may keep one of the two.
func messageID(m sink.Message) string {
	what := "test " + strconv.FormatInt(m.Now.UnixNano(), 10)
	switch {
	case m.Alert != nil:
		what = "alert " + strconv.FormatUint(m.Alert.Seq, 10) + " " + string(m.Alert.Data)
	case m.Notice != nil:
		what = "notice " + m.Notice.ID
	}
	sum := sha256.Sum256([]byte(what))
	return hex.EncodeToString(sum[:16])
}
