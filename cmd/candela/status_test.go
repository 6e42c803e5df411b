package main

import (
	"bytes"
	"strings"
	"testing"

	"candela/internal/operate/control"
)

func TestPrintStatus_NamesReceiversThatFail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printStatus(&out, "/home/me/.candela", control.Status{Running: true, Receivers: []control.ReceiverStatus{
		{Name: "ntfy", Delivered: 3}, {Name: "telegram", Refused: 1, Problem: "403 Forbidden: the bot is blocked in the chat; unblock it in Telegram"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Alerts to telegram fail: 403 Forbidden: the bot is blocked in the chat; unblock it in Telegram.\n") || strings.Contains(out.String(), "ntfy") {
		t.Errorf("%s", &out)
	}
}

// TestPrintStatus_NamesWhatHasNoStop holds that an owner sees how much no stop protects.
func TestPrintStatus_NamesWhatHasNoStop(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	positions := []control.PositionStatus{
		{Symbol: "binance:BTCUSDT", Side: "buy", Quantity: "0.3", Entry: "50000", WithoutStop: "0.1"},
		{Symbol: "binance:ETHUSDT", Side: "buy", Quantity: "2", Entry: "3000"},
	}
	if err := printStatus(&out, "/home/me/.candela", control.Status{Running: true, Accounts: []control.AccountStatus{{Account: "paper", Positions: positions}}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "  binance:BTCUSDT buy 0.3 at 50000, 0.1 without a stop\n  binance:ETHUSDT buy 2 at 3000\n") {
		t.Errorf("%s", &out)
	}
}
