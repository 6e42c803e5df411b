package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"candela/e2e/remote"
)

// person is a client with one token after the other: when one is refused it is let in again.
type person struct {
	w    *world
	name string
	all  bool // it subscribes without a filter

	mu    sync.Mutex
	login *login
	made  int // logins
}

// login is one token, what it subscribed to and what reached it.
type login struct {
	*remote.Client
	since   time.Time // the subscription was acknowledged
	symbols []string  // the filter; nil for all
	kinds   []string

	mu       sync.Mutex
	got      map[string][]receipt // by alert
	order    []string             // of alerts, as they came
	revoking time.Time            // when the revocation was asked for
	revoked  time.Time            // when the revocation was acknowledged
	ended    time.Time            // when the last stream ended
}

// hears reports whether the subscription matches an alert.
func (l *login) hears(a *alert) bool {
	return (l.symbols == nil || slices.Contains(l.symbols, a.symbol)) && (l.kinds == nil || slices.Contains(l.kinds, a.kind))
}

func (l *login) ends() (revoked, ended time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revoked, l.ended
}

// present returns the login in use, made if there is none.
func (p *person) present(ctx context.Context) *login {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.login != nil {
		return p.login
	}
	p.made++
	c := &remote.Client{Base: p.w.site.base, Name: fmt.Sprintf("%s, login %d", p.name, p.made), Owner: p.w.site.owner, HTTP: remote.Plain(&http.Transport{MaxIdleConnsPerHost: 8})}
	l := &login{Client: c, got: map[string][]receipt{}}
	if !within(ctx, 3*time.Minute, func() bool {
		limit, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		return c.Enter(limit) == nil
	}) {
		return nil
	}
	p.login = l
	p.subscribe(ctx, l)
	p.w.mu.Lock()
	p.w.logins = append(p.w.logins, l)
	p.w.mu.Unlock()
	p.w.busy.Go(func() { l.listen(p.w.listening, p.w) })
	return l
}

// subscribe asks for notifications, of some symbols and kinds at times.
func (p *person) subscribe(ctx context.Context, l *login) {
	arguments := map[string]any{}
	p.w.mu.Lock()
	switch draw := p.w.dice.IntN(3); {
	case p.all:
	case draw == 0:
		for _, m := range p.w.markets[:len(p.w.markets)/2] {
			l.symbols = append(l.symbols, m.symbol)
		}
		arguments["symbols"] = l.symbols
	case draw == 1:
		l.kinds = []string{above, crosses}
		arguments["alert_types"] = l.kinds
	}
	p.w.mu.Unlock()
	text, _ := json.Marshal(arguments) //nolint:errchkjson // names alone
	done := within(ctx, time.Minute, func() bool {
		limit, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		_, err := l.Call(limit, "subscribe_notifications", string(text))
		refused, ok := errors.AsType[*remote.RefusalError](err)
		if ok && !refused.Retryable {
			p.w.violate("notifications", "", "subscribe_notifications %s: %v", text, err)
		}
		return err == nil || ok && !refused.Retryable
	})
	if l.since = time.Now(); !done {
		l.since = l.since.Add(never) // it may be subscribed or not
	}
}

// never is longer than any run.
const never = 1000 * time.Hour

// silence is how long a reader of a stream hears nothing until it tries again.
const silence = 20 * time.Second

// listen reads the stream of a login until its token is refused.
func (l *login) listen(ctx context.Context, w *world) {
	last := ""
	for ctx.Err() == nil {
		limit, cancel := context.WithCancel(ctx)
		patience := time.AfterFunc(silence, cancel)
		err := l.Listen(limit, last, func() { patience.Reset(silence) }, func(e remote.Event) {
			last = e.ID
			l.receive(w, e)
		})
		patience.Stop()
		cancel()
		if status, ok := errors.AsType[*remote.StatusError](err); ok && status.Status == http.StatusUnauthorized {
			break
		}
		pause(ctx, 100*time.Millisecond)
	}
	l.mu.Lock()
	l.ended = time.Now()
	l.mu.Unlock()
}

func (l *login) receive(w *world, e remote.Event) {
	var f firing
	if err := json.Unmarshal(e.Params, &f); err != nil {
		w.violate("notifications", "", "pushed: %v: %s", err, e.Params)
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.revoked.IsZero() && now.Sub(l.revoked) > w.patience(grace) {
		w.violate("revocation", f.Symbol, "alert %s was pushed %v after the revocation was acknowledged", f.ID, now.Sub(l.revoked))
	}
	l.got[f.ID] = append(l.got[f.ID], receipt{now, e.ID})
	l.order = append(l.order, f.ID)
}

// grace is how long after a revocation was acknowledged something may still happen.
const grace = time.Second

// firing is a notification, as far as it is read here.
type firing struct {
	ID        string    `json:"alert_id"`
	Symbol    string    `json:"symbol"`
	Note      string    `json:"note"`
	Triggered time.Time `json:"triggered_at"`
}

// drop forgets a login whose token was refused. That is right after a revocation alone.
func (p *person) drop(l *login, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.login == l {
		p.login = nil
		if revoked, _ := l.ends(); revoked.IsZero() && !p.w.revoking.Load() {
			p.w.violate("access", "", "the token of %s was refused, and nobody revoked it: %v", l.Name, err)
		}
	}
}

// errLost means that nobody knows whether a call had an effect.
var errLost = errors.New("no answer")

// try calls a tool once. An error is a RefusalError, or wraps errLost.
func (p *person) try(ctx context.Context, tool, arguments string) (json.RawMessage, error) {
	l := p.present(ctx)
	if l == nil {
		return nil, errLost
	}
	limit, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	p.w.calls.Add(1)
	answer, err := l.Call(limit, tool, arguments)
	if err == nil {
		return answer, nil
	}
	if refused, ok := errors.AsType[*remote.RefusalError](err); ok {
		p.w.count(tool + ": " + refused.Code)
		return nil, refused
	}
	if status, ok := errors.AsType[*remote.StatusError](err); ok && status.Status == http.StatusUnauthorized {
		p.drop(l, err)
	}
	p.w.count(tool + ": no answer")
	return nil, errors.Join(errLost, err)
}

// call is try until there is an answer. lost reports whether one was lost before it.
func (p *person) call(ctx context.Context, tool, arguments string) (answer json.RawMessage, lost bool, err error) {
	for {
		answer, err = p.try(ctx, tool, arguments)
		refused, ok := errors.AsType[*remote.RefusalError](err)
		switch {
		case err == nil, ok && !refused.Retryable && refused.Code != "outcome_unknown" && refused.Code != "too_late":
			return answer, lost, err
		case !ok || refused.Code == "outcome_unknown":
			lost = true
		}
		if !pause(ctx, 100*time.Millisecond) {
			return nil, lost, err
		}
	}
}

// read calls a tool that changes nothing and reads its answer.
func (p *person) read(ctx context.Context, tool, arguments string, into any) error {
	answer, _, err := p.call(ctx, tool, arguments)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}
