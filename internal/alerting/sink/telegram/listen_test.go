package telegram

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/sink"
	fake "candela/internal/testkit/fake/telegram"
	"candela/lib/fault"
)

// desk is a decider that remembers what it was asked.
type desk struct {
	mu    sync.Mutex
	asked []string
	err   error
	block chan struct{} // closed to let decisions end; nil for at once
	began chan struct{}
}

func (d *desk) Decide(ctx context.Context, token string, allow bool) (string, error) {
	d.mu.Lock()
	word := map[bool]string{true: "allow ", false: "refuse "}[allow]
	d.asked = append(d.asked, word+token)
	block, err := d.block, d.err
	d.mu.Unlock()
	if block != nil {
		d.began <- struct{}{}
		select {
		case <-block:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "Allowed at 14:05 UTC", err
}

func (d *desk) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

// listening is a running Listen.
type listening struct {
	*testing.T
	service *fake.Server
	r       *Receiver
	desk    *desk
	log     *lockedBuffer
	delays  chan time.Duration
	cancel  context.CancelFunc
	done    chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func listen(t *testing.T, chat int64) *listening {
	t.Helper()
	service, r := open(t, chat)
	l := &listening{T: t, service: service, r: r, desk: &desk{}, log: &lockedBuffer{}, delays: make(chan time.Duration, 20)}
	r.pause = func(ctx context.Context, d time.Duration) error {
		select {
		case l.delays <- d:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	return l
}

func (l *listening) start() {
	ctx, cancel := context.WithCancel(l.Context())
	l.cancel, l.done = cancel, make(chan error, 1)
	presses := sink.Presses{Decider: l.desk, Log: slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Rand: func() float64 { return 0.5 }}
	go func() { l.done <- l.r.Listen(ctx, context.WithoutCancel(ctx), presses) }()
}

func (l *listening) stop() {
	l.Helper()
	l.cancel()
	if err := <-l.done; err != nil {
		l.Error(err)
	}
	if strings.Contains(l.log.String(), "hunter2") {
		l.Errorf("the token is in the log:\n%s", l.log)
	}
}

// until waits for a condition of the service.
func (l *listening) until(good func() bool) {
	l.Helper()
	timeout := time.After(time.Minute)
	for {
		changed := l.service.Changed()
		if good() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			l.Fatalf("it does not happen; calls %v\n%s", l.service.Calls(), l.log)
		}
	}
}

func (l *listening) answered(query string) func() bool {
	return func() bool {
		_, ok := l.service.Answered(query)
		return ok
	}
}

// ask sends a question and returns its message.
func (l *listening) ask() fake.Message {
	l.Helper()
	if a := l.r.Send(l.Context(), sink.Message{Now: at, Notice: question()}); a.Outcome != sink.Delivered {
		l.Fatalf("%+v", a)
	}
	all := l.service.Messages()
	return all[len(all)-1]
}

func TestListen_ShowsTheDecision(t *testing.T) {
	t.Parallel()
	l := listen(t, owner)
	m := l.ask()
	l.start()
	l.service.Press("q1", owner, m, "y:tok-1")
	l.until(func() bool { return strings.HasSuffix(l.service.Messages()[0].Text, "\n\nAllowed at 14:05 UTC") })
	got := l.service.Messages()[0]
	if !strings.HasPrefix(got.Text, m.Text) || len(got.Buttons) != 1 || got.Buttons[0].URL == "" || got.Preview {
		t.Errorf("%+v", got)
	}
	if text, _ := l.service.Answered("q1"); text != "Allowed at 14:05 UTC" {
		t.Errorf("answered %q", text)
	}
	l.until(func() bool { return l.service.Waiting() == 0 }) // the next request confirms it
	l.service.Press("q2", owner, m, "n:tok-2")
	l.until(l.answered("q2"))
	l.stop()
	if got := l.desk.list(); !slices.Equal(got, []string{"allow tok-1", "refuse tok-2"}) {
		t.Errorf("decided %q", got)
	}
}

func TestListen_OnlyTheOwner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		chat          int64 // configured
		from, pressed int64
	}{
		"another chat":           {owner, owner, 99},
		"another person":         {owner, 99, owner},
		"another person's chat":  {owner, 99, 99},
		"the group, by a member": {group, owner, group},
		"a group with an id":     {group, group, group},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, tc.chat)
			m := fake.Message{Chat: tc.pressed, ID: 5, Text: "secret words"}
			l.service.Press("q1", tc.from, m, "y:tok-1")
			l.service.Update(map[string]any{"message": map[string]any{"text": "secret words"}})
			l.service.Update(map[string]any{"callback_query": map[string]any{"id": "q", "data": "y:tok-1"}})
			l.service.Update(map[string]any{"callback_query": 5})
			l.start()
			l.until(func() bool { return l.service.Waiting() == 0 })
			l.stop()
			if len(l.desk.list()) > 0 || l.answered("q1")() || len(l.service.Messages()) > 0 {
				t.Errorf("decided %v, answered %v", l.desk.list(), l.answered("q1")())
			}
			if log := l.log.String(); !strings.Contains(log, "ignored: not from the owner's chat") || strings.Contains(log, "secret words") || strings.Contains(log, "tok-1") {
				t.Errorf("%s", log)
			}
		})
	}
}

