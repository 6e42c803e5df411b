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
