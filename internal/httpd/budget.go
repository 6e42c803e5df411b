package httpd

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Limits are how much one token may use at a time. The zero value of each stands for
// its default.
type Limits struct {
	Calls  int   // requests under way, streams aside; 16
	Unread int64 // bytes of answers that are ready and not sent; 16 MiB
	// UnreadAll is the same for all tokens together; 128 MiB.
	UnreadAll int64
}

func (l *Limits) setDefaults() {
	if l.Calls == 0 {
		l.Calls = 16
	}
	if l.Unread == 0 {
		l.Unread = 16 << 20
	}
	if l.UnreadAll == 0 {
		l.UnreadAll = 128 << 20
	}
}

// budgets counts what tokens use. It is safe for concurrent use and holds an entry for
// each token with a request under way.
type budgets struct {
	limits Limits

	mu      sync.Mutex
	tokens  map[string]*usage
	unread  int64 // bytes, of all
	refused uint64
}

// usage is what one token uses.
type usage struct {
	calls  int
	unread int64
}

func newBudgets(l Limits) *budgets {
	l.setDefaults()
	return &budgets{limits: l, tokens: make(map[string]*usage)}
}

// begin counts a request of a token that calls tools, or refuses it. end must be
// called when it is answered.
func (b *budgets) begin(key string) *httpRefusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.of(key)
	if u.calls >= b.limits.Calls {
		b.refused++
		return busy(fmt.Sprintf("too many requests: %d of this token are under way; wait for the answer to one", b.limits.Calls))
	}
	u.calls++
	return nil
}

func (b *budgets) end(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(key).calls--
	b.forget(key)
}

// hold counts an answer until it is sent, or refuses it: one who asks for much and
// reads nothing would fill the memory.
func (b *budgets) hold(key string, bytes int) *httpRefusal {
	n := int64(bytes)
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.of(key)
	switch {
	case key != "" && u.unread > 0 && u.unread+n > b.limits.Unread:
		b.refused++
		return busy(fmt.Sprintf("too much unread: this token may have answers of %d bytes waiting; read them before you ask for more", b.limits.Unread))
	case b.unread > 0 && b.unread+n > b.limits.UnreadAll:
		b.refused++
		b.forget(key)
		refusal := busy("the server holds too many answers that nobody reads; try again in a moment")
		refusal.status = http.StatusServiceUnavailable
		return refusal
	}
	u.unread += n
	b.unread += n
	return nil
}

func (b *budgets) release(key string, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(key).unread -= int64(bytes)
	b.unread -= int64(bytes)
	b.forget(key)
}

// of returns what a token uses, and under "" what strangers do, who may ask for little.
func (b *budgets) of(key string) *usage {
	u := b.tokens[key]
	if u == nil {
		u = &usage{}
		b.tokens[key] = u
	}
	return u
}

// forget removes a token that uses nothing.
func (b *budgets) forget(key string) {
	if u := b.tokens[key]; u != nil && *u == (usage{}) {
		delete(b.tokens, key)
	}
}

func busy(message string) *httpRefusal {
	refusal := refuse(http.StatusTooManyRequests, message)
	refusal.retry = time.Second
	return refusal
}
