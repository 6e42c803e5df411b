package approval

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/sink"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// approver is a desk whose orders wait.
type approver struct {
	pending  []order.Order
	failure  error
	approved []string
}

func (a *approver) Pending(context.Context) ([]order.Order, error) { return a.pending, nil }

func (a *approver) Approve(_ context.Context, id, _ string) (order.Order, error) {
	if a.failure == nil {
		a.approved = append(a.approved, id)
	}
	return order.Order{Status: order.Filled}, a.failure
}

func (a *approver) Refuse(context.Context, string, string, string) (order.Order, error) {
	return order.Order{Status: order.Denied}, nil
}

func question(n int) order.Order {
	return order.Order{
		Origin: order.Origin{Mode: order.Live, Spec: order.Spec{
			ID: "o" + strconv.Itoa(n), Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Side: order.Buy, Type: order.Market, Quantity: decimal.NewFromInt(2),
		}},
		Status: order.PendingApproval, Approval: order.Approval{Price: decimal.NewFromInt(50_000), Expires: time.Date(2000, 1, 1, 0, 5, 0, 0, time.UTC)},
	}
}

// outbox keeps the messages to the owner.
type outbox struct {
	mu   sync.Mutex
	sent []sink.Notice
}

func (b *outbox) post(n sink.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, n)
	return nil
}

func (b *outbox) all() []sink.Notice {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
}

// inAsk runs a test in virtual time, which begins at midnight of 2000-01-01.
func inAsk(t *testing.T, test func(t *testing.T, a *Asker, desk *approver, sent *outbox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var sent outbox
		desk := &approver{pending: []order.Order{question(1)}}
		a := New(Config{Post: sent.post, Desk: func() Approver { return desk }, Base: "https://c.example", Log: slog.New(slog.DiscardHandler), Now: time.Now})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx, ctx, func() {}) }()
		test(t, a, desk, &sent)
		cancel()
		<-done
	})
}

func TestAsk_OneMessageInHalfAMinute(t *testing.T) {
	t.Parallel()
	inAsk(t, func(t *testing.T, a *Asker, _ *approver, sent *outbox) {
		t.Helper()
		for n := range 4 {
			a.Asked(question(n + 1))
			synctest.Wait()
		}
		if len(sent.all()) != 1 {
			t.Fatalf("%d messages at once", len(sent.all()))
		}
		first := sent.all()[0]
		if first.Text != "An order needs approval until 00:05 UTC. Decide with candela approve o1 or candela refuse." || first.Link != "https://c.example/console/approvals/o1" || len(first.Buttons) != 2 {
			t.Errorf("the first is %+v", first)
		}
		time.Sleep(askPause)
		synctest.Wait()
		if len(sent.all()) != 2 || !strings.HasPrefix(sent.all()[1].Text, "3 orders need approval, the first until 00:05 UTC.") || len(sent.all()[1].Buttons) != 0 {
			t.Errorf("then %+v", sent.all())
		}
		time.Sleep(10 * time.Minute)
		a.Asked(question(9)) // which has ended
		synctest.Wait()
		if len(sent.all()) != 2 {
			t.Errorf("%d messages in the end", len(sent.all()))
		}
		a.detail = true
		if text := a.notice([]order.Order{question(1)}).Text; !strings.HasPrefix(text, "An order to buy 2 binance:BTCUSDT (market, live, value 100000) needs approval") {
			t.Errorf("in detail: %s", text)
		}
	})
}

// TestAsk_NamesReasons writes a line for each checked reason and condition where messages name orders, and none elsewhere.
func TestAsk_NamesReasons(t *testing.T) {
	t.Parallel()
	inAsk(t, func(t *testing.T, a *Asker, _ *approver, _ *outbox) {
		t.Helper()
		o := question(1)
		o.Evidence = []order.Evidence{
			{Claim: order.Claim{Text: "RSI(14) of BTCUSDT on 1h closes below 30"}, Known: true, True: true, Value: "28.7", Held: 7, Of: 100},
			{Claim: order.Claim{Text: "BTCUSDT trades at or below 5"}, Known: true, Value: "6"},
		}
		o.Conditions = []order.Evidence{{Claim: order.Claim{Text: "calm"}}}
		if text := a.notice([]order.Order{o}).Text; strings.Contains(text, "RSI") {
			t.Errorf("without detail: %s", text)
		}
		a.detail = true
		const lines = "\nReason: RSI(14) of BTCUSDT on 1h closes below 30: true, 28.7 (true at 7 of 100 bars)\nReason: BTCUSDT trades at or below 5: false, 6\nYour condition: calm: unknown"
		if text := a.notice([]order.Order{o}).Text; !strings.HasSuffix(text, lines) {
			t.Errorf("in detail: %s", text)
		}
		if text := a.notice([]order.Order{question(2)}).Text; !strings.HasSuffix(text, "\nReason: none") {
			t.Errorf("without a reason: %s", text)
		}
		many := make([]order.Order, 10)
		for i := range many {
			many[i] = o
		}
		if text := a.notice(many).Text; strings.Count(text, "\nReason: ")+strings.Count(text, "\nYour condition: ") != maxReasons || strings.Count(text, "candela approve o1") != 10 {
			t.Errorf("of many: %s", text)
		}
	})
}

