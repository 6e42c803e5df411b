package people

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owners"
	"candela/internal/access/upstream"
	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store/ledger"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/oidc"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/porttest"
)

// hosted is a server for many people that runs in the test.
type hosted struct {
	*testing.T
	home, url string
	scene     *oauthtest.Scene
	idp       *oidc.Server
}

// person returns the subject of a person at the provider.
func person(i int) string { return fmt.Sprintf("person%05d", i) }

func (h *hosted) id(i int) principal.Owner { return upstream.OwnerID(h.idp.Issuer(), person(i)) }

// host makes records of people by script, and starts a server for them.
func host(t *testing.T, people int, flags ...string) *hosted {
	t.Helper()
	dir, err := os.MkdirTemp("", "h") //nolint:usetesting // t.TempDir has the test's name in it, which is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &hosted{T: t, home: filepath.Join(dir, "home"), idp: oidc.New(t)}
	h.records(people)
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	secret, port := filepath.Join(dir, "secret"), porttest.Free(t)
	for path, text := range map[string]string{secret: oidc.Secret + "\n", filepath.Join(h.home, "plans.toml"): "[pro]\nalerts = 2000\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := app.LoadConfig(config.Input{Args: append([]string{
		"--serve", "--trade", "--port", port, "--home", h.home, "--binance-url", venue.URL, "--trusted-proxies", "127.0.0.1", "--owners", "oidc",
		"--oidc-issuer", h.idp.Issuer(), "--oidc-client-id", oidc.ClientID, "--oidc-client-secret-file", secret, "--oidc-allow", "anyone",
	}, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://127.0.0.1:" + port
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port})
	h.scene = &oauthtest.Scene{TB: t, Handler: proxy, Log: &oauthtest.Log{}}
	h.run(cfg)
	return h
}

