// Package approval asks the owner about orders that wait for approval, through the receivers of alerts, and carries
// out what the buttons of its messages stand for.
package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/sink"
	"candela/internal/kit/retry"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

const (
	askPause   = 30 * time.Second // between two messages; more orders are counted in the next
	maxAsked   = 64               // orders that wait for a message; the oldest is dropped
	maxReasons = 16               // lines about reasons in a message about several orders
	maxPress   = 128              // buttons that are known; those that end first are dropped
	byButton   = "a button in the chat"
)

// Asker asks the owner about orders that wait for approval, and carries out what the
// buttons of its messages stand for. It is safe for concurrent use.
type Asker struct {
	post   func(sink.Notice) error
	desk   func() Approver
	base   string // of the link; "" for none
	detail bool   // messages name symbol, side and value
	log    *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	waiting []order.Order
	exit    order.Order                   // the first without a reason since the last message
	exits   int                           // how many there were
	buttons map[[sha256.Size]byte]*button // by the hash of the token
	wake    chan struct{}                 // has one element while waiting may have grown
}

// Config says where an Asker sends its messages and who carries out decisions.
type Config struct {
	Post   func(sink.Notice) error
	Desk   func() Approver
	Base   string // of the link to the console; "" for none
	Detail bool   // messages name symbol, side and value
	Log    *slog.Logger
	Now    func() time.Time
}

// An Approver has orders that wait for the owner.
type Approver interface {
	Pending(ctx context.Context) ([]order.Order, error)
	Approve(ctx context.Context, id, by string) (order.Order, error)
	Refuse(ctx context.Context, id, by, reason string) (order.Order, error)
}

// New returns an Asker that sends once it runs.
func New(cfg Config) *Asker {
	return &Asker{
		post: cfg.Post, desk: cfg.Desk, base: cfg.Base, detail: cfg.Detail, log: cfg.Log, now: cfg.Now,
		buttons: make(map[[sha256.Size]byte]*button), wake: make(chan struct{}, 1),
	}
}

// button is one answer to one order.
type button struct {
	order  string
	digest [sha256.Size]byte
	allow  bool
	until  time.Time
	busy   bool
	result string // what its press did, "" before
}

// Asked queues an order for a message. It never blocks.
func (a *Asker) Asked(o order.Order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == maxAsked {
		a.waiting = slices.Delete(a.waiting, 0, 1)
	}
	a.waiting = append(a.waiting, o)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run sends messages until ctx ends, at most one in askPause.
func (a *Asker) Run(ctx, _ context.Context, ready func()) error {
	ready()
	for ctx.Err() == nil {
		select {
		case <-a.wake:
		case <-ctx.Done():
			return nil
		}
		if a.push() {
			_ = retry.Sleep(ctx, askPause) // the loop ends with ctx
		}
	}
	return nil
}

// push sends one message about all orders that wait for one, and one about those without a
// reason. It reports false if there was none.
func (a *Asker) push() bool {
	a.mu.Lock()
	orders := slices.DeleteFunc(a.waiting, func(o order.Order) bool { return !a.now().Before(o.Approval.Expires) })
	exits, first := a.exits, a.exit
	a.waiting, a.exits = nil, 0
	a.mu.Unlock()
	if len(orders) > 0 {
		if err := a.post(a.notice(orders)); err != nil {
			a.log.Error("owner not asked for approval", "orders", len(orders), "error", err)
		}
	}
	if exits > 0 {
		if err := a.post(a.unreasoned(first, exits)); err != nil {
			a.log.Error("order without a reason not reported", "orders", exits, "error", err)
		}
	}
	return len(orders)+exits > 0
}

// notice returns the message about orders that need approval.
func (a *Asker) notice(orders []order.Order) sink.Notice {
	first := slices.MinFunc(orders, func(x, y order.Order) int { return x.Approval.Expires.Compare(y.Approval.Expires) })
	until := first.Approval.Expires
	n := sink.Notice{ID: "approval-" + first.ID, Title: "Approval needed", Until: until}
	clock := until.UTC().Format("15:04 MST")
	if len(orders) == 1 {
		n.Text = a.describe(first) + " needs approval until " + clock + ". Decide with candela approve " + first.ID + " or candela refuse."
		if lines := reasonLines(first); a.detail {
			n.Text += strings.Join(lines, "")
		}
		n.Link, n.Buttons = a.link("/"+first.ID), a.offer(first)
		return n
	}
	n.Text = fmt.Sprintf("%d orders need approval, the first until %s. List them with candela approvals.", len(orders), clock)
	if left := maxReasons; a.detail {
		for _, o := range orders[:min(len(orders), 10)] {
			n.Text += "\n" + a.describe(o) + ": candela approve " + o.ID
			lines := reasonLines(o)
			n.Text += strings.Join(lines[:min(len(lines), left)], "")
			left = max(0, left-len(lines))
		}
	}
	n.Link = a.link("")
	return n
}

func (a *Asker) link(path string) string {
	if a.base == "" {
		return ""
	}
	return a.base + "/console/approvals" + path
}

// describe names an order, with its terms only if the owner wants them in messages.
func (a *Asker) describe(o order.Order) string {
	if !a.detail {
		return "An order"
	}
	stake := ""
	if s := o.Approval.Stake; s != nil {
		stake = ", " + s.Text(decimal.Decimal.String, decimal.Decimal.String)
	}
	return fmt.Sprintf("An order to %s %s %s (%s, %s, value %s%s)", o.Side, o.Quantity, o.Symbol, o.Type, o.Mode, o.AskedValue(), stake)
}

// digest identifies an order and everything that it would do.
func digest(o order.Order) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join([]string{o.ID, string(o.Mode), o.Symbol.String(), string(o.Terms())}, "\x00")))
}

