package app

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/operate/doctor"
	"candela/internal/testkit/fake/chathook"
	fakesmtp "candela/internal/testkit/fake/smtp"
	faketelegram "candela/internal/testkit/fake/telegram"
)

const botToken = "123456:hunter2_hunter2hunter2"

// TestSinks_SettingsBelongTogether loads settings of the sinks as they are declared. The
// refusals that all sinks share are tested in package config.
func TestSinks_SettingsBelongTogether(t *testing.T) {
	t.Parallel()
	const (
		hook   = "--webhook-url=https://a.example/hunter2"
		chat   = "--telegram-chat=4242"
		to     = "--email-to=me@example.com"
		from   = "--email-from=candela@example.org"
		server = "--email-server=smtps://mail.example.com"
		token  = "CANDELA_TELEGRAM_TOKEN=" + botToken
	)
	for name, tc := range map[string]struct {
		args, env []string
		want      string // in the only problem; "" if it starts
	}{
		"Discord without a secret":     {args: []string{hook, "--webhook-format=discord"}},
		"Slack without a secret":       {args: []string{hook, "--webhook-format=slack"}},
		"JSON without a secret":        {args: []string{hook, "--webhook-format=json"}, want: "needs a secret to sign with"},
		"Discord with a secret":        {args: []string{hook, "--webhook-format=discord"}, env: []string{"CANDELA_WEBHOOK_SECRET=hunter2-and-more-of-it"}, want: "--webhook-format discord is not signed: remove the secret"},
		"another format":               {args: []string{hook, "--webhook-format=teams"}, want: "json, standard, discord, slack"},
		"a format without a webhook":   {args: []string{"--webhook-format=slack"}, want: "no effect without --webhook-url"},
		"Telegram":                     {args: []string{chat}, env: []string{token}},
		"Telegram to a group":          {args: []string{"--telegram-chat=-1001234567890"}, env: []string{token}},
		"Telegram without a token":     {args: []string{chat}, want: "needs the token of a bot: set CANDELA_TELEGRAM_TOKEN or --telegram-token-file"},
		"Telegram without a chat":      {env: []string{token}, want: "--telegram-chat is not: no alert would be sent"},
		"Telegram to a name":           {args: []string{"--telegram-chat=@me"}, env: []string{token}, want: "the number of a chat"},
		"a token as a flag":            {args: []string{chat, "--telegram-token=hunter2"}, env: []string{token}, want: "--telegram-token is no flag"},
		"a Bot API over http":          {args: []string{chat, "--telegram-url=http://a.example"}, env: []string{token}, want: "http only for localhost"},
		"e-mail":                       {args: []string{to, from, server}},
		"e-mail with a login":          {args: []string{to, from, server, "--email-user=me"}, env: []string{"CANDELA_EMAIL_PASSWORD=hunter2"}},
		"e-mail without a sender":      {args: []string{to, server}, want: "needs --email-from"},
		"e-mail without a server":      {args: []string{to, from}, want: "needs --email-server"},
		"e-mail without a password":    {args: []string{to, from, server, "--email-user=me"}, want: "needs the password of --email-user"},
		"e-mail without a user":        {args: []string{to, from, server}, env: []string{"CANDELA_EMAIL_PASSWORD=hunter2"}, want: "--email-user is not"},
		"e-mail by another protocol":   {args: []string{to, from, "--email-server=https://mail.example.com"}, want: "smtps://HOST"},
		"e-mail with a line break":     {args: []string{"--email-to=me@example.com\r\nRCPT TO:<x@example.com>", from, server}, want: "one address"},
		"a sender without a recipient": {args: []string{from}, want: "no effect without --email-to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := LoadConfig(config.Input{Args: append(tc.args, "--home", t.TempDir(), "--mcp", "--trade"), Environ: tc.env})
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") || strings.Count(err.Error(), "\n") > 0) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// decided is a decider that reports what it was asked.
type decided chan string

func (d decided) Decide(_ context.Context, token string, allow bool) (string, error) {
	if allow {
		d <- token
	}
	return "Allowed", nil
}

// TestListeners_ReportPressesToTheDecider sends a notice through the outbox and presses its
// button. Without a decider nobody listens.
func TestListeners_ReportPressesToTheDecider(t *testing.T) {
	t.Parallel()
	r := newReceiving(t)
	cfg, err := LoadConfig(config.Input{Args: append(r.args, "--home", t.TempDir()), Inspect: true})
	if err != nil {
		t.Fatal(err)
	}
	rt := Runtime{Config: cfg, Log: slog.New(slog.DiscardHandler)}
	to, err := receivers(cfg, Sinks())
	if err != nil {
		t.Fatal(err)
	}
	side := &trading{side: side{exclusive: func(_ string, run lifecycle.Work) lifecycle.Work { return run }}, receivers: to}
	if parts := side.sinks(rt); len(parts) != len(to)+1 {
		t.Errorf("%d parts", len(parts))
	}
	asked := make(decided, 1)
	side.decider = asked
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, part := range side.sinks(rt)[len(to):] {
		all.Go(func() {
			if err := part.Run(ctx, ctx, func() {}); err != nil {
				t.Error(err)
			}
		})
	}
	n := sink.Notice{ID: "n", Title: "An order waits", Text: "x", Until: time.Now().Add(time.Hour), Buttons: []sink.Button{{Label: "Allow", Token: "tok", Allow: true}}}
	if err := side.notices.Post(n); err != nil {
		t.Fatal(err)
	}
	for changed := r.bot.Changed(); len(r.bot.Messages()) == 0; changed = r.bot.Changed() {
		<-changed
	}
	m := r.bot.Messages()[0]
	r.bot.Press("q", 4242, m, m.Buttons[0].Data)
	if token := <-asked; token != "tok" {
		t.Errorf("decided about %q", token)
	}
	<-r.mail.Mail()
	cancel()
	all.Wait()
	for _, one := range to {
		one.Close()
	}
}

// receiving is a fake of every receiver and the flags that configure them.
type receiving struct {
	bot     *faketelegram.Server
	discord *chathook.Hook
	mail    *fakesmtp.Server
	args    []string
}

func newReceiving(t *testing.T) *receiving {
	t.Helper()
	r := &receiving{
		bot: faketelegram.New(botToken, 4242), discord: chathook.Discord(),
		mail: fakesmtp.Start(t, fakesmtp.Config{NoTLS: true}), // its authority is unknown to the program
	}
	bot, hook := httptest.NewServer(r.bot), httptest.NewServer(r.discord)
	t.Cleanup(bot.Close)
	t.Cleanup(hook.Close)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(botToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.args = []string{
		"--telegram-chat=4242", "--telegram-url", bot.URL, "--telegram-token-file", file, "--webhook-url", hook.URL, "--webhook-format=discord",
		"--email-to=me@example.com", "--email-from=candela@example.org", "--email-server", "smtp://" + r.mail.Address,
	}
	return r
}

func TestTestSinks_EveryKind(t *testing.T) {
	t.Parallel()
	r := newReceiving(t)
	cfg, err := LoadConfig(config.Input{Args: append(r.args, "--home", t.TempDir()), Inspect: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answers, err := TestSinks(ctx, cfg)
	if err != nil || len(answers) != 3 {
		t.Fatalf("%+v, %v", answers, err)
	}
	for _, a := range answers {
		if !a.Sent {
			t.Errorf("%+v", a)
		}
	}
	mail := <-r.mail.Mail()
	if len(r.bot.Messages()) != 1 || len(r.discord.Accepted()) != 1 || !strings.Contains(mail.Data, "Subject: candela test") {
		t.Errorf("%v, %v, %v", r.bot.Messages(), r.discord.Accepted(), mail)
	}
}

func TestDoctor_ChecksReceiversWithoutAMessage(t *testing.T) {
	t.Parallel()
	r := newReceiving(t)
	p := newPatient(t)
	p.args = append(p.args, append(r.args, "--trade")...)
	wants := func(all []doctor.Finding, check string, status doctor.Status, what string) {
		t.Helper()
		for _, f := range all {
			if f.Check == check {
				if f.Status != status || !strings.Contains(f.What, what) || strings.Contains(f.What+f.Fix, "hunter2") {
					t.Errorf("%+v", f)
				}
				return
			}
		}
		t.Errorf("%s was not checked", check)
	}
	found := p.examine()
	wants(found, "alerts to telegram", doctor.OK, "the bot can write to the chat")
	wants(found, "alerts to webhook", doctor.OK, "reachable")
	wants(found, "alerts to email", doctor.OK, "accepts mail")
	r.bot.Refuse(4242, "Forbidden: bot was blocked by the user")
	wants(p.examine(), "alerts to telegram", doctor.Problem, "unblock it in Telegram")
	if len(r.bot.Messages()) > 0 || len(r.discord.Accepted()) > 0 || len(r.mail.Mail()) > 0 {
		t.Error("a message was sent")
	}
}
