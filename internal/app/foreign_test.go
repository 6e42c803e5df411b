package app

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/internal/access/oauth/oauthtest"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/oidc"
)

// foreignArgs are the arguments of tools that name something of an owner, with the other arguments
// that a call needs.
func foreignArgs() map[string]string {
	const order = `"symbol":"BTCUSDT","side":"buy","type":"limit","price":1,"quantity":0.001,`
	return map[string]string{
		"cancel_alert.alert_id":       ``,
		"cancel_order.order_id":       ``,
		"test_alert.alert_id":         ``,
		"get_report.report_id":        ``,
		"get_report.cursor":           `"report_id":"0123456789abcdef",`,
		"list_alerts.cursor":          ``,
		"set_drawing.drawing_id":      `"symbol":"BTCUSDT","type":"level","price":1,`,
		"delete_drawing.drawing_id":   `"symbol":"BTCUSDT",`,
		"get_orders.cursor":           ``,
		"get_orders.order_id":         ``,
		"get_positions.cursor":        ``,
		"get_trades.cursor":           ``,
		"place_order.idempotency_key": order,
	}
}

// namesThings finds arguments that name something which was made before.
var namesThings = regexp.MustCompile(`(^|_)(id|ids|key|cursor|token|uri)$`)

// TestOwners_ForeignIDsAnswerLikeUnknownOnes gives everything that names something of ann to every
// argument of every tool that takes such a name, as bob: the answer is, byte for byte, that for
// a name that never was. An argument that is not in the table fails the test.
func TestOwners_ForeignIDsAnswerLikeUnknownOnes(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	s := startMany(t, filepath.Join(t.TempDir(), "home"), venue.URL, []string{"ann", "bob"}, "--toolsets", "all")
	defer s.stop()
	url := s.url
	hers := map[string]string{
		"alert":  part(t, use(t, url, "ann", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999}}`), `"alert_id\\?":\\?"([^"\\]+)`),
		"order":  part(t, use(t, url, "ann", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"idempotency_key":"ann-s-key-1"}`), `"order_id\\?":\\?"([^"\\]+)`),
		"report": part(t, use(t, url, "ann", "test_alert", `{"symbol":"BTCUSDT","interval":"1h","condition":{"indicator_signal":{"indicator":"rsi","signal":"rsi_oversold"}}}`), `"report_id\\?":\\?"([^"\\]+)`),
		"key":    "ann-s-key-1",

		"drawing": part(t, use(t, url, "ann", "set_drawing", `{"symbol":"BTCUSDT","type":"level","price":50000}`), `"drawing_id\\?":\\?"([^"\\]+)`),
	}
	for range 2 {
		use(t, url, "ann", "set_alert", `{"symbol":"ETHUSDT","condition":{"price_above":99999999}}`)
	}
	hers["cursor"] = part(t, use(t, url, "ann", "list_alerts", `{"limit":1}`), `"cursor\\?":\\?"([^"\\]+)`)
	call := func(tool, arguments string) string {
		_, text := ask(t, http.MethodPost, url+"/mcp", "bob", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
		return text
	}
	arguments := thingArguments(t, url, "bob")
	for name, others := range foreignArgs() {
		tool, argument, _ := strings.Cut(name, ".")
		if !slices.Contains(arguments, name) {
			t.Errorf("no tool has the argument %s", name)
			continue
		}
		for what, id := range hers {
			unknown := unlike(id)
			got := call(tool, fmt.Sprintf(`{%s%q:%q}`, others, argument, id))
			want := call(tool, fmt.Sprintf(`{%s%q:%q}`, others, argument, unknown))
			got = strings.ReplaceAll(got, id, unknown)
			if tool == "place_order" { // a new order each time
				got, want = (&ownerPlace{}).rename(got), (&ownerPlace{}).rename(want)
			}
			if got != want {
				t.Errorf("%s with the %s of another answers\n%s\nand with one that never was\n%s", name, what, got, want)
			}
		}
	}
	for _, name := range arguments {
		if _, known := foreignArgs()[name]; !known {
			t.Errorf("%s names something, and is not tried here", name)
		}
	}
	if list := use(t, url, "ann", "list_drawings", `{}`); !strings.Contains(list, hers["drawing"]) {
		t.Errorf("ann has lost a drawing: %s", list)
	}
	if list := use(t, url, "ann", "list_alerts", `{}`); strings.Count(list, `"alert_id\"`)+strings.Count(list, `"alert_id"`) < 3 {
		t.Errorf("ann has lost alerts: %s", list)
	}
}

