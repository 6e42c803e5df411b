package inboxtest

import (
	"log/slog"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

func TestStats_CountEntriesAndStreams(t *testing.T) {
	t.Parallel()
	l, err := local.Open(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	caller := principal.Caller{Subject: "owner", Key: "key"}
	entry := notify.Entry{Owner: "owner", Symbol: market.Symbol{Name: "BTCUSDT"}, Type: "price_above", At: time.Now(), Data: []byte("{}")}
	for entry.Seq = 1; entry.Seq <= 3; entry.Seq++ {
		l.Append([]notify.Entry{entry})
	}
	stream, err := l.Open(t.Context(), caller, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Stats(); got != (notify.Stats{Entries: 3, Unpolled: 3, Streams: 1}) {
		t.Errorf("%+v", got)
	}
	stream.Close()
	batch, err := l.Poll(t.Context(), caller, 0, notify.Bound{})
	if err != nil {
		t.Fatal(err)
	}
	batch.Settle(true)
	if got := l.Stats(); got != (notify.Stats{Entries: 3}) {
		t.Errorf("%+v", got)
	}
}
