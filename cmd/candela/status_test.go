package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/cmd/candela/cli"
	"candela/internal/operate/control"
	"candela/internal/trading/order"
)

func TestPrintStatus_NamesReceiversThatFail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printStatus(&out, "/home/me/.candela", control.Status{Running: true, Receivers: []control.ReceiverStatus{
		{Name: "ntfy", Delivered: 3}, {Name: "telegram", Refused: 1, Problem: "403 Forbidden: the bot is blocked in the chat; unblock it in Telegram"},
	}}, cli.Paint{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Alerts to telegram fail: 403 Forbidden: the bot is blocked in the chat; unblock it in Telegram.\n") || strings.Contains(out.String(), "ntfy") {
		t.Errorf("%s", &out)
	}
}

// TestPrintStatus_NamesWhatHasNoStop holds that an owner sees the plan of a position, and how much no stop
// protects.
func TestPrintStatus_NamesWhatHasNoStop(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	positions := []control.PositionStatus{
		{Symbol: "binance:BTCUSDT", Side: "buy", Quantity: "0.3", Entry: "50000", WithoutStop: "0.1"},
		{Symbol: "binance:ETHUSDT", Side: "buy", Quantity: "2", Entry: "3000", Plan: []string{"1.5: stop 2900, target 3300", "0.5: trail 2 %, now 2940"}},
	}
	if err := printStatus(&out, "/home/me/.candela", control.Status{Running: true, Accounts: []control.AccountStatus{{Account: "paper", Positions: positions}}}, cli.Paint{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "  POSITION         SIDE  QUANTITY  ENTRY  NOW  UNREALIZED  WITHOUT A STOP\n  binance:BTCUSDT  buy        0.3  50000    -           -             0.1\n  binance:ETHUSDT  buy          2   3000    -           -            none\n    1.5: stop 2900, target 3300\n    0.5: trail 2 %, now 2940\n") {
		t.Errorf("%s", &out)
	}
}

// TestPrintStatus_NamesLiquidations holds that an owner sees the margin of a position in a perpetual future, and
// that a halt says where what it leaves would be liquidated.
func TestPrintStatus_NamesLiquidations(t *testing.T) {
	t.Parallel()
	stake := &order.Stake{Margin: decimal.NewFromInt(1000), Leverage: decimal.NewFromInt(5), Liquidation: decimal.RequireFromString("59760.96"), Distance: decimal.RequireFromString("19.52")}
	account := control.AccountStatus{Account: "paper", Positions: []control.PositionStatus{
		{Symbol: "binance:BTCUSDT.P", Side: "sell", Quantity: "0.1", Entry: "50000", Plan: []string{"0.1: stop 51500"}, Stake: stake},
		{Symbol: "binance:ETHUSDT", Side: "buy", Quantity: "2", Entry: "3000"},
	}}
	var out bytes.Buffer
	if err := printStatus(&out, "/home/me/.candela", control.Status{Running: true, Accounts: []control.AccountStatus{account}}, cli.Paint{}); err != nil {
		t.Fatal(err)
	}
	if want := "50000    -           -            none\n    margin 1000 at 5x, liquidation at 59760.96, 19.52 % away\n    0.1: stop 51500\n  binance:ETHUSDT"; !strings.Contains(out.String(), want) {
		t.Errorf("%s", &out)
	}
	out.Reset()
	printLiquidations(&out, account)
	if want := "paper: binance:BTCUSDT.P sell 0.1, liquidation at 59760.96, 19.52 % away; 0.1: stop 51500.\n"; out.String() != want {
		t.Errorf("%s", &out)
	}
}

// TestPrintStatus_CountsGroupsOnce holds the texts about open orders, in the singular and the
// plural: of a status, and of what a halt leaves.
func TestPrintStatus_CountsGroupsOnce(t *testing.T) {
	t.Parallel()
	one, two := []control.PositionStatus{{}}, []control.PositionStatus{{}, {}}
	for name, tc := range map[string]struct {
		account control.AccountStatus
		stopped bool
		status  string // as a part
		halt    string
	}{
		"nothing":                {control.AccountStatus{}, false, "  0 orders open\n", "paper: no order is open.\n"},
		"an order":               {control.AccountStatus{Open: 1, Single: 1}, false, "  1 order open\n", "paper: 1 order still open: not yet cancelled by the venue, or placed outside candela.\n"},
		"a stop":                 {control.AccountStatus{Open: 1, Single: 1, Protect: 1, Alone: 1, Positions: one}, false, "  1 order open\n", "paper: 1 order stays open to protect a position.\n"},
		"a pair":                 {control.AccountStatus{Open: 2, Groups: 1, Protect: 1, Positions: one}, false, "  1 group of 2 orders open\n", "paper: 1 group stays open to protect a position.\n"},
		"two pairs and a stop":   {control.AccountStatus{Open: 5, Groups: 2, Single: 1, Protect: 3, Alone: 1, Positions: two}, false, "  2 groups of 4 orders and 1 order open\n", "paper: 2 groups and 1 order stay open to protect positions.\n"},
		"a pair and an order":    {control.AccountStatus{Open: 3, Groups: 1, Single: 1, Protect: 1, Positions: one}, true, "  1 group of 2 orders and 1 order open\n", "paper: 1 group stays open to protect a position.\npaper: 1 order still open; the next start with --trade cancels the ones candela placed.\n"},
		"a stop of candela's":    {control.AccountStatus{Open: 1, Single: 1, Protect: 1, Alone: 1, Held: 1, Positions: one}, false, ".\n  candela holds 1 stop; it protects only while candela runs\n  1 order open\n", "paper: 1 order stays open to protect a position.\n  candela holds 1 stop; it protects only while candela runs\n"},
		"two, and it is stopped": {control.AccountStatus{Open: 2, Single: 2, Protect: 2, Alone: 2, Held: 2, Positions: two}, true, ".\n  candela holds 2 stops, and nothing watches them while it is stopped\n", "paper: 2 orders stay open to protect positions.\n  candela holds 2 stops, and nothing watches them while it is stopped\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.account.Account = "paper"
			var status, halt bytes.Buffer
			if err := printStatus(&status, "/home/me", control.Status{Running: !tc.stopped, Accounts: []control.AccountStatus{tc.account}}, cli.Paint{}); err != nil {
				t.Fatal(err)
			}
			printLeft(&halt, tc.account, !tc.stopped)
			if !strings.Contains(status.String(), tc.status) || halt.String() != tc.halt {
				t.Errorf("status:\n%s\nhalt:\n%s", &status, &halt)
			}
		})
	}
}