// part returns the first group of an expression in a text.
func part(t *testing.T, text, expression string) string {
	t.Helper()
	found := regexp.MustCompile(expression).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in %s", expression, text)
	}
	return found[1]
}

// unlike returns another name of the same form, which nobody has.
func unlike(id string) string {
	last := id[len(id)-1]
	other := byte('0')
	if last == other {
		other = '1'
	}
	if last >= 'A' && last <= 'Z' { // a cursor, whose last letter may have unused bits
		other = 'Q'
	}
	return id[:len(id)-1] + string(other)
}

// thingArguments returns the arguments, as tool.argument, that name something.
func thingArguments(t *testing.T, address, token string) (all []string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/mcp", strings.NewReader(listTools))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Result struct {
			Tools []struct {
				Name   string `json:"name"`
				Schema struct {
					Properties map[string]json.RawMessage `json:"properties"`
				} `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	for _, tool := range answer.Result.Tools {
		for name := range tool.Schema.Properties {
			if namesThings.MatchString(name) {
				all = append(all, tool.Name+"."+name)
			}
		}
	}
	return all
}

// TestOwners_ForeignNamesInRequestsAnswerLikeUnknownOnes gives what ann's browser and client have
// to the HTTP routes that take such a name, as bob.
func TestOwners_ForeignNamesInRequestsAnswerLikeUnknownOnes(t *testing.T) {
	t.Parallel()
	idp := oidc.New(t)
	s, address, _ := manyOwners(t, idp, filepath.Join(shortDir(t), "home"))
	client := s.Known()
	ann := s.Browser()
	flow := ann.Open(oauthtest.Query(client)).Location(t).Query().Get("state") // of a sign-in that is under way
	b := s.Browser()
	code := b.Decide(b.SignIn(oauthtest.Query(client)), "passphrase", "").Location(t).Query().Get("code")
	other := s.Known()
	asked := s.Browser()
	form := oauthtest.Form(t, asked.SignIn(oauthtest.Query(client)))
	for name, try := range map[string]struct {
		id   string
		send func(id string) oauthtest.Response
	}{
		"a code, at /token": {code, func(id string) oauthtest.Response { return s.Redeem(oauthtest.TokenForm(other, id)) }},
		"a request for consent, at /consent": {form.Get("request"), func(id string) oauthtest.Response {
			sent := maps.Clone(form)
			sent.Set("request", id)
			return s.Browser().Do(http.MethodPost, "/consent", sent.Encode(), nil)
		}},
		"a sign-in, at /signin/callback": {flow, func(id string) oauthtest.Response {
			return s.Browser().Do(http.MethodGet, "/signin/callback?state="+id+"&code=x&iss="+idp.Issuer(), "", nil)
		}},
	} {
		got, want := try.send(try.id), try.send(unlike(try.id))
		if got.Status != want.Status || strings.ReplaceAll(string(got.Body), try.id, unlike(try.id)) != string(want.Body) {
			t.Errorf("%s of another: %d %s\none that never was: %d %s", name, got.Status, got.Body, want.Status, want.Body)
		}
	}
	for _, path := range []string{"/mcp", "/sse"} {
		var answers []string
		for _, token := range []string{"never-a-token", "0000000000000000000000000000000000000000000"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			answers = append(answers, response.Status+string(body))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s: %q", path, answers)
		}
	}
}
