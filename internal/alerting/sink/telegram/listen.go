package telegram

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/kit/retry"
	"candela/lib/fault"
)

const (
	pollTime   = 25 * time.Second // that Telegram holds a request without updates
	idlePause  = time.Second      // after a response without updates
	callMargin = 10 * time.Second // beyond it
	maxUpdates = 1 << 20          // bytes of a response
	batch      = 20               // updates in a response
	decideTime = 30 * time.Second // for one decision
	lastMoment = 2 * time.Second  // to confirm at shutdown
	maxAnswer  = 200              // characters of an answer to a press
)

// Listen asks Telegram for presses of buttons and passes them to the decider. Telegram
// keeps a press until a later request confirms it, so that none is lost in a restart; one
// may then be reported twice. Only one Listen may run for a bot.
func (r *Receiver) Listen(ctx, hard context.Context, to sink.Presses) error {
	l := &listener{Receiver: r, to: to, hard: hard, log: to.Log.With("sink", "telegram")}
	for ctx.Err() == nil {
		wait, ok := l.poll(ctx)
		if ok || ctx.Err() != nil {
			continue
		}
		if err := r.pause(ctx, wait); err != nil {
			break
		}
	}
	return l.confirm(hard)
}

// listener is the state of Listen. One goroutine owns it.
type listener struct {
	*Receiver
	to  sink.Presses
	log *slog.Logger

	hard      context.Context //nolint:containedctx // the end of the run, which one goroutine owns
	offset    int64           // the first update that was not handled; 0 at the start
	confirmed int64           // the offset that Telegram has
	failures  int             // consecutive
}

// updateQuery is the argument of getUpdates.
type updateQuery struct {
	Offset  int64    `json:"offset,omitempty"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"` // seconds
	Kinds   []string `json:"allowed_updates"`
}

// press is a callback query.
type press struct {
	ID   string `json:"id"`
	From struct {
		ID int64 `json:"id"`
	} `json:"from"`
	Message *struct {
		ID   int64 `json:"message_id"`
		Date int64 `json:"date"` // 0 for a message that the bot cannot read any more
		Chat struct {
			ID int64 `json:"id"`
		} `json:"chat"`
		Text   string   `json:"text"`
		Markup keyboard `json:"reply_markup"`
	} `json:"message"`
	Data string `json:"data"`
}

// poll makes one request and handles its updates. It returns the delay before the next one,
// or true for none.
func (l *listener) poll(ctx context.Context) (wait time.Duration, ok bool) {
	query := updateQuery{Offset: l.offset, Limit: batch, Timeout: int(pollTime / time.Second), Kinds: []string{"callback_query"}}
	result, a := l.call(ctx, "getUpdates", query, pollTime)
	var updates []json.RawMessage
	if a.Outcome == sink.Delivered && json.Unmarshal(result, &updates) != nil {
		a = sink.Answer{Text: "the list of updates is not Telegram's"}
	}
	if a.Outcome != sink.Delivered {
		return l.failed(ctx, a), false
	}
	l.confirmed = l.offset
	ignored := 0
	for _, u := range updates {
		if ctx.Err() == nil && !l.handle(ctx, u) {
			ignored++
		}
	}
	if ignored > 0 {
		l.log.WarnContext(ctx, "Telegram updates ignored: not from the owner's chat", "count", ignored)
	}
	switch {
	case len(updates) == 0:
		l.failures = 0
		return idlePause, false // a server may not hold requests
	case l.offset == l.confirmed:
		return l.failed(ctx, sink.Answer{Text: "the same updates came again"}), false
	}
	l.failures = 0
	return 0, true
}

// failed counts and logs a failure and returns the delay before the next request.
func (l *listener) failed(ctx context.Context, a sink.Answer) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	l.failures++
	wait := max(retry.Backoff{First: time.Second, Max: 5 * time.Minute}.Delay(l.failures, l.to.Rand), a.Wait)
	l.log.WarnContext(ctx, "reading Telegram updates failed; retrying", "reason", a.Text, "attempt", l.failures, "retry_in", wait)
	return wait
}

