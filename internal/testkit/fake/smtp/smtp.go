// Package smtp is a fake SMTP submission server (RFC 5321, RFC 6409): TLS from the start or
// STARTTLS with a certificate of its own authority, AUTH PLAIN and LOGIN over TLS alone, and
// strict about the order of commands, line endings and line lengths.
package smtp

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Config describes the server.
type Config struct {
	Implicit bool     // TLS from the start
	NoTLS    bool     // STARTTLS is not offered
	Auth     []string // offered methods; mail needs a login if there are any
	User     string
	Password string
	// Reply returns another reply to a command, such as "451 try later", or "". The end of
	// a message is the command ".".
	Reply func(command string) string
}

// Mail is an accepted message.
type Mail struct {
	From, To  string
	Data      string // with CRLF, without the final dot
	Encrypted bool
	User      string // who logged in
}

// Server is the server. It is safe for concurrent use.
type Server struct {
	Address string
	Roots   *x509.CertPool // of its certificate

	cfg  Config
	tls  *tls.Config
	mail chan Mail

	mu       sync.Mutex
	commands []string
}

// Start returns a running server on loopback that ends with the test.
func Start(tb testing.TB, cfg Config) *Server {
	tb.Helper()
	cert, roots := authority(tb)
	var config net.ListenConfig
	ln, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Address: ln.Addr().String(), Roots: roots, cfg: cfg, mail: make(chan Mail, 100), tls: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				s.serve(conn)
			})
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	return s
}

// Mail hands out accepted messages.
func (s *Server) Mail() <-chan Mail { return s.mail }

// Commands returns the commands that arrived, without the secrets of AUTH.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...)
}

// session is one connection.
type session struct {
	*Server
	conn      net.Conn
	in        *bufio.Reader
	encrypted bool
	greeted   bool
	user      string
	mail      Mail
}

func (s *Server) serve(conn net.Conn) {
	c := &session{Server: s, conn: conn, in: bufio.NewReader(conn)}
	if s.cfg.Implicit {
		c.encrypt()
	}
	if !c.say("CONNECT", "220 fake ESMTP") {
		return
	}
	for {
		text, err := c.line()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(text, " ")
		verb = strings.ToUpper(verb)
		s.mu.Lock()
		s.commands = append(s.commands, verb)
		s.mu.Unlock()
		if !c.command(verb, rest) {
			return
		}
	}
}

var errLine = errors.New("a bad line")

// line reads one line, which must end in CRLF and have at most 998 characters.
func (c *session) line() (string, error) {
	text, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	body, ok := strings.CutSuffix(text, "\r\n")
	if !ok || len(body) > 998 || strings.ContainsAny(body, "\r\x00") {
		_, _ = io.WriteString(c.conn, "500 5.5.2 bare line feed or long line\r\n")
		return "", errLine
	}
	return body, nil
}

// say writes the reply to a command, or the one that the test wants. It returns false at the
// end of the session.
func (c *session) say(command, reply string) bool {
	if c.cfg.Reply != nil {
		if other := c.cfg.Reply(command); other != "" {
			reply = other
		}
	}
	_, err := io.WriteString(c.conn, reply+"\r\n")
	return err == nil && !strings.HasPrefix(reply, "421") && command != "QUIT"
}

func (c *session) encrypt() {
	c.conn = tls.Server(c.conn, c.tls)
	c.in, c.encrypted = bufio.NewReader(c.conn), true
}

var path = regexp.MustCompile(`^(?:FROM|TO):<([^<>\s]+@[^<>\s]+)>`)

func (c *session) command(verb, rest string) bool {
	needsLogin := len(c.cfg.Auth) > 0 && c.user == ""
	switch {
	case verb == "QUIT":
		return c.say(verb, "221 2.0.0 bye")
	case verb == "EHLO":
		c.greeted = true
		return c.say(verb, strings.Join(c.extensions(), "\r\n"))
	case !c.greeted:
		return c.say(verb, "503 5.5.1 EHLO first")
	case verb == "STARTTLS" && !c.encrypted && !c.cfg.NoTLS:
		if !c.say(verb, "220 2.0.0 ready") {
			return false
		}
		c.encrypt()
		c.greeted = false
		return true
	case verb == "AUTH":
		return c.auth(rest)
	case verb == "RSET":
		c.mail = Mail{}
		return c.say(verb, "250 2.0.0 ok")
	case needsLogin:
		return c.say(verb, "530 5.7.0 authentication required")
	case verb == "MAIL" && path.MatchString(rest):
		c.mail = Mail{From: path.FindStringSubmatch(rest)[1], Encrypted: c.encrypted, User: c.user}
		return c.say(verb, "250 2.1.0 ok")
	case verb == "RCPT" && c.mail.From != "" && path.MatchString(rest):
		c.mail.To = path.FindStringSubmatch(rest)[1]
		return c.say(verb, "250 2.1.5 ok")
	case verb == "DATA" && c.mail.To != "":
		return c.data()
	}
	return c.say(verb, "503 5.5.1 not now")
}

func (c *session) extensions() []string {
	lines := []string{"250-fake", "250-8BITMIME"}
	if !c.encrypted && !c.cfg.NoTLS {
		lines = append(lines, "250-STARTTLS")
	}
	if c.encrypted && len(c.cfg.Auth) > 0 {
		lines = append(lines, "250-AUTH "+strings.Join(c.cfg.Auth, " "))
	}
	return append(lines, "250 SIZE 1000000")
}

func (c *session) auth(rest string) bool {
	method, initial, _ := strings.Cut(rest, " ")
	if !c.encrypted {
		return c.say("AUTH", "538 5.7.11 encryption required")
	}
	var user, password string
	switch method {
	case "PLAIN":
		parts := strings.Split(decoded(initial), "\x00")
		if len(parts) == 3 {
			user, password = parts[1], parts[2]
		}
	case "LOGIN":
		for _, ask := range []struct {
			text string
			into *string
		}{{"Username:", &user}, {"Password:", &password}} {
			_, _ = fmt.Fprintf(c.conn, "334 %s\r\n", base64.StdEncoding.EncodeToString([]byte(ask.text)))
			text, err := c.line()
			if err != nil {
				return false
			}
			*ask.into = decoded(text)
		}
	}
	if user != c.cfg.User || password != c.cfg.Password {
		return c.say("AUTH", "535 5.7.8 bad credentials "+base64.StdEncoding.EncodeToString([]byte(password)))
	}
	c.user = user
	return c.say("AUTH", "235 2.7.0 ok")
}

func decoded(text string) string {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(data)
}

// data reads a message up to the line with a dot.
func (c *session) data() bool {
	if c.cfg.Reply != nil {
		if other := c.cfg.Reply("DATA"); other != "" {
			return c.say("DATA", other)
		}
	}
	if _, err := io.WriteString(c.conn, "354 go on\r\n"); err != nil {
		return false
	}
	var b strings.Builder
	for {
		text, err := c.line()
		if err != nil {
			return false
		}
		if text == "." {
			break
		}
		b.WriteString(strings.TrimPrefix(text, ".") + "\r\n")
	}
	mail := c.mail
	mail.Data = b.String()
	c.mail = Mail{}
	if c.cfg.Reply == nil || c.cfg.Reply(".") == "" {
		c.Server.mail <- mail
	}
	return c.say(".", "250 2.0.0 queued")
}