func TestListen_AnErrorLeavesTheButtons(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		data string
		want string
	}{
		"a refusal":         {&fault.Error{Kind: fault.Unavailable, Code: "x", Message: "The desk is starting"}, "y:tok-1", "The desk is starting"},
		"an internal error": {errors.New("disk at /secret"), "y:tok-1", "candela could not decide"},
		"an unknown button": {nil, "tok-1", "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, owner)
			l.desk.err = tc.err
			m := l.ask()
			l.start()
			l.service.Press("q1", owner, m, tc.data)
			l.until(func() bool { return l.service.Waiting() == 0 })
			l.stop()
			if text, _ := l.service.Answered("q1"); !strings.Contains(text, tc.want) || strings.Contains(text, "/secret") {
				t.Errorf("answered %q", text)
			}
			if got := l.service.Messages()[0]; got.Text != m.Text || len(got.Buttons) != 3 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A press that is handled at the end is confirmed there; one that is half done is reported
// again at the next start.
func TestListen_Restarts(t *testing.T) {
	t.Parallel()
	l := listen(t, owner)
	m := l.ask()
	release := make(chan struct{})
	l.desk.block, l.desk.began = release, make(chan struct{}, 10)
	l.service.Press("q1", owner, m, "y:tok-1")
	l.start()
	<-l.desk.began
	l.stop() // in the middle of a decision
	if l.service.Waiting() != 1 {
		t.Fatalf("%d updates wait", l.service.Waiting())
	}
	close(release)
	l.start()
	l.until(func() bool { return strings.HasSuffix(l.service.Messages()[0].Text, "UTC") })
	l.stop()
	if l.service.Waiting() != 0 || !slices.Equal(l.desk.list(), []string{"allow tok-1", "allow tok-1"}) {
		t.Errorf("%d wait, decided %q", l.service.Waiting(), l.desk.list())
	}
	l.start()
	l.service.Press("q2", owner, m, "n:tok-2")
	l.until(l.answered("q2"))
	l.stop()
	if got := l.desk.list(); len(got) != 3 {
		t.Errorf("decided %q", got)
	}
}

func TestListen_BacksOff(t *testing.T) {
	t.Parallel()
	l := listen(t, owner)
	failures := []*fake.Failure{
		{Status: 500, Raw: "down"},
		{Status: 429, Parameters: map[string]int64{"retry_after": 60}},
		{Status: 409, Description: "Conflict: terminated by other getUpdates request"},
		{Status: 401, Description: "Unauthorized"},
		{Status: 200, Raw: `{"ok":true,"result":7}`},
		{Status: 200, Raw: `{"ok":true,"result":[{"update":"without a number"}]}`},
	}
	l.service.Fail(func(method string) *fake.Failure {
		if method != "getUpdates" || len(failures) == 0 {
			return nil
		}
		first := failures[0]
		failures = failures[1:]
		return first
	})
	l.service.Press("q1", owner, fake.Message{Chat: owner, ID: 1}, "y:tok-1")
	l.start()
	l.until(l.answered("q1"))
	l.stop()
	var got []time.Duration
	for range 6 {
		got = append(got, <-l.delays)
	}
	want := []time.Duration{750 * time.Millisecond, time.Minute, 3 * time.Second, 6 * time.Second, 12 * time.Second, 24 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("waited %v, want %v", got, want)
	}
	if !strings.Contains(l.log.String(), "give candela a bot of its own") {
		t.Errorf("%s", l.log)
	}
}

// A service that does not hold requests is not asked without a pause.
func TestListen_PausesWithoutUpdates(t *testing.T) {
	t.Parallel()
	l := listen(t, owner)
	l.service.Fail(func(string) *fake.Failure { return &fake.Failure{Status: 200, Raw: `{"ok":true,"result":[]}`} })
	l.start()
	for range 3 {
		if d := <-l.delays; d != idlePause {
			t.Errorf("waited %v", d)
		}
	}
	l.service.Fail(nil)
	l.stop()
}
