package email

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/sink"
)

const (
	timeout   = 30 * time.Second // of the whole conversation
	maxAnswer = 1 << 20          // bytes that are read from a server
)

// errUnfit is a server that candela does not talk to as it is. It may be an attacker in
// between, so the message is kept.
var errUnfit = errors.New("the server is unfit")

// converse delivers a message, or none to see how far it would come.
func (r *Receiver) converse(ctx context.Context, message []byte) sink.Answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := r.dialer.DialContext(ctx, "tcp", r.address)
	if err != nil {
		return sink.Answer{Text: r.secrets.Clip(err, timeout)}
	}
	defer func() { _ = conn.Close() }() // after QUIT, or broken
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c, err := r.open(ctx, &bounded{conn, maxAnswer})
	if err != nil {
		return r.answer(ctx, err, false)
	}
	if err := r.deliver(c, message); err != nil {
		return r.answer(ctx, err, true)
	}
	_ = c.Quit() // the message was accepted
	if message == nil {
		return sink.Answer{Outcome: sink.Delivered, Text: "the server accepts mail for the address"}
	}
	return sink.Answer{Outcome: sink.Delivered, Text: "250 accepted"}
}

// open greets the server, encrypts and logs in.
func (r *Receiver) open(ctx context.Context, conn net.Conn) (*smtp.Client, error) {
	trust := &tls.Config{ServerName: r.host, MinVersion: tls.VersionTLS12, RootCAs: r.cfg.Roots}
	if r.implicit {
		encrypted := tls.Client(conn, trust)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		conn = encrypted
	}
	c, err := smtp.NewClient(conn, r.host)
	if err != nil {
		return nil, err
	}
	offered, _ := c.Extension("STARTTLS")
	switch {
	case r.implicit:
	case offered:
		if err := c.StartTLS(trust); err != nil {
			return nil, fmt.Errorf("STARTTLS: %w", err)
		}
	case !r.local:
		return nil, fmt.Errorf("%w: it offers no encryption (STARTTLS); use smtps:// or another server", errUnfit)
	}
	if r.cfg.User == "" {
		return c, nil
	}
	return c, r.login(c)
}

// login authenticates, over TLS alone.
func (r *Receiver) login(c *smtp.Client) error {
	if _, encrypted := c.TLSConnectionState(); !encrypted {
		return fmt.Errorf("%w: it offers no encryption, and a password is not sent without; remove --%s", errUnfit, userSetting)
	}
	_, list := c.Extension("AUTH")
	methods := strings.Fields(strings.ToUpper(list))
	switch {
	case slices.Contains(methods, "PLAIN"):
		return c.Auth(smtp.PlainAuth("", r.cfg.User, r.cfg.Password.Reveal(), r.host))
	case slices.Contains(methods, "LOGIN"):
		return c.Auth(&loginAuth{user: r.cfg.User, password: r.cfg.Password.Reveal()})
	}
	return fmt.Errorf("%w: it offers neither AUTH PLAIN nor LOGIN", errUnfit)
}

func (r *Receiver) deliver(c *smtp.Client, message []byte) error {
	if err := c.Mail(r.cfg.From); err != nil {
		return err
	}
	if err := c.Rcpt(r.cfg.To); err != nil {
		return err
	}
	if message == nil {
		return c.Reset()
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := bytes.NewReader(message).WriteTo(w); err != nil {
		return err
	}
	return w.Close()
}

// answer returns the outcome of an error. A reply of 5xx is permanent; 4xx is temporary, and
// before the message was named it is not the fault of the message.
func (r *Receiver) answer(ctx context.Context, err error, named bool) sink.Answer {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	said, ok := errors.AsType[*textproto.Error](err)
	if !ok {
		return sink.Answer{Text: r.secrets.Clip(err, timeout)}
	}
	a := sink.Answer{Text: strconv.Itoa(said.Code) + " " + r.secrets.Hide(said.Msg)}
	switch {
	case said.Code >= 500:
		a.Outcome = sink.Refused
		if said.Code == 535 || said.Code == 534 {
			a.Text += "; check --" + userSetting + " and its password, which is often one for applications"
		}
	case named && said.Code != 421:
		a.Outcome = sink.Failed
	}
	return a
}

// loginAuth is AUTH LOGIN, which some servers offer alone.
type loginAuth struct {
	user, password string
	asked          int
}

// Start begins.
func (a *loginAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, errUnfit
	}
	return "LOGIN", nil, nil
}

// Next answers the two questions of the server, the user and then the password.
func (a *loginAuth) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	a.asked++
	switch a.asked {
	case 1:
		return []byte(a.user), nil
	case 2:
		return []byte(a.password), nil
	}
	return nil, fmt.Errorf("%w: it asks more than AUTH LOGIN does", errUnfit)
}

// bounded is a connection of which so many bytes can be read: lines of SMTP have no end by
// themselves.
type bounded struct {
	net.Conn
	left int
}

// Read reads from the connection.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: it says too much", errUnfit)
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
