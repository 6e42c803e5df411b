package demo

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/lib/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// actor returns a program that returns a text for each tool, or an image for generate_chart
// png, and pushes a fired alert after the second set_alert.
func actor(texts map[string]string) Program {
	return func(_ context.Context, in io.Reader, out, _ io.Writer) error {
		alerts := 0
		for lines := bufio.NewScanner(in); lines.Scan(); {
			var m struct {
				ID     int    `json:"id"`
				Method string `json:"method"`
				Params struct {
					Name      string         `json:"name"`
					Arguments map[string]any `json:"arguments"`
				} `json:"params"`
			}
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				return err
			}
			name := m.Params.Name
			if f, ok := m.Params.Arguments["format"]; ok {
				name += " " + fmt.Sprint(f)
			}
			switch {
			case m.ID == 0:
				continue // a notification
			case m.Method != "tools/call":
				fmt.Fprintf(out, `{"id":%d,"result":{"tools":[{},{},{}]}}`+"\n", m.ID)
			case texts[name] == "refused":
				fmt.Fprintf(out, `{"id":%d,"result":{"isError":true,"content":[{"type":"text","text":"not today"}]}}`+"\n", m.ID)
			case name == "generate_chart png":
				fmt.Fprintf(out, `{"id":%d,"result":{"content":[{"type":"image","data":%q}]}}`+"\n", m.ID, base64.StdEncoding.EncodeToString([]byte(texts[name])))
			default:
				fmt.Fprintf(out, `{"id":%d,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", m.ID, texts[name])
			}
			if m.Params.Name == "set_alert" {
				alerts++
			}
			if alerts == 2 {
				fmt.Fprintln(out, `{"method":"notifications/alert_triggered","params":{"condition":{"type":"price_above","threshold":101.5},"value":102}}`)
				alerts++
			}
		}
		return nil
	}
}

// goodResults returns valid results of all tools.
func goodResults() map[string]string {
	return map[string]string{
		"get_indicators":          `{"source":"sample","bars":50,"indicators":{"rsi":{"lines":[{"last_value":44.44}]}}}`,
		"generate_chart png":      "a picture",
		"generate_chart series":   `{"bars":[{"h":102,"l":100,"c":101}]}`,
		"subscribe_notifications": "{}",
		"set_alert":               "{}",
		"place_order":             `{"status":"filled","filled_quantity":"5","mode":"paper"}`,
		"get_positions":           `[{"entry_price":101,"unrealized_pnl":0.5,"protected_quantity":"5"}]`,
		"get_notifications":       `[{"event":"order_filled","role":"exit","realized_pnl":"-0.25"},{"event":"position_closed"}]`,
		"get_trades":              `{"trades":[{"quantity":"5","net":"-0.75","fees":"0.5","reason":"exit"}]}`,
		"run_backtest":            `{"result":{"trades":7,"net_pct":-1.25},"honesty":{"flags":["few_trades"]}}`,
	}
}

func runTour(t *testing.T, run Program) (said, output string, err error) {
	t.Helper()
	var text strings.Builder
	output = filepath.Join(t.TempDir(), "demo.png")
	tour := Tour{Output: output, Wait: time.Minute, Say: func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }}
	err = tour.Run(t.Context(), run)
	return text.String(), output, err
}

func TestTour_PrintsEachResult(t *testing.T) {
	t.Parallel()
	said, output, err := runTour(t, actor(goodResults()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 tools", "Source sample, 50 bars, RSI 44.4", "The last price is 101.0000", "Order filled, 5 filled, mode paper", "bought at 101.0000, unrealized profit 0.50, 5 protected", "7 trades, -1.25 % after costs. Reasons not to trust it: few_trades.", "price_above 101.5000 at a price of 102.0000", "Event order_filled, exit, profit before fees -0.25.", "Event position_closed.", "Trade: 5 closed by exit, -0.75 earned after fees of 0.5."} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing:\n%s", want, said)
		}
	}
	if data, err := os.ReadFile(output); err != nil || string(data) != "a picture" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestTour_FailsOnAnUnexpectedResult(t *testing.T) {
	t.Parallel()
	for tool, tt := range map[string]struct{ text, want string }{
		"get_indicators":        {"refused", "get_indicators: not today"},
		"generate_chart png":    {"", "no image"},
		"generate_chart series": {`{"bars":[]}`, "no bars"},
		"place_order":           {"oops", "not JSON"},
		"get_notifications":     {"[]", "no event says that the position was closed"},
	} {
		texts := goodResults()
		texts[tool] = tt.text
		if _, _, err := runTour(t, actor(texts)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	texts := goodResults()
	texts["get_indicators"] = "refused"
	if _, _, err := runTour(t, actor(texts)); fault.Of(err) == nil || fault.Of(err).Code != "tool_refused" {
		t.Error(err)
	}
}

func TestTour_ReportsTheProgramsWarningsWithItsError(t *testing.T) {
	t.Parallel()
	gone := errors.New("no room on the disk")
	_, _, err := runTour(t, func(_ context.Context, in io.Reader, _, log io.Writer) error {
		_, _ = bufio.NewReader(in).ReadString('\n')
		fmt.Fprintln(log, "level=INFO msg=starting")
		fmt.Fprintln(log, `level=WARN msg="the disk is full"`)
		return gone
	})
	if !errors.Is(err, gone) || !strings.Contains(err.Error(), "the program ended") || !strings.Contains(err.Error(), "the disk is full") || strings.Contains(err.Error(), "starting") {
		t.Error(err)
	}
}

// Only the last step, with a client without notifications: on a slow machine the alert may
// fire before a whole tour gets there.
func TestTour_FailsWhenNoAlertFires(t *testing.T) {
	t.Parallel()
	tour := Tour{Wait: time.Nanosecond, Say: func(string, ...any) {}}
	if err := tour.awaitAlert(t.Context(), &client{}); err == nil || !strings.Contains(err.Error(), "no alert fired") {
		t.Error(err)
	}
}
