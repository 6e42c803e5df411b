package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	fakebinance "candela/internal/testkit/fake/binance"
)

// modern is mcptest.Modern, whose package declares a flag that this one has, too.
func modern(id, method, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}%s}}`, id, method, members)
}

// askModern sends a modern request and returns the messages of its answer, one at a time.
func askModern(t *testing.T, url, body string) (next func() string) {
	t.Helper()
	return askModernAs(t, url, "good", body)
}

// askModernAs is askModern with a token.
func askModernAs(t *testing.T, url, token, body string) (next func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Method string
		Params struct{ Name, URI, TaskID string }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": m.Method, "Mcp-Name": m.Params.Name + m.Params.URI + m.Params.TaskID, "Authorization": "Bearer " + token} {
		request.Header.Set(name, value)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return func() string {
		t.Helper()
		for lines.Scan() {
			line := strings.TrimPrefix(lines.Text(), "data: ")
			if strings.HasPrefix(line, "{") {
				return line
			}
		}
		t.Fatalf("the answer ended: %v", lines.Err())
		return ""
	}
}

const watchFired = `"notifications":{"resourceSubscriptions":["candela://alerts/fired"]}`

// TestModern_FromAlertToSubscription runs the whole program for a client of each revision:
// both hear of an alert, and reading takes nothing from the queue.
func TestModern_FromAlertToSubscription(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	tokens := httpdtest.Tokens{"good": {Subject: "owner", Key: "k", Scope: principal.Trade}, "older": {Subject: "owner", Key: "o", Scope: principal.Trade}}
	url, stop := startTradingFor(t, filepath.Join(t.TempDir(), "home"), venue.URL, tokens)
	older, leave := follow(t, url, "older")
	use(t, url, "older", "subscribe_notifications", `{}`)
	next := askModern(t, url, modern("1", "subscriptions/listen", watchFired))
	if got := next(); !strings.Contains(got, "notifications/subscriptions/acknowledged") {
		t.Fatalf("began with %s", got)
	}
	set := askModern(t, url, modern("2", "tools/call", `"name":"set_alert","arguments":{"symbol":"BTCUSDT","condition":{"price_above":2.5},"note":"wanted"}`))()
	if !strings.Contains(set, `"resultType":"complete"`) || !strings.Contains(set, `"text":"{\"alert_id\":`) {
		t.Fatalf("set_alert answered %s", set)
	}
	if got := next(); !strings.Contains(got, `"method":"notifications/resources/updated"`) || strings.Contains(got, "wanted") {
		t.Fatalf("after the alert came %s", got)
	}
	wantNotice(t, older(), `2\.5`, "wanted")
	for range 2 {
		if got := askModern(t, url, modern("3", "resources/read", `"uri":"candela://alerts/fired"`))(); strings.Count(got, `\"note\":\"wanted\"`) != 1 {
			t.Fatalf("the resource is %s", got)
		}
	}
	if polled := use(t, url, "older", "get_notifications", `{}`); strings.Count(polled, `"alert_id"`) != 1 {
		t.Errorf("polled %s", polled)
	}
	leave()
	stop()
	if got := next(); !strings.Contains(got, `"id":1,"result":{"resultType":"complete"`) {
		t.Errorf("at the stop came %s", got)
	}
}

// TestModern_WindowTradesForASubscription starts trading on stdio with a subscription, and
// reports where trading is to the next window.
func TestModern_WindowTradesForASubscription(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "state")
	say := func(w *stdioWindow, body string) string {
		t.Helper()
		if _, err := io.WriteString(w.in, body+"\n"); err != nil {
			t.Fatal(err)
		}
		if !w.lines.Scan() {
			t.Fatal("no answer", w.lines.Err())
		}
		return w.lines.Text()
	}
	probe := openWindow(t, home)
	if got := say(probe, modern("0", "server/discover", "")); !strings.Contains(got, `"supportedVersions":["2026-07-28","2025-03-26"]`) {
		t.Fatalf("discovered %s", got)
	}
	first := openWindow(t, home)
	if got := say(first, modern("1", "subscriptions/listen", watchFired)); !strings.Contains(got, "acknowledged") {
		t.Fatalf("began with %s", got)
	}
	second := openWindow(t, home)
	for _, body := range []string{modern("2", "subscriptions/listen", watchFired), modern("3", "resources/read", `"uri":"candela://alerts/fired"`)} {
		if got := say(second, body); !strings.Contains(got, `"code":-32603`) || !strings.Contains(got, "trading_elsewhere") {
			t.Errorf("the second window answers %s", got)
		}
	}
	probe.close()
	second.close()
	first.close()
}

// TestModern_OlderClientsSeeNothingOfIt compares the answers of the program with those of one that serves the older revision alone.
func TestModern_OlderClientsSeeNothingOfIt(t *testing.T) {
	t.Parallel()
	lines := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
		listTools,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_indicators","arguments":{"brief":true}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"generate_chart","arguments":{"symbol":"BTC","interval":"7h"}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"buy","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"resources/list"}`,
		`{"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"taskId":"run-1"}}`,
		`[{"jsonrpc":"2.0","id":9,"method":"ping"},{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"get_balance"}}]`,
	}, "\n")
	for _, flags := range [][]string{{}, {"--toolsets=all", "--structured-content"}, {"--trade"}} {
		both, older := overStdio(t, lines, flags...), overStdio(t, lines, append(flags, "--mcp-revision=2025-03-26")...)
		for i := range older {
			if both[i] != older[i] {
				t.Errorf("%v: %s\nbecame %s", flags, older[i], both[i])
			}
		}
		if !strings.Contains(both[0], `"protocolVersion":"2025-03-26"`) {
			t.Errorf("initialize answers %s", both[0])
		}
	}
}

// TestModern_NotBesideAChannel holds that a program with a channel, which is announced in the handshake, sends clients there.
func TestModern_NotBesideAChannel(t *testing.T) {
	t.Parallel()
	discover := modern("1", "server/discover", "")
	if got := overStdio(t, discover, "--trade", "--claude-channel")[0]; !strings.Contains(got, "this server speaks 2025-03-26 and begins with initialize") {
		t.Errorf("with a channel it answers %s", got)
	}
	if got := overStdio(t, discover, "--trade")[0]; !strings.Contains(got, `"supportedVersions":["2026-07-28","2025-03-26"]`) {
		t.Errorf("without one it answers %s", got)
	}
}