// TestUnreasoned_IsReported reports the first order without a reason at once and those of half a minute together.
func TestAsk_NamesTheMarginOfAPerpetualFuture(t *testing.T) {
	t.Parallel()
	inAsk(t, func(t *testing.T, a *Asker, _ *approver, _ *outbox) {
		t.Helper()
		o := question(1)
		o.Approval.Stake = &order.Stake{Margin: decimal.NewFromInt(1000), Leverage: decimal.NewFromInt(5), Liquidation: decimal.NewFromInt(59760), Distance: decimal.NewFromInt(19)}
		if text := a.notice([]order.Order{o}).Text; strings.Contains(text, "margin") {
			t.Errorf("without detail: %s", text)
		}
		a.detail = true
		if text := a.notice([]order.Order{o}).Text; !strings.Contains(text, "value 100000, margin 1000 at 5x, liquidation at 59760, 19 % away) needs approval") {
			t.Errorf("in detail: %s", text)
		}
	})
}

func TestUnreasoned_IsReported(t *testing.T) {
	t.Parallel()
	inAsk(t, func(t *testing.T, a *Asker, _ *approver, sent *outbox) {
		t.Helper()
		for n := range 3 {
			a.Unreasoned(question(n + 1))
			synctest.Wait()
		}
		time.Sleep(askPause)
		synctest.Wait()
		all := sent.all()
		if len(all) != 2 || all[0].Text != "An order that reduces a position came without a reason, which the policy asks for, and was not held." || all[0].Link != "https://c.example/console/orders/o1" {
			t.Fatalf("sent %+v", all)
		}
		if all[1].ID != "no-evidence-o2" || !strings.HasSuffix(all[1].Text, " 1 more came after it.") {
			t.Errorf("then %+v", all[1])
		}
		a.detail = true
		if text := a.unreasoned(question(1), 1).Text; !strings.HasPrefix(text, "An order to buy 2 binance:BTCUSDT (market, live) came without a reason") {
			t.Errorf("in detail: %s", text)
		}
	})
}

func TestAsk_AButtonDecidesOnce(t *testing.T) {
	t.Parallel()
	inAsk(t, func(t *testing.T, a *Asker, desk *approver, _ *outbox) {
		t.Helper()
		yes, no := a.offer(question(1))[0], a.offer(question(1))[1]
		for name, press := range map[string]struct {
			token string
			allow bool
		}{"an unknown token": {"guess", true}, "the wrong meaning": {no.Token, true}} {
			if _, err := a.Decide(t.Context(), press.token, press.allow); fault.Of(err) == nil || len(desk.approved) != 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		desk.failure = fault.New(fault.Unavailable, "no_price", "no price")
		if text, err := a.Decide(t.Context(), yes.Token, true); err == nil || text != "" {
			t.Errorf("without a price: %q, %v", text, err)
		}
		desk.failure = nil
		for range 2 {
			if text, err := a.Decide(t.Context(), yes.Token, true); err != nil || text != "Approved: the order is filled." {
				t.Errorf("approved: %q, %v", text, err)
			}
		}
		if text, _ := a.Decide(t.Context(), no.Token, false); !strings.HasPrefix(text, "Approved") || len(desk.approved) != 1 {
			t.Errorf("refused after that: %q; approved were %v", text, desk.approved)
		}
	})
}

func TestAsk_AButtonIsOfOneOrder(t *testing.T) {
	t.Parallel()
	inAsk(t, func(t *testing.T, a *Asker, desk *approver, _ *outbox) {
		t.Helper()
		other := question(1)
		other.Quantity = decimal.NewFromInt(3)
		if text, err := a.Decide(t.Context(), a.offer(other)[0].Token, true); err != nil || !strings.Contains(text, "not the one of this message") {
			t.Errorf("of other terms: %q, %v", text, err)
		}
		if text, err := a.Decide(t.Context(), a.offer(question(2))[0].Token, true); err != nil || !strings.Contains(text, "no longer waits") {
			t.Errorf("of an order that has ended: %q, %v", text, err)
		}
		late := a.offer(question(1))[0]
		time.Sleep(5 * time.Minute)
		if _, err := a.Decide(t.Context(), late.Token, true); fault.Of(err) == nil || len(desk.approved) != 0 {
			t.Errorf("after its end: %v", err)
		}
		if a.offer(question(1)); len(a.buttons) != 2 {
			t.Errorf("%d buttons are kept", len(a.buttons))
		}
	})
}