// offer returns new buttons for an order.
func (a *Asker) offer(o order.Order) []sink.Button {
	a.mu.Lock()
	defer a.mu.Unlock()
	for hash, b := range a.buttons {
		if !a.now().Before(b.until) {
			delete(a.buttons, hash)
		}
	}
	if len(a.buttons) > maxPress-2 {
		return nil // the message has the command
	}
	var all []sink.Button
	for _, allow := range []bool{true, false} {
		var random [16]byte
		_, _ = rand.Read(random[:]) // which never fails
		token := base64.RawURLEncoding.EncodeToString(random[:])
		a.buttons[sha256.Sum256([]byte(token))] = &button{order: o.ID, digest: digest(o), allow: allow, until: o.Approval.Expires}
		all = append(all, sink.Button{Label: map[bool]string{true: "Approve", false: "Refuse"}[allow], Token: token, Allow: allow})
	}
	return all
}

// Decide carries out what a button stands for, once. A repeated press returns the same text.
func (a *Asker) Decide(ctx context.Context, token string, allow bool) (string, error) {
	b, err := a.take(token, allow)
	if err != nil || b.result != "" {
		return b.result, err
	}
	text, err := a.decide(ctx, b)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, other := range a.buttons {
		if other.order == b.order {
			other.busy, other.result = false, cmp.Or(other.result, text)
		}
	}
	return text, err
}

// take marks the buttons of an order as pressed and returns a copy of the one pressed.
func (a *Asker) take(token string, allow bool) (button, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.buttons[sha256.Sum256([]byte(token))]
	switch {
	case b == nil || b.allow != allow || !a.now().Before(b.until):
		return button{}, fault.New(fault.NotFound, "button_ended", "This button is no longer valid, and nothing was done. Use candela approve with the ID in the message, or candela approvals")
	case b.busy:
		return button{}, fault.New(fault.Conflict, "button_busy", "The order is being decided")
	case b.result != "":
		return *b, nil
	}
	for _, other := range a.buttons {
		other.busy = other.busy || other.order == b.order
	}
	return *b, nil
}

// decide approves or refuses the order of a button. The text is empty with an error after
// which the button may be pressed again.
func (a *Asker) decide(ctx context.Context, b button) (string, error) {
	desk := a.desk()
	orders, err := desk.Pending(ctx)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(orders, func(o order.Order) bool { return o.ID == b.order })
	if at < 0 {
		return "The order no longer waits; nothing was changed.", nil
	}
	if digest(orders[at]) != b.digest {
		return "The order is not the one of this message; nothing was done.", nil
	}
	var o order.Order
	if b.allow {
		o, err = desk.Approve(ctx, b.order, byButton)
	} else {
		o, err = desk.Refuse(ctx, b.order, byButton, "")
	}
	f := fault.Of(err)
	switch {
	case f != nil && (f.Code == "order_denied" || f.Code == "not_pending" || f.Code == "order_rejected" || f.Code == "not_sent"):
		return "Not sent: " + f.Public(), nil
	case err != nil:
		return "", err
	case b.allow:
		return "Approved: the order is " + o.Status.String() + ".", nil
	}
	return "Refused: nothing was sent.", nil
}
