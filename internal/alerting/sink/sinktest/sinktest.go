// Package sinktest has what the tests of sinks share: a receiver on loopback and the record
// of a firing.
package sinktest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/lib/market"
)

// Got is a request as it arrived.
type Got struct {
	Method, URI string
	Header      http.Header
	Body        string
}

// Listen returns a server on loopback that hands out what arrives. answer may be nil.
func Listen(tb testing.TB, answer http.HandlerFunc) (address string, arrived chan Got) {
	tb.Helper()
	arrived = make(chan Got, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Error(err)
		}
		arrived <- Got{r.Method, r.RequestURI, r.Header.Clone(), string(body)}
		if answer != nil {
			answer(w, r)
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	tb.Cleanup(server.Close)
	return server.URL, arrived
}

// Record is the stored record of a firing.
const Record = `{"alert_id":"0197-a","symbol":"BTCUSDT","interval":"","condition":{"type":"price_above","threshold":65000},"value":65012.4,"triggered_at":"2026-01-31T14:03:22.125Z","note":"sell half"}`

// Entry returns a notification with the record of a firing.
func Entry(seq uint64, at time.Time) *notify.Entry {
	return &notify.Entry{
		Seq: seq, Owner: "owner", Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Type: "price_above", At: at,
		Data: []byte(strings.Replace(Record, "0197-a", "0197-"+strconv.FormatUint(seq, 10), 1)),
	}
}