// handle passes one update on. It returns false for one that is not the owner's.
func (l *listener) handle(ctx context.Context, data []byte) bool {
	var u struct {
		ID    int64  `json:"update_id"`
		Press *press `json:"callback_query"`
	}
	// A wrong type in one field leaves the others readable.
	if err := json.Unmarshal(data, &u); u.ID <= 0 || err != nil && u.Press != nil {
		u.Press = nil
	}
	if u.ID <= 0 || u.ID < l.offset || u.ID == math.MaxInt64 {
		return false
	}
	owned := l.owns(u.Press)
	if !owned || l.decide(ctx, u.Press) {
		l.offset = u.ID + 1
	}
	return owned
}

// owns reports whether a press is the owner's: in the configured chat, which must be with
// one person, and by that person.
func (l *listener) owns(p *press) bool {
	return p != nil && p.Message != nil && l.private() && p.Message.Chat.ID == l.chat && p.From.ID == l.chat
}

// decide asks the decider and shows the decision. It returns false if it was interrupted:
// the press is then reported again.
func (l *listener) decide(ctx context.Context, p *press) bool {
	last, end := sink.LastMoment(ctx, l.hard)
	defer end()
	token, allow := strings.CutPrefix(p.Data, markAllow)
	if !allow {
		var known bool
		if token, known = strings.CutPrefix(p.Data, markRefuse); !known {
			l.answer(last, p, "This button is not known.")
			return true
		}
	}
	call, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	text, err := l.to.Decider.Decide(call, token, allow)
	switch {
	case err != nil && ctx.Err() != nil:
		return false
	case err != nil:
		l.log.WarnContext(ctx, "decision by Telegram failed", "message", p.Message.ID, "error", public(err))
		l.answer(last, p, public(err))
		return true
	}
	l.log.InfoContext(ctx, "decision by Telegram taken", "message", p.Message.ID)
	l.answer(last, p, text)
	l.show(last, p, text)
	return true
}

// public returns the part of an error that may be shown.
func public(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Public()
	}
	return "candela could not decide; open the console or use candela approve"
}

// answer ends the wait of the owner's app and shows a text there.
func (l *listener) answer(ctx context.Context, p *press, text string) {
	_, a := l.call(ctx, "answerCallbackQuery", struct {
		ID   string `json:"callback_query_id"`
		Text string `json:"text"`
	}{p.ID, fault.Clean(text, maxAnswer-len("..."))}, 0)
	if a.Outcome != sink.Delivered {
		l.log.DebugContext(ctx, "answering a Telegram button failed", "reason", a.Text)
	}
}

// show replaces the buttons of a message by the decision. Its link stays.
func (l *listener) show(ctx context.Context, p *press, text string) {
	const gap = "\n\n"
	text = fault.Truncate(fault.Clean(text, maxText/4), maxText/2)
	out := outgoing{
		Chat: l.chat, MessageID: p.Message.ID, Preview: preview{true}, Markup: &keyboard{[][]button{}},
		Text: fault.Truncate(p.Message.Text, maxText-len(text)-len(gap)-len("...")) + gap + text,
	}
	for _, row := range p.Message.Markup.Rows {
		for _, b := range row {
			if b.URL != "" {
				out.Markup.Rows = append(out.Markup.Rows, []button{{Text: b.Text, URL: b.URL}})
			}
		}
	}
	if _, a := l.call(ctx, "editMessageText", out, 0); a.Outcome != sink.Delivered {
		l.log.WarnContext(ctx, "showing a decision in Telegram failed", "message", p.Message.ID, "reason", a.Text)
	}
}

// confirm reports to Telegram at shutdown what was handled. Without it the next start would
// hear of it again.
func (l *listener) confirm(hard context.Context) error {
	if l.offset == l.confirmed {
		return nil
	}
	ctx, cancel := context.WithTimeout(hard, lastMoment)
	defer cancel()
	_, a := l.call(ctx, "getUpdates", updateQuery{Offset: l.offset, Limit: 1, Kinds: []string{"callback_query"}}, 0)
	if a.Outcome != sink.Delivered {
		l.log.WarnContext(ctx, "confirming Telegram updates failed; they will be reported again", "reason", a.Text)
	}
	return nil
}
