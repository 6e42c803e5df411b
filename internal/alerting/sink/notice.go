package sink

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"candela/internal/kit/retry"
	"candela/lib/fault"
	"candela/lib/pattern"
)

const (
	// MaxNotices bounds the notices that wait for one receiver. The newest are kept.
	MaxNotices = 16

	maxTitle   = 200
	maxLink    = 1000
	maxButtons = 4
	maxLabel   = 40
)

// Notice is a message to the owner that is no alert, such as the question whether an order
// may be sent. Every receiver gets its title, text and link; the buttons reach only those
// that can report a press to candela.
type Notice struct {
	ID      string // letters, digits, - and _; a repetition replaces the first where that is possible
	Title   string // one line
	Text    string
	Link    string // http or https; "" for none
	Buttons []Button
	Until   time.Time // it is not sent afterwards
}

// Button is an answer that the owner may give. The token is opaque to receivers.
type Button struct {
	Label string
	Token string // letters, digits, - and _
	Allow bool   // what pressing it means
}

// noticeID matches the IDs of notices and the tokens of buttons. Telegram allows 64 bytes
// for the data of a button, which is a token and a mark of two.
var noticeID = pattern.Of(`^[-_0-9A-Za-z]{1,62}$`)

// check returns an error for a notice that a receiver could not be sent as it is.
func (n Notice) check() error {
	u, err := url.Parse(n.Link)
	isWeb := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
	plain := func(r rune) bool { return r > ' ' && r <= '~' && !strings.ContainsRune(`"<>\^`+"`{|}", r) }
	switch {
	case !noticeID().MatchString(n.ID):
		return fault.Field("id", n.ID, "1 to 62 letters, digits, - and _")
	case n.Title == "" || len(n.Title) > maxTitle || strings.ContainsAny(n.Title, "\r\n"):
		return fault.Field("title", n.Title, "one line of at most 200 bytes")
	case n.Text == "" || len(n.Text) > MaxText:
		return fault.Field("text", strconv.Itoa(len(n.Text))+" bytes", "1 to 4000 bytes")
	case n.Link != "" && (!isWeb || len(n.Link) > maxLink || strings.ContainsFunc(n.Link, func(r rune) bool { return !plain(r) })):
		return fault.Field("link", "(hidden)", "an absolute http or https URL of at most 1000 printable characters without a user")
	case len(n.Buttons) > maxButtons:
		return fault.Field("buttons", strconv.Itoa(len(n.Buttons)), "at most 4")
	}
	for _, b := range n.Buttons {
		if b.Label == "" || len(b.Label) > maxLabel || !noticeID().MatchString(b.Token) {
			return fault.Field("buttons", b.Label, "a label of 1 to 40 bytes and a token of 1 to 62 letters, digits, - and _")
		}
	}
	return nil
}

// OutboxConfig configures an Outbox. All fields are required.
type OutboxConfig struct {
	Log  *slog.Logger
	Now  func() time.Time
	Rand func() float64 // from 0 to below 1, for the jitter of retries
}

// Outbox sends notices to every receiver that is not paced. It keeps them in memory: a notice that was not
// sent when the program ends is lost, so it must only point to something that is stored.
// It is safe for concurrent use.
type Outbox struct {
	cfg    OutboxConfig
	queues []*noticeQueue
}

// noticeQueue holds the notices that wait for one receiver.
type noticeQueue struct {
	to  Target
	log *slog.Logger

	mu      sync.Mutex
	waiting []Notice
	wake    chan struct{} // has one element while waiting may have grown
}

// NewOutbox returns an outbox. It sends nothing before Run.
func NewOutbox(to []Target, cfg OutboxConfig) *Outbox {
	o := &Outbox{cfg: cfg}
	for _, t := range to {
		if _, ok := t.Receiver.(Paced); ok {
			continue // it is no person
		}
		o.queues = append(o.queues, &noticeQueue{to: t, log: cfg.Log.With("sink", t.Name, "host", t.Host()), wake: make(chan struct{}, 1)})
	}
	return o
}

// Post queues a notice for every receiver and returns at once. The caller limits how often
// the owner is disturbed.
func (o *Outbox) Post(n Notice) error {
	if err := n.check(); err != nil {
		return err
	}
	n.Buttons = slices.Clone(n.Buttons)
	for _, q := range o.queues {
		q.put(n)
	}
	return nil
}

func (q *noticeQueue) put(n Notice) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == MaxNotices {
		q.log.Warn("notice dropped: too many are waiting", "notice", q.waiting[0].ID)
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
	q.waiting = append(q.waiting, n)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *noticeQueue) take() (Notice, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return Notice{}, false
	}
	n := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return n, true
}

// Run sends until ctx ends, to each receiver in a goroutine of its own. The request in
// progress at the end gets lastMoment, and hard bounds everything. It must be called once.
func (o *Outbox) Run(ctx, hard context.Context, ready func()) error {
	var all sync.WaitGroup
	for _, q := range o.queues {
		all.Go(func() {
			for ctx.Err() == nil {
				if n, ok := q.take(); ok {
					o.deliver(ctx, hard, q, n)
					continue
				}
				select {
				case <-q.wake:
				case <-ctx.Done():
				}
			}
		})
	}
	ready()
	<-ctx.Done()
	all.Wait()
	return nil
}

// deliver sends one notice until the receiver accepts or refuses it or it has expired.
func (o *Outbox) deliver(ctx, hard context.Context, q *noticeQueue, n Notice) {
	for attempt := 1; ; attempt++ {
		now := o.cfg.Now()
		if !now.Before(n.Until) {
			q.log.WarnContext(ctx, "notice dropped: expired", "notice", n.ID, "attempts", attempt-1)
			return
		}
		call, cancel := LastMoment(ctx, hard)
		a := q.to.Send(call, Message{Now: now, Notice: &n})
		cancel()
		switch {
		case a.Outcome == Delivered:
			q.log.InfoContext(ctx, "notice sent", "notice", n.ID, "attempt", attempt)
			return
		case a.Outcome == Refused:
			q.log.ErrorContext(ctx, "notice refused; not retried", "notice", n.ID, "reason", a.Text)
			return
		case ctx.Err() != nil:
			return
		}
		wait := max(retry.Backoff{First: firstRetry, Max: maxRetry}.Delay(attempt, o.cfg.Rand), a.Wait)
		q.log.WarnContext(ctx, "sending notice failed; retrying", "notice", n.ID, "reason", a.Text, "attempt", attempt, "retry_in", wait)
		select {
		case <-time.After(min(wait, n.Until.Sub(now))):
		case <-ctx.Done():
			return
		}
	}
}

// Decider decides about what a button stands for.
type Decider interface {
	// Decide returns the line that the owner is shown in place of the buttons. After an
	// error the buttons stay. It must accept a token that it has seen before: a press may
	// be reported twice.
	Decide(ctx context.Context, token string, allow bool) (text string, err error)
}

// Listener is a receiver that reports the presses of buttons.
type Listener interface {
	// Listen reports presses until ctx ends. hard bounds everything.
	Listen(ctx, hard context.Context, l Presses) error
}

// Presses is what a Listener reports to. All fields are required.
type Presses struct {
	Decider Decider
	Log     *slog.Logger
	Rand    func() float64 // from 0 to below 1, for the jitter of retries
}