// TestPrintStatus_CountsAlertsThatNothingEvaluates holds that alerts on a venue that is not set up are not
// counted in silence.
func TestPrintStatus_CountsAlertsThatNothingEvaluates(t *testing.T) {
	t.Parallel()
	var idle bytes.Buffer
	if err := printStatus(&idle, "/home/me/.candela", control.Status{Running: true, Alerts: 3, Broken: 1, SetAside: 2}, cli.Paint{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  1 of them is broken: this version cannot evaluate it; candela alerts list says why\n", "  2 of them are set aside, because candela ended while it evaluated them; candela alerts list shows them\n"} {
		if !strings.Contains(idle.String(), want) {
			t.Errorf("%s", &idle)
		}
	}
	for n, want := range map[int]string{1: "nothing evaluates 1 of them: its venue is not set up", 2: "nothing evaluates 2 of them: their venues are not set up"} {
		var out bytes.Buffer
		if err := printStatus(&out, "/home/me/.candela", control.Status{Running: true, Alerts: 3, NotEvaluated: n}, cli.Paint{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "3 alerts waiting.\n  "+want) {
			t.Errorf("%s", &out)
		}
	}
}

// TestPrintStatus_CountsScriptsThatAreLate holds that scripts that are too slow are shown.
func TestPrintStatus_CountsScriptsThatAreLate(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printStatus(&out, "/home/me/.candela", control.Status{Running: true, Alerts: 3, ScriptBars: 1, ScriptsLate: 5, ScriptsSkipped: 2}, cli.Paint{}); err != nil {
		t.Fatal(err)
	}
	if want := "3 alerts waiting.\n  1 bar waits for scripts; scripts were late 5 times, and 2 bars they never saw\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s", &out)
	}
}
