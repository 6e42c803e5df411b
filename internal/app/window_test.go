package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/store/statedir"
)

// stdioWindow is a program that a client has started over stdio.
type stdioWindow struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	calls int
	done  chan error
}

func openWindow(t *testing.T, home string, flags ...string) *stdioWindow {
	t.Helper()
	cfg := configure(t, append([]string{"--mcp", "--trade", "--home", home, "--yahoo=false"}, flags...)...)
	in, feed := io.Pipe()
	out, answers := io.Pipe()
	w := &stdioWindow{t: t, in: feed, lines: bufio.NewScanner(out), done: make(chan error, 1)}
	w.lines.Buffer(nil, 1<<20)
	go func() {
		w.done <- Run(context.WithoutCancel(t.Context()), cfg, Deps{Version: "test", Stdin: in, Stdout: answers, Stderr: io.Discard, Services: Wired()})
		_ = answers.Close()
	}()
	return w
}

// call calls a tool and returns the line that answers it, for a look at its text.
func (w *stdioWindow) call(tool, arguments string) string {
	w.t.Helper()
	return unquoted(w.answer(tool, arguments))
}

// result calls a tool and returns the text of its result.
func (w *stdioWindow) result(tool, arguments string) string {
	w.t.Helper()
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	line := w.answer(tool, arguments)
	if err := json.Unmarshal([]byte(line), &answer); err != nil || len(answer.Result.Content) == 0 {
		w.t.Fatalf("%s: %v in %s", tool, err, line)
	}
	return answer.Result.Content[0].Text
}

// answer calls a tool and returns the line that answers it.
func (w *stdioWindow) answer(tool, arguments string) string {
	w.t.Helper()
	w.calls++
	if _, err := fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", w.calls, tool, arguments); err != nil {
		w.t.Fatal(err)
	}
	for w.lines.Scan() {
		if line := w.lines.Text(); strings.Contains(line, fmt.Sprintf(`"id":%d,`, w.calls)) {
			return line
		}
	}
	w.t.Fatalf("no answer to %s: %v", tool, w.lines.Err())
	return ""
}

// close ends the input and waits for the program.
func (w *stdioWindow) close() {
	w.t.Helper()
	_ = w.in.Close()
	for w.lines.Scan() {
		continue
	}
	if err := <-w.done; err != nil {
		w.t.Error(err)
	}
}

// TestTakeover_ASecondWindowTradesWhenTheFirstHasEnded holds that the second window of
// a client says who trades, and trades itself with the same state once that has ended.
func TestTakeover_ASecondWindowTradesWhenTheFirstHasEnded(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "state")
	first := openWindow(t, home)
	if line := first.call("subscribe_notifications", `{"symbols":["BTCUSDT"]}`); !strings.Contains(line, "subscribed") {
		t.Fatal(line)
	}
	second := openWindow(t, home)
	line := second.call("list_alerts", `{}`)
	for _, want := range []string{"trading_elsewhere", fmt.Sprintf("pid %d", os.Getpid()), "takes over when it ends"} {
		if !strings.Contains(line, want) {
			t.Errorf("the second window says %s, without %q", line, want)
		}
	}
	if line := second.call("list_indicators", `{}`); strings.Contains(line, `"isError":true`) {
		t.Errorf("charts do not work: %s", line)
	}
	first.close()
	limit := time.Now().Add(2 * time.Minute)
	for line = second.call("list_subscriptions", `{}`); strings.Contains(line, "trading_elsewhere"); line = second.call("list_subscriptions", `{}`) {
		if time.Now().After(limit) {
			t.Fatal("the second window does not take over")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(line, "BTCUSDT") {
		t.Errorf("the state is another: %s", line)
	}
	if line := second.call("get_positions", `{}`); strings.Contains(line, `"isError":true`) {
		t.Errorf("there is no desk: %s", line)
	}
	third := openWindow(t, home)
	if line := third.call("get_orders", `{}`); !strings.Contains(line, "trading_elsewhere") {
		t.Errorf("a third window: %s", line)
	}
	third.close() // one that waits ends at once
	second.close()
}

// until calls a tool until its answer has the text.
func (w *stdioWindow) until(tool, want string) string {
	w.t.Helper()
	for limit := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		line := w.call(tool, `{}`)
		if strings.Contains(line, want) {
			return line
		}
		if time.Now().After(limit) {
			w.t.Fatalf("%s answers %s, never %q", tool, line, want)
		}
	}
}

// TestTakeover_OneThatFailsGivesTheLockBack breaks the policy while a window waits to
// take over. It says what is wrong, keeps nobody else from trading, and trades itself
// once that is mended.
func TestTakeover_OneThatFailsGivesTheLockBack(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "state")
	policy := filepath.Join(home, "policy.toml")
	first := openWindow(t, home)
	first.call("list_alerts", `{}`)
	second := openWindow(t, home)
	second.until("list_alerts", "trading_elsewhere")
	if err := os.WriteFile(policy, []byte("nonsense = = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first.close()
	line := second.until("list_alerts", "trading_not_taken_over")
	for _, want := range []string{policy, `"retryable":true`, "Charts and indicators work"} {
		if !strings.Contains(line, want) {
			t.Errorf("the window says %s, without %q", line, want)
		}
	}
	// Each attempt has the lock for a moment alone.
	held, err := statedir.LockEngine(home)
	for limit := time.Now().Add(2 * time.Minute); statedir.IsLocked(err) && time.Now().Before(limit); held, err = statedir.LockEngine(home) {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(policy); err != nil {
		t.Fatal(err)
	}
	held.Release()
	second.until("get_positions", `"text":"[`)
	second.close()
}

// TestWindow_AProbeDoesNotTrade starts a process that only asks for the protocol, as
// clients do before they start the one they use. It must not keep that one from trading.
func TestWindow_AProbeDoesNotTrade(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "state")
	probe := openWindow(t, home)
	if _, err := io.WriteString(probe.in, modern(`"p"`, "server/discover", "")+"\n"); err != nil {
		t.Fatal(err)
	}
	if !probe.lines.Scan() || !strings.Contains(probe.lines.Text(), `"supportedVersions"`) {
		t.Fatalf("the probe is answered %s", probe.lines.Text())
	}
	used := openWindow(t, home)
	if line := used.call("get_orders", `{}`); strings.Contains(line, `"isError":true`) {
		t.Errorf("the second process does not trade: %s", line)
	}
	probe.close()
	used.close()
}
