package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
)

// startTrading runs the program with --serve --trade for one client with a token.
func startTrading(t *testing.T, home, venue, token string) (url string, stop func()) {
	t.Helper()
	caller := principal.Caller{Subject: "owner", Key: oauth.HashOf(token).Hex(), ClientKey: "the same client", Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
	return startTradingFor(t, home, venue, httpdtest.Tokens{token: caller})
}

// startTradingFor is startTrading for many.
func startTradingFor(t *testing.T, home, venue string, tokens httpdtest.Tokens, flags ...string) (url string, stop func()) {
	t.Helper()
	return startTradingLog(t, nil, home, venue, tokens, flags...)
}

// startTradingLog is startTradingFor with a writer of the log, nil for none.
func startTradingLog(t *testing.T, log io.Writer, home, venue string, tokens httpdtest.Tokens, flags ...string) (url string, stop func()) {
	t.Helper()
	port := porttest.Free(t)
	cfg, err := LoadConfig(config.Input{Args: append([]string{"--serve", "--trade", "--port", port, "--home", home, "--binance-url", venue, "--shutdown-timeout", "5m"}, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	services := Wired()
	services.Serve = ServeMCP(func(rt Runtime) (httpd.Authorizer, error) { return tokens, storeTokens(rt, tokens) })
	ctx, cancel := context.WithCancel(t.Context())
	done := untilReady(ctx, t, cfg, Deps{Version: "test", Stderr: log, Services: services})
	return "http://127.0.0.1:" + port, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// storeTokens stores tokens where replicas look for them before they change something, and ends the
// others of their owners.
func storeTokens(rt Runtime, tokens httpdtest.Tokens) error {
	if rt.node.confirm == nil {
		return nil
	}
	kept, _, err := rt.node.logins()
	if err != nil {
		return err
	}
	for text, caller := range tokens {
		before, listed := kept.Tokens(context.Background(), caller.Subject, time.Now())
		err = errors.Join(err, listed)
		for _, former := range before {
			if _, stays := tokens[former.ID]; !stays {
				err = errors.Join(err, kept.Revoke(context.Background(), caller.Subject, former.ID))
			}
		}
		err = errors.Join(err, kept.PutToken(context.Background(), oauth.Token{
			Hash: oauth.HashOf(text), Key: caller.Key, ID: text, Grant: oauth.Grant{Subject: caller.Subject, Scope: caller.Scope.String()},
			Generation: kept.Seal().Generation(), Issued: time.Now(), Expires: caller.Expires,
		}, time.Now()))
	}
	return err
}

// use calls a tool and returns the text of its answer, which must be no error. It calls again
// while replicas hand over what they own and the answer says that nothing was executed.
func use(t *testing.T, url, token, name, arguments string) string {
	t.Helper()
	return useWhile(t, url, token, name, arguments, "nothing was executed")
}

// useAgain is use of what does no harm twice, for as long as the answer says that the
// same call may succeed later.
func useAgain(t *testing.T, url, token, name, arguments string) string {
	t.Helper()
	return useWhile(t, url, token, name, arguments, `"retryable":true`)
}

// useWhile calls a tool again while its answer is an error that has a text in it.
func useWhile(t *testing.T, url, token, name, arguments, again string) (text string) {
	t.Helper()
	waitFor(t, func() bool {
		var status int
		status, text = ask(t, http.MethodPost, url+"/mcp", token,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments))
		isError := strings.Contains(text, `"isError":true`)
		if status != http.StatusOK || isError && !strings.Contains(text, again) {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		return !isError
	})
	return text
}

// follow opens a stream and returns what reads the next notification from it.
func follow(t *testing.T, url, token string) (next func() string, leave func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/sse", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func() string {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return ""
	}, cancel
}

// TestPush_FromAlertToStreamAndAcrossARestart runs the whole program: an alert
// fires and its notification arrives; away and after a restart, with a new token,
// what fired meanwhile arrives too.
func TestPush_FromAlertToStreamAndAcrossARestart(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	home := filepath.Join(t.TempDir(), "home")
	url, stop := startTrading(t, home, venue.URL, "first")
	next, leave := follow(t, url, "first")
	use(t, url, "first", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1}}`) // nobody has subscribed
	use(t, url, "first", "subscribe_notifications", `{"symbols":["BTCUSDT"],"alert_types":["price_above"]}`)
	use(t, url, "first", "set_alert", `{"symbol":"ETHUSDT","condition":{"price_above":1}}`)
	use(t, url, "first", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_below":99999999}}`)
	use(t, url, "first", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":2.5},"note":"wanted"}`)
	wantNotice(t, next(), `2\.5`, "wanted")
	leave()

	// The stream's end must have arrived before the next alert fires.
	waitFor(t, func() bool {
		return strings.Contains(use(t, url, "first", "list_subscriptions", `{}`), `"connected":false`)
	})
	for _, threshold := range []string{"3", "4", "5"} {
		use(t, url, "first", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":`+threshold+`}}`)
	}
	waitFor(t, func() bool {
		return strings.Contains(use(t, url, "first", "list_subscriptions", `{}`), `"offline_queue_size":3`)
	})
	stop()
	if saved, err := os.ReadFile(filepath.Join(home, "subscriptions.json")); err != nil || strings.Contains(string(saved), "first") {
		t.Fatalf("the file holds the token: %s, %v", saved, err)
	}

	url, stop = startTrading(t, home, venue.URL, "second")
	next, leave = follow(t, url, "second")
	for _, threshold := range []string{"3", "4", "5"} {
		wantNotice(t, next(), threshold, "")
	}
	leave()
	if polled := use(t, url, "second", "get_notifications", `{"wait_seconds":0}`); strings.Count(polled, `"alert_id"`) != 7 {
		t.Errorf("polled %s, want all seven", polled)
	}
	stop()
}

// patience ends a test that hangs. A machine that does much else needs long for what
// takes a moment.
const patience = 3 * time.Minute

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !what(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen within %v", patience)
		}
	}
}

// wantNotice holds a frame against the interface's table of an event.
func wantNotice(t *testing.T, frame, threshold, note string) {
	t.Helper()
	if note != "" {
		note = `,"note":"` + note + `"`
	}
	want := regexp.MustCompile(`^\{"jsonrpc":"2\.0","method":"notifications/alert_triggered","params":\{"alert_id":"[0-9a-f-]{36}","symbol":"BTCUSDT","interval":"",` +
		`"condition":\{"type":"price_above","threshold":` + threshold + `\},"value":[0-9.]+,"triggered_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"` + note + `\}\}$`)
	if !want.MatchString(frame) || !json.Valid([]byte(frame)) {
		t.Fatalf("%s, want %s", frame, want)
	}
}
