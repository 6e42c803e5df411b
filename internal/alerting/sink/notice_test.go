package sink

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func good() Notice {
	return Notice{
		ID: "n-1", Title: "An order waits", Text: "Until 15:13 UTC", Link: "https://candela.example.com/console/approvals/1",
		Buttons: []Button{{Label: "Allow", Token: "abc", Allow: true}}, Until: time.Now().Add(10 * time.Minute),
	}
}

func TestNotice_Check(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Notice)
		field  string // "" if it is good
	}{
		"good":                     {func(*Notice) {}, ""},
		"without link and buttons": {func(n *Notice) { n.Link, n.Buttons = "", nil }, ""},
		"a link to here":           {func(n *Notice) { n.Link = "http://localhost:9315/x" }, ""},
		"no ID":                    {func(n *Notice) { n.ID = "" }, "id"},
		"an ID with a break":       {func(n *Notice) { n.ID = "a\nb" }, "id"},
		"no title":                 {func(n *Notice) { n.Title = "" }, "title"},
		"a title with a break":     {func(n *Notice) { n.Title = "a\r\nBcc: x" }, "title"},
		"a long title":             {func(n *Notice) { n.Title = strings.Repeat("x", 201) }, "title"},
		"no text":                  {func(n *Notice) { n.Text = "" }, "text"},
		"a long text":              {func(n *Notice) { n.Text = strings.Repeat("x", 4001) }, "text"},
		"a link with a break":      {func(n *Notice) { n.Link += "\r\nX: y" }, "link"},
		"a link with a quote":      {func(n *Notice) { n.Link += `?a="` }, "link"},
		"a link with a user":       {func(n *Notice) { n.Link = "https://me:hunter2@a.example" }, "link"},
		"a link to a program":      {func(n *Notice) { n.Link = "javascript:alert(1)" }, "link"},
		"many buttons":             {func(n *Notice) { n.Buttons = slices.Repeat(n.Buttons, 5) }, "buttons"},
		"a button without a token": {func(n *Notice) { n.Buttons[0].Token = "" }, "buttons"},
		"a long token":             {func(n *Notice) { n.Buttons[0].Token = strings.Repeat("x", 63) }, "buttons"},
	} {
		n := good()
		tc.change(&n)
		err := NewOutbox(nil, OutboxConfig{}).Post(n)
		if (err == nil) != (tc.field == "") || err != nil && (!strings.HasPrefix(err.Error(), tc.field+":") || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", name, err, tc.field)
		}
	}
}

// scripted is a receiver of notices.
type scripted struct {
	mu     sync.Mutex
	sent   []string // IDs, also of failed attempts
	answer func(id string) Answer
}

func (s *scripted) Send(_ context.Context, m Message) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, m.Notice.ID)
	if s.answer == nil {
		return Answer{Outcome: Delivered}
	}
	return s.answer(m.Notice.ID)
}

func (s *scripted) Check(context.Context) Answer { return Answer{} }
func (s *scripted) Host() string                 { return "a.example" }
func (s *scripted) Close()                       {}

func (s *scripted) list() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

func outbox(t *testing.T, out *bytes.Buffer, to ...*scripted) (o *Outbox, stop func()) {
	t.Helper()
	var targets []Target
	for i, one := range to {
		targets = append(targets, Target{"sink" + strconv.Itoa(i), one})
	}
	o = NewOutbox(targets, OutboxConfig{Log: slog.New(slog.NewTextHandler(out, nil)), Now: time.Now, Rand: func() float64 { return 0.5 }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx, context.WithoutCancel(ctx), func() {}) }()
	return o, func() {
		cancel()
		must(t, <-done)
	}
}

func TestOutbox_SendsToEveryReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &scripted{answer: func(string) Answer { return Answer{Text: "no connection"} }}
		refusing := &scripted{answer: func(string) Answer { return Answer{Outcome: Refused, Text: "403 Forbidden"} }}
		fine := &scripted{}
		var out bytes.Buffer
		o, stop := outbox(t, &out, slow, refusing, fine)
		must(t, o.Post(good()))
		if !slices.Equal(fine.list(), []string{"n-1"}) || !slices.Equal(refusing.list(), []string{"n-1"}) {
			t.Errorf("%v, %v", fine.list(), refusing.list())
		}
		time.Sleep(time.Hour)
		if n := len(slow.list()); n < 8 || n > 15 {
			t.Errorf("%d attempts in ten minutes", n)
		}
		stop()
		for _, want := range []string{"notice refused; not retried", "notice dropped: expired", "notice sent"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, &out)
			}
		}
	})
}

func TestOutbox_KeepsTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := true
		to := &scripted{}
		to.answer = func(string) Answer {
			if down {
				return Answer{Outcome: Failed, Text: "503", Wait: time.Minute}
			}
			return Answer{Outcome: Delivered}
		}
		var out bytes.Buffer
		o, stop := outbox(t, &out, to)
		for i := range MaxNotices + 5 {
			n := good()
			n.ID = "n-" + strconv.Itoa(i)
			must(t, o.Post(n))
			to.list()
		}
		to.mu.Lock()
		down = false
		to.mu.Unlock()
		time.Sleep(2 * time.Minute)
		got := to.list()
		stop()
		// The first is being tried, four were dropped after it.
		if len(got) != 2+MaxNotices || got[1] != "n-0" || got[2] != "n-5" || got[len(got)-1] != "n-20" {
			t.Errorf("sent %v", got)
		}
		if strings.Count(out.String(), "too many are waiting") != 4 {
			t.Errorf("%s", &out)
		}
	})
}
