package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/config"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/lib/fault"
)

const webhookSecret = "a-secret-of-the-webhook"

// piped is a client on the other end of a pair of pipes.
type piped struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
	log  bytes.Buffer // read it after close
}

// openConsole runs the program as a client over stdio starts it.
func openConsole(t *testing.T, args ...string) *piped {
	t.Helper()
	cfg, err := LoadConfig(config.Input{Args: append([]string{"--mcp", "--trade", "--shutdown-timeout", "5m"}, args...), Environ: []string{"CANDELA_WEBHOOK_SECRET=" + webhookSecret}})
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	c := &piped{t: t, in: in, out: bufio.NewScanner(out), done: make(chan error, 1)}
	deps := Deps{Version: "test", Stdin: stdin, Stdout: stdout, Stderr: &c.log, Services: Wired()}
	go func() {
		err := Run(context.WithoutCancel(t.Context()), cfg, deps)
		c.done <- err
		_ = stdin.CloseWithError(fmt.Errorf("the program has ended: %w", cmp.Or(err, io.EOF))) // else who writes to it would wait for ever
		_ = stdout.Close()
	}()
	if err := c.initialize(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *piped) initialize() error {
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`+"\n"); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if !c.out.Scan() {
		return fmt.Errorf("initialize: the program ended, or %w", cmp.Or(c.out.Err(), io.EOF))
	}
	return nil
}

// call sends one request and returns the line that answers it.
func (c *piped) call(name, arguments string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+"}}\n"); err != nil {
		c.t.Fatal(err)
	}
	if !c.out.Scan() {
		c.t.Fatalf("no answer to %s: %v", name, c.out.Err())
	}
	return unquoted(c.out.Text())
}

// close ends the session and returns the log.
func (c *piped) close() string {
	c.t.Helper()
	_ = c.in.Close()
	if err := <-c.done; err != nil {
		c.t.Fatal(err)
	}
	return c.log.String()
}

type delivery struct {
	header http.Header
	body   string
}

// TestSinks_HearOfAnAlert lets one alert fire, takes it through the webhook and by
// polling, and starts again, while the receiver is down at first.
func TestSinks_HearOfAnAlert(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{}))
	defer venue.Close()
	var down atomic.Bool
	arrived := make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		arrived <- delivery{r.Header, string(body)}
	}))
	defer receiver.Close()
	flags := []string{"--home", filepath.Join(t.TempDir(), "home"), "--binance-url", venue.URL, "--webhook-url", receiver.URL + "/hunter2", "--log-level=debug"}

	c := openConsole(t, flags...)
	c.call("set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"first"}`)
	polled := c.call("get_notifications", `{"wait_seconds":200}`)
	first := <-arrived
	if !strings.Contains(polled, `"text":"[`+first.body+`]"`) || !strings.Contains(first.body, `"note":"first"`) {
		t.Errorf("polling gave %s, the webhook %s", polled, first.body)
	}
	mac := hmac.New(sha256.New, []byte(webhookSecret))
	mac.Write([]byte(first.header.Get("Candela-Timestamp") + "." + first.body))
	if want := "v1=" + hex.EncodeToString(mac.Sum(nil)); first.header.Get("Candela-Signature") != want || first.header.Get("Candela-Seq") != "1" {
		t.Errorf("headers %v", first.header)
	}
	down.Store(true)
	c.call("set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"second"}`)
	c.call("get_notifications", `{"wait_seconds":200}`)
	log := c.close()
	down.Store(false)

	c = openConsole(t, flags...)
	second := <-arrived
	if second.header.Get("Candela-Seq") != "2" || !strings.Contains(second.body, `"note":"second"`) {
		t.Errorf("after the restart came %+v", second)
	}
	log += c.close()
	if len(arrived) > 0 {
		t.Errorf("and then %+v", <-arrived)
	}
	if strings.Contains(log, webhookSecret) || strings.Contains(log, "hunter2") {
		t.Errorf("a secret is in the log:\n%s", log)
	}
}

func TestTestSinks(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/topic" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer receiver.Close()
	load := func(args ...string) *config.Config {
		cfg, err := LoadConfig(config.Input{
			Args: append(args, "--home", t.TempDir(), "--webhook-url", receiver.URL), Environ: []string{"CANDELA_WEBHOOK_SECRET=" + webhookSecret}, Inspect: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answers, err := TestSinks(ctx, load("--ntfy-url", receiver.URL+"/topic"))
	host := strings.TrimPrefix(receiver.URL, "http://")
	if err != nil || len(answers) != 2 || answers[0] != (SinkAnswer{"webhook", host, true, "200 OK"}) || answers[1] != (SinkAnswer{"ntfy", host, false, "403 Forbidden"}) {
		t.Errorf("%+v, %v", answers, err)
	}
	if _, err := TestSinks(ctx, load("--ntfy-url", "https://192.168.1.5/topic")); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "--ntfy-url: 192.168.1.5 is a private address") {
		t.Errorf("a private address: %v", err)
	}
	if _, err := TestSinks(ctx, configure(t, "--home", t.TempDir())); fault.KindOf(err) != fault.Invalid {
		t.Errorf("nothing to test: %v", err)
	}
}