// run starts the program and waits until it answers.
func (h *hosted) run(cfg *config.Config) {
	h.Helper()
	ctx, stop := context.WithCancel(h.Context())
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx, cfg, app.Deps{Version: "v1", Stderr: h.scene.Log, Services: app.Wired()}) }()
	h.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			h.Error(err)
		}
	})
	for {
		answer, err := http.Get(h.url + "/") //nolint:noctx // until the test ends
		if err == nil {
			_ = answer.Body.Close()
			return
		}
		select {
		case err := <-done:
			done <- nil
			h.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// records makes records of people, as if each had signed in once.
func (h *hosted) records(people int) {
	h.Helper()
	if err := os.MkdirAll(h.home, 0o700); err != nil {
		h.Fatal(err)
	}
	store, err := ledger.Open(h.Context(), h.home, time.Now)
	if err != nil {
		h.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range 64 { // they share commits
		all.Go(func() {
			for i := w; i < people; i += 64 {
				o := owners.Owner{ID: h.id(i), Issuer: h.idp.Issuer(), Subject: person(i), Email: person(i) + "@example.com", Name: "Person " + person(i)}
				if _, err := store.SeeOwner(h.Context(), o); err != nil {
					h.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := store.Close(); err != nil {
		h.Fatal(err)
	}
}

// signIn lets a person approve a client, from an address of the person's own, and returns its token.
func (h *hosted) signIn(c oauthtest.Client, i int) string {
	own := *h.scene
	own.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:4000", i>>16, i>>8&255, i&255)
		h.scene.Handler.ServeHTTP(w, r)
	})
	b := own.Browser()
	b.Person = person(i)
	page := b.SignIn(oauthtest.Query(c))
	code := b.Decide(page, "passphrase", "").Location(h).Query().Get("code")
	return own.Redeem(oauthtest.TokenForm(c, code)).Text(h, "access_token")
}

// call calls a tool and returns the status and the text of the answer.
func (h *hosted) call(token, tool, args string) (int, string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// command runs candela owners with words and flags.
func (h *hosted) command(args ...string) (string, error) {
	var out bytes.Buffer
	err := Owners()(h.Context(), cli.Call{Args: append(args, "--home", h.home), Deps: app.Deps{Stdout: &out, Stderr: io.Discard, Stdin: strings.NewReader("")}})
	return out.String(), err
}

// standings returns the state and the plan of everybody.
func (h *hosted) standings() map[principal.Owner]string {
	h.Helper()
	all := map[principal.Owner]string{}
	for after := principal.Owner(""); ; {
		page, err := control.ListOwners(h.Context(), h.home, after, "", "")
		if err != nil {
			h.Fatal(err)
		}
		for _, o := range page.Owners {
			all[o.ID], after = string(o.State)+" "+o.Plan, o.ID
		}
		if !page.More {
			return all
		}
	}
}

// listed writes the ids of people to a file.
func (h *hosted) listed(from, to int) string {
	h.Helper()
	var text strings.Builder
	text.WriteString("# people of a test\n\n")
	for i := from; i < to; i++ {
		fmt.Fprintln(&text, h.id(i), "#", i)
	}
	path := filepath.Join(h.TempDir(), "ids")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

// callers call without a pause until they are stopped, and report every answer that is not what it should be.
type callers struct {
	*hosted
	stop         chan struct{}
	done         sync.WaitGroup
	calls, wrong atomic.Int64

	mu      sync.Mutex
	longest time.Duration
}

// call lists the alerts of a person and compares them with what the person has.
func (c *callers) begin(token, mine string) {
	c.done.Go(func() {
		for {
			select {
			case <-c.stop:
				return
			default:
			}
			began := time.Now()
			status, text := c.call(token, "list_alerts", "{}")
			took := time.Since(began)
			c.mu.Lock()
			c.longest = max(c.longest, took)
			c.mu.Unlock()
			c.calls.Add(1)
			if status == http.StatusTooManyRequests {
				continue // of a plan, which says so
			}
			if status != http.StatusOK || strings.Count(text, `\"note\"`)+strings.Count(text, `"note"`) == 0 || !strings.Contains(text, mine) {
				if c.wrong.Add(1) < 5 {
					c.Errorf("%s: %d %.300s", mine, status, text)
				}
			}
		}
	})
}

// TestOwners_ChangesManyWhileCallsRun makes people by script, signs some of them in, and suspends a hundredth of all, erases as many and
// puts as many on another plan, in one command each, while others call. Nobody else is touched and every answer is right. The long form has
// 10,000 people, and a hundred are changed by each command.
func TestOwners_ChangesManyWhileCallsRun(t *testing.T) {
	t.Parallel()
	people, each, signed := longtest.Pick(300, 10_000), longtest.Pick(6, 100), longtest.Pick(2, 10)
	h := host(t, people)
	client := h.scene.Known()
	before := h.standings()
	if len(before) != people {
		t.Fatalf("%d records", len(before))
	}
	tokens := map[int]string{}
	enter := func(from, n int) { // and has an alert
		for i := from; i < from+n; i++ {
			tokens[i] = h.signIn(client, i)
			if status, text := h.call(tokens[i], "set_alert", fmt.Sprintf(`{"symbol":"BTCUSDT","condition":{"price_above":99999999},"note":"of %s"}`, person(i))); status != http.StatusOK || !strings.Contains(text, "alert_id") {
				t.Fatalf("%d %s", status, text)
			}
		}
	}
	for block := range 4 { // to be suspended, erased, moved, and left alone
		enter(block*each, signed)
	}
	c := &callers{hosted: h, stop: make(chan struct{})}
	for i := 2 * each; i < 4*each+signed; i++ {
		if token := tokens[i]; token != "" {
			c.begin(token, "of "+person(i))
		}
	}
	run := func(args ...string) {
		t.Helper()
		began, calls := time.Now(), c.calls.Load()
		out, err := h.command(args...)
		if lines := strings.Count(out, "\n"); err != nil || lines != each {
			t.Errorf("%v: %d lines, %v, %.300s", args, lines, err, out)
		}
		t.Logf("%s of %d among %d: %v, and %d calls meanwhile", args[0], each, people, time.Since(began).Round(time.Millisecond), c.calls.Load()-calls)
	}
	run("suspend", "--file", h.listed(0, each))
	run("suspend", "--file", h.listed(each, 2*each)) // an erasure is of suspended people
	run("erase", "--file", h.listed(each, 2*each), "--yes")
	run("plan", "pro", "--file", h.listed(2*each, 3*each))
	close(c.stop)
	c.done.Wait()
	t.Logf("%d calls, the longest took %v", c.calls.Load(), c.longest.Round(time.Millisecond))
	if c.wrong.Load() > 0 || c.calls.Load() == 0 {
		t.Errorf("%d of %d answers were wrong", c.wrong.Load(), c.calls.Load())
	}
	for i := range 2 * each {
		if token := tokens[i]; token != "" {
			if status, _ := h.call(token, "list_alerts", "{}"); status != http.StatusUnauthorized {
				t.Errorf("%s still calls: %d", person(i), status)
			}
		}
	}
	after := h.standings()
	for i := range people {
		want := before[h.id(i)]
		switch i / each {
		case 0:
			want = "suspended "
		case 1:
			want = "erased "
		case 2:
			want = "active pro"
		}
		if got := after[h.id(i)]; got != want {
			t.Errorf("%s is %q, want %q", person(i), got, want)
		}
	}
	h.saysWho(each)
}

// saysWho checks that the audit log names who made each change.
func (h *hosted) saysWho(each int) {
	h.Helper()
	counts := map[string]int{}
	log, err := ledger.OpenAudit(h.Context(), h.home)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	events, err := log.Recent(h.Context(), 1_000_000)
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range events {
		if bytes.Contains(e.Body, []byte(`"by":"candela owners`)) {
			counts[e.Kind]++
		}
	}
	if counts["owner_suspended"] != 2*each || counts["owner_erased"] != each || counts["owner_plan_set"] != each {
		h.Errorf("events that say who: %v", counts)
	}
}

// TestOwners_ChooseByStateAndPlan chooses people by state and plan. Without --yes such a command says whom it would touch; wrong words
// change nothing.
func TestOwners_ChooseByStateAndPlan(t *testing.T) {
	t.Parallel()
	h := host(t, 30)
	must := func(want int, args ...string) string {
		t.Helper()
		out, err := h.command(args...)
		if got := strings.Count(out, "\n"); err != nil || got != want {
			t.Errorf("%v: %d lines, want %d: %v\n%s", args, got, want, err, out)
		}
		return out
	}
	some := []string{string(h.id(1)), string(h.id(2)), string(h.id(3))}
	must(3, "plan", some[0], some[1], some[2], "pro")
	must(27+1, "list", "--plan", "default") // and the heading
	must(3+1, "list", "--plan", "pro")
	if out := must(3+1, "suspend", "--plan", "pro"); !strings.Contains(out, "Add --yes to suspend the 3 owners; nothing was changed.") {
		t.Error(out)
	}
	must(1, "list", "--state", "suspended")
	must(3, "suspend", "--plan", "pro", "--yes")
	must(3+1, "list", "--state", "suspended", "--plan", "pro")
	folder := filepath.Join(t.TempDir(), "exports")
	must(3, "export", "--state", "suspended", "--to", folder)
	if files, err := os.ReadDir(folder); err != nil || len(files) != 3 {
		t.Errorf("%d folders, %v", len(files), err)
	}
	out, err := h.command("erase", some[0], string(h.id(9)), "nobody", "--yes")
	if strings.Count(out, "\n") != 1 || err == nil || !strings.Contains(err.Error(), "Suspend the owner first") || !strings.Contains(err.Error(), `No owner "nobody"`) || !strings.Contains(err.Error(), "1 of 3 were done") {
		t.Errorf("%s, %v", out, err)
	}
	must(2, "resume", "--state", "suspended", "--yes", "--json")
	before := h.standings()
	for name, args := range map[string][]string{
		"an unknown state":   {"suspend", "--state", "asleep", "--yes"},
		"ids and a filter":   {"suspend", some[1], "--plan", "pro", "--yes"},
		"nobody":             {"suspend", "--yes"},
		"an unknown plan":    {"plan", some[1], "gold"},
		"no plan":            {"plan"},
		"an empty file":      {"suspend", "--file", "-"},
		"a file of others":   {"suspend", "--file", filepath.Join(folder, some[1], "owners.jsonl")},
		"a file that is not": {"suspend", "--file", filepath.Join(folder, "no")},
	} {
		if out, err := h.command(args...); err == nil || out != "" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if after := h.standings(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a wrong command changed somebody")
	}
}
