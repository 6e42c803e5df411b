package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"candela/internal/store/ledger"
	"candela/internal/trading/order"
)

// scroll is the audit log of a scene.
type scroll struct{ *book }

func (s scroll) Page(_ context.Context, f ledger.Filter) (ledger.Page, error) {
	s.did("page " + strings.Join(f.Kinds, "+") + " " + f.Text)
	at := func(minutes int) time.Time { return noon().Add(-time.Duration(minutes) * time.Minute) }
	return ledger.Page{Next: "7", Events: []ledger.Event{
		{Seq: 14, At: at(1), Kind: "order_denied", Subject: "den1", Actor: "c7725f13aaaa", Client: "<i>Cursor</i>", Body: []byte(`{"kind":"denied","order_id":"den1","refusal":{"rule":"max_order_notional"},"reason":"too much <script>"}`)},
		{Seq: 13, At: at(2), Kind: "order_fill", Subject: "o9", Body: []byte(`{"kind":"fill","order_id":"o9","fill":{"trade_id":"1","symbol":"binance:BTCUSDT","side":"buy","quantity":"0.0210","price":"46600.00","fee":"0.98","fee_asset":"USDT"}}`)},
		{Seq: 8, At: at(2), Kind: "order_fill", Subject: "o8", Body: []byte(`{"kind":"fill","order_id":"o8","fill":{"trade_id":"2","symbol":"binance:BTCUSDT","side":"sell","quantity":"0.0210","price":"46500.00","at":"2026-11-15T09:57:00.1234Z"}}`)},
		{Seq: 7, At: at(2), Kind: "order_adjusted", Subject: "binance:ETHUSDT", Body: []byte(`{"kind":"adjusted","at":"2026-11-15T09:57:00Z","adjustment":{"symbol":"binance:ETHUSDT","quantity":"-1","price":"2500"}}`)},
		{Seq: 12, At: at(3), Kind: "alert_set", Subject: "a1", Body: []byte(`{"symbol":"BTCUSDT","type":"price_below","threshold":"46000","note":"cut \u003cb\u003ehalf"}`)},
		{Seq: 11, At: at(4), Kind: "state_set", Subject: "guard", Body: []byte(`{"causes":[{"kind":"owner_halt","reason":"lunch"}]}`)},
		{Seq: 10, At: at(5), Kind: "client_approved", Subject: "x", Client: "Claude", Body: []byte(`{"client":"Claude","address":"203.0.113.40","scope":"read"}`)},
		{Seq: 9, At: at(6), Kind: "order_sent", Subject: "o1", Body: []byte(`not JSON`)},
	}}, nil
}

func (s scroll) Verify(context.Context) (ledger.Report, error) {
	s.did("verify")
	return ledger.Report{Events: 14, Last: 14}, nil
}

func TestActivity_ShowsTheLog(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	page := b.get("/console/activity?group=orders&q=BTC&since=week")
	for _, want := range []string{"max_order_notional", "Bought 0.021 BTCUSDT at 46,600, fee 0.98 USDT", "price below 46,000", "Sold 0.021 BTCUSDT at 46,500; position closed, profit −1,002.5", "binance:ETHUSDT; position closed, profit 12", "cut &lt;b&gt;half", "guard_changed", "lunch", "203.0.113.40", "&lt;i&gt;Cursor", "before=7", "c7725f13<"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %q in %s", want, page.body)
		}
	}
	if page.status != http.StatusOK || strings.Contains(page.body, "<script>\"") || strings.Contains(page.body, "too much <script>") || strings.Contains(page.body, "7,777") {
		t.Errorf("%d", page.status)
	}
	if got := strings.Join(s.book.done(), ","); got != "page order_ BTC" {
		t.Error(got)
	}
	if r := b.post("/console/activity/verify"); r.status != http.StatusSeeOther {
		t.Errorf("%d %s", r.status, r.body)
	}
	if page := b.get("/console/activity"); !strings.Contains(page.body, "14 events, chain unbroken") {
		t.Errorf("the check is not shown: %s", page.body)
	}
	for _, odd := range []string{"?before=x&since=<&group=%00&client='&q=%27%20OR", "?q=" + strings.Repeat("a", 5000)} {
		if r := b.get("/console/activity" + odd); r.status != http.StatusOK {
			t.Errorf("%.30s: %d", odd, r.status)
		}
	}
}

// closings are the positions that were closed in a scene.
func closings() []order.NoticeRecord {
	return []order.NoticeRecord{
		{Event: order.NoticeClosed, OrderID: "o8", Symbol: "BTCUSDT", Realised: "-1002.5", At: "2026-11-15T09:57:00.123Z"},
		{Event: order.NoticeClosed, Symbol: "ETHUSDT", Realised: "12", At: "2026-11-15T09:57:00.000Z"},
		{Event: order.NoticeClosed, OrderID: "o9", Symbol: "BTCUSDT", Realised: "7777", At: "2026-11-15T09:57:00.123Z"}, // at another time
	}
}
