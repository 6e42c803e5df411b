package tool_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"candela/internal/alerting/notify"
	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/ta"
)

const toolsHead = `# Tools

The tools as clients see them, with example calls and results over sample bars. With ` + "`--structured-content`" + ` results
are also structured content where this page describes it. The first three tools always work; the others are listed, but need ` + "`--trade`" + `.

A tool that fails returns ` + "`isError: true`" + ` and one JSON object; its [codes](#error-codes) are at the end of this page, and
[errors.md](errors.md) lists mistakes that models make with the messages they get.

## Numbers and signals

- A number has the fewest digits that read back as the same float64. The value of a bar has the same digits in a summary, a series
  and an alert's notification.
- A signal has two bars. ` + "`x`" + ` and ` + "`t`" + ` are the bar it is drawn at; ` + "`confirmed_x`" + ` and ` + "`confirmed_t`" + ` are the bar whose close confirmed it,
  which is later for divergences (two or five bars) and for ` + "`kalman_volume`" + `. Alerts fire at that close. Test a strategy on
  ` + "`confirmed_x`" + `: at ` + "`x`" + ` the signal was not known yet. While ` + "`last_bar_closed`" + ` is false, a signal of the last bar may disappear.
- ` + "`obv`" + ` and ` + "`ad`" + ` are sums from the first bar shown, ` + "`anchored_at`" + `; their level depends on it. In
  scans, alerts and tests of alerts a sum begins earlier, so that it does not depend on what is shown: compare levels only with the same ` + "`anchored_at`" + `.
- ` + "`end`" + ` and ` + "`to`" + ` leave out the bar in which they lie (` + "`cut_bar`" + `): only bars that had closed by then are known.
- ` + "`data_until`" + ` of an indicator is when the last bar closed of another interval or symbol that it reads, if newer ones are missing.
- A series that is too large is cut at its beginning (` + "`truncated`, `bars_omitted`" + `). Results over all requested bars, such as volume
  profiles, then have ` + "`covers_omitted_bars`" + `: request fewer bars to get them for the returned ones.
- ` + "`_meta`" + ` of a chart's image has the head of a summary (symbol, interval, source, provider, as_of, stale, calendar), the number of
  bars, and date and close of the first and the last.

` + "`go test ./internal/serve/tool -update`" + ` writes this page.
`

const toolsetsHead = `
## Tool sets

The tools below are listed only if their set is turned on: ` + "`candela --mcp --toolsets market,account`" + `, or ` + "`all`" + `. Without
` + "`--toolsets`" + ` clients see exactly the tools above.

| Set | Tools |
|---|---|
`

// TestDocs_ToolsPage holds docs/tools.md to the registry.
func TestDocs_ToolsPage(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tooltest.Sets()...)
	var page strings.Builder
	page.WriteString(toolsHead)
	writeOverview(t, &page, registry)
	for _, each := range registry.Tools() {
		if each.Name == "find_symbols" {
			page.WriteString(toolsetsHead)
			for _, s := range tool.Toolsets() {
				fmt.Fprintf(&page, "| `%s` | %s |\n", s.Name, cmp.Or(s.Purpose, "reserved; not available yet"))
			}
		}
		writeTool(t, &page, registry, each)
	}
	page.WriteString(errorCodesHead)
	for _, code := range slices.Sorted(maps.Keys(errorCodes())) {
		fmt.Fprintf(&page, "| `%s` | %s |\n", code, errorCodes()[code])
	}
	golden(t, "../../../docs/tools.md", []byte(page.String()))
}

// writeOverview writes a line for each tool, those of the sets too.
func writeOverview(t *testing.T, page *strings.Builder, registry *tool.Registry) {
	t.Helper()
	page.WriteString("\n| Tool | What it does | Answer | Hint |\n|---|---|---|---|\n")
	for _, each := range registry.Tools() {
		what, _, _ := strings.Cut(each.Description, ". ")
		fmt.Fprintf(page, "| [`%s`](#%s) | %s | %s | %s |\n", each.Name, each.Name,
			strings.TrimSuffix(what, "."), answerSize(t, registry, each.Name), changes(each.Annotations))
	}
}

// TestDocs_Counts holds the numbers that stand in sentences.
func TestDocs_Counts(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tooltest.Sets()...)
	for file, text := range map[string]string{
		"README.md":      fmt.Sprintf("%d indicators", len(ta.All())),
		"docs/README.md": fmt.Sprintf("the %d indicators", len(ta.All())),
		"llms.txt":       fmt.Sprintf("the %d tools", len(registry.Tools())),
	} {
		page, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(page, []byte(text)) {
			t.Errorf("%s does not say %q; write it there", file, text)
		}
	}
}

// TestDocs_FiguresOfAnswers holds what the first page and the skill say of sizes and times: within a third, as "about" means.
func TestDocs_FiguresOfAnswers(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tooltest.Sets()...)
	readme, skill := readPage(t, "../../../README.md"), readPage(t, skillPage)
	for _, c := range []struct {
		page, says      string
		tool, arguments string
		kilobytes       int
	}{
		{readme, "a picture of about 100 KB", "generate_chart", `{"symbol":"BTCUSDT","format":"png"}`, 100},
		{readme, "a summary of about 6 KB", "generate_chart", `{"symbol":"BTCUSDT","format":"summary"}`, 6},
		{skill, "`brief` first (3 KB)", "list_indicators", `{"brief":true}`, 3},
	} {
		answer := call(t, registry, c.tool, c.arguments)
		size := len(answer.Content[0].Text)
		if image := answer.Content[0].Image; image != nil {
			size = base64.StdEncoding.EncodedLen(len(image)) // as it travels
		}
		if about := c.kilobytes << 10; !strings.Contains(c.page, c.says) || size < about*2/3 || size > about*4/3 {
			t.Errorf("%s %s has %d bytes, and a page should say so where it says %q", c.tool, c.arguments, size, c.says)
		}
	}
	if days := fmt.Sprintf("The queue keeps a firing for %d days", int(notify.PollTTL.Hours()/24)); !strings.Contains(skill, days) {
		t.Errorf("the skill does not say %q", days)
	}
}

func changes(a mcp.Annotations) string {
	switch {
	case a.ReadOnly:
		return "read-only"
	case a.Destructive && a.OpenWorld:
		return "**destructive**, reaches the venue"
	case a.Destructive:
		return "destructive"
	}
	return "writes"
}

// answerSize is how much a client gets, measured: a picture in base64, as it travels.
func answerSize(t *testing.T, registry *tool.Registry, name string) string {
	t.Helper()
	size := func(arguments string) string {
		n := 0
		for _, c := range call(t, registry, name, arguments).Content {
			n += len(c.Text) + base64.StdEncoding.EncodedLen(len(c.Image))
		}
		if n < 10_000 {
			return fmt.Sprintf("%.1f KB", max(0.1, float64(n)/1000))
		}
		return fmt.Sprintf("%d KB", (n+500)/1000)
	}
	if name == "generate_chart" {
		return size(`{"symbol":"BTCUSDT"}`) + " as a picture, " + size(`{"symbol":"BTCUSDT","format":"summary"}`) + " as a summary"
	}
	return size(docCall(name))
}

// docCall is the example call of a tool.
func docCall(name string) string {
	switch name {
	case "generate_chart":
		return `{"symbol":"BTCUSDT","interval":"1h","indicators":["rsi"],"bars":60,"format":"summary"}`
	case "get_indicators":
		return `{"symbol":"BTCUSDT","interval":"4h","indicators":["rsi",{"name":"ema_stack"}]}`
	case "place_order":
		return `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":0.1,"price":70000,"idempotency_key":"first"}`
	case "set_alert":
		return `{"symbol":"BTCUSDT","condition":{"price_above":70000},"note":"breakout"}`
	case "cancel_order", "cancel_alert":
		return good()[name][0]
	case "find_symbols":
		return `{"query":"bitcoin","limit":3}`
	case "set_drawing":
		return `{"symbol":"BTCUSDT","type":"box","time":"2026-01-01","price":60000,"time2":"2026-01-02","price2":61000,"text":"range","drawing_id":"d-1"}`
	case "delete_drawing":
		return `{"symbol":"BTCUSDT","drawing_id":"d-2"}`
	case "get_notifications":
		return `{"wait_seconds":50}`
	case "subscribe_notifications":
		return `{"symbols":["BTCUSDT"],"alert_types":["price_above"]}`
	}
	return `{}`
}

func writeTool(t *testing.T, page *strings.Builder, registry *tool.Registry, each mcp.Tool) {
	t.Helper()
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n", each.Name, each.Description)
	hint := map[bool]string{true: "yes", false: "no"}
	a := each.Annotations
	fmt.Fprintf(page, "Read-only: %s. Destructive: %s. The same call twice is as once: %s. Reaches other services: %s.\n",
		hint[a.ReadOnly], hint[a.Destructive], hint[a.Idempotent], hint[a.OpenWorld])
	if input := parseSchema(t, each.InputSchema); len(input.properties) > 0 {
		page.WriteString("\n| Argument | Type | |\n|---|---|---|\n")
		writeProperties(page, "", input)
	}
	if each.OutputSchema != nil {
		if output := parseSchema(t, each.OutputSchema); len(output.properties) > 0 {
			page.WriteString("\n| In the answer | Type | |\n|---|---|---|\n")
			writeProperties(page, "", output)
		}
	}
	result := call(t, registry, each.Name, docCall(each.Name))
	text := string(result.Content[len(result.Content)-1].Text)
	if len(text) > 1200 {
		text = text[:1200] + "..."
	}
	fmt.Fprintf(page, "\n```json\n%s\n%s\n```\n", docCall(each.Name), text)
	if each.Name == "generate_chart" {
		page.WriteString(chartNotes)
	}
}

// chartNotes explains the arguments of generate_chart whose descriptions are short because
// every client reads them in every conversation.
const chartNotes = `
### Comparisons

` + "`compare`" + ` draws up to four other symbols as lines, each from the close of the chart's own symbol at its first value on, so that
the axis of the price is also one of percent. The value of a bar is the change of the last close known when the bar closed, since
the first: symbols with other trading hours can be compared, and a symbol that was listed later starts later. Legend and axis
show the change of each symbol. JSON results have ` + "`compare`" + ` with ` + "`change_pct`, `since`" + ` and, in a series, the
` + "`values`" + ` of all bars. If one symbol cannot be read, the call fails and names it.

### Drawings

| Type | Keys | Drawn |
|---|---|---|
| ` + "`level`" + ` | price | a line across the chart, with its price on the axis |
| ` + "`line`" + ` | time, price, time2, price2 | from one point to the other |
| ` + "`ray`" + ` | time, price, time2, price2 | from the first point through the second to the right edge; time2 is later than time |
| ` + "`box`" + ` | time, price, time2, price2 | with the points as opposite corners |
| ` + "`fib`" + ` | time, price, time2, price2 | the levels 0, 0.236, 0.382, 0.5, 0.618, 0.786 and 1 of the move from price to price2; 0 is its end, as on trading platforms |
| ` + "`text`" + ` | time, price, text | a dot and the text |

Every other type may have a ` + "`text`" + ` of up to 80 characters as its label. Times are those of ` + "`start`" + `; a time belongs to the bar
that holds it, or to the last one before it if the market was closed. Outside the bars, ` + "`x`" + ` counts those that the calendar
has, so that a line keeps its slope; up to 30 bars after the last one are in the picture if a line, box or text needs them. With
sample data, which has no dates, a time is the number of a bar such as ` + "`#12`" + `.

A point widens the range of prices if it is at most the height of that range away. A drawing of which no part is in the picture is
counted in the header; JSON results return all drawings with ` + "`x`, `t`, `y`, `x2`, `t2`, `y2`, `text`, `levels`" + ` as far as they have
them, and with ` + "`shown`" + `.

` + "```json" + `
{"symbol":"BTCUSDT","compare":["ETHUSDT"],"drawings":[{"type":"level","price":70000,"text":"Target"},{"type":"fib","time":"2025-01-06","price":62000,"time2":"2025-01-10","price2":69500}]}
` + "```" + `
`

// node is the part of a JSON Schema that the page shows, with its properties in
// order.
type node struct {
	kind, doc  string
	required   []string
	properties []property
}

type property struct {
	name string
	node node
}

func parseSchema(t *testing.T, raw json.RawMessage) node {
	t.Helper()
	var s struct {
		Type                 string            `json:"type"`
		Description          string            `json:"description"`
		Enum                 []string          `json:"enum"`
		Minimum              json.Number       `json:"minimum"`
		Maximum              json.Number       `json:"maximum"`
		Above                json.Number       `json:"exclusiveMinimum"`
		Default              json.RawMessage   `json:"default"`
		Format               string            `json:"format"`
		Items                json.RawMessage   `json:"items"`
		AnyOf                []json.RawMessage `json:"anyOf"`
		Properties           json.RawMessage   `json:"properties"`
		Required             []string          `json:"required"`
		AdditionalProperties json.RawMessage   `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	n := node{kind: s.Type, doc: s.Description, required: s.Required}
	if s.Format != "" {
		n.kind += ", " + s.Format
	}
	switch {
	case len(s.Enum) > 0:
		n.kind = strings.Join(s.Enum, ", ")
	case s.Above != "":
		n.kind += " above " + s.Above.String()
	case s.Minimum != "" && s.Maximum != "":
		n.kind += " from " + s.Minimum.String() + " to " + s.Maximum.String()
	}
	var kinds []string
	for _, each := range s.AnyOf {
		one := parseSchema(t, each)
		kinds = append(kinds, one.kind)
	}
	if len(kinds) > 0 {
		n.kind = strings.Join(slices.Compact(kinds), " or ")
	}
	if s.Default != nil {
		n.kind += ", default `" + string(s.Default) + "`"
	}
	if s.Properties != nil {
		n.properties = ordered(t, s.Properties)
	}
	// The parts of a list, and of an object under names that are not known before.
	for _, inner := range []json.RawMessage{s.Items, s.AdditionalProperties} {
		if len(inner) == 0 || inner[0] != '{' {
			continue
		}
		item := parseSchema(t, inner)
		if s.Items != nil {
			n.kind = strings.TrimSuffix("list of "+item.kind, " of ")
		}
		n.properties, n.required = item.properties, item.required
	}
	return n
}

// ordered reads the members of an object in the order they are written.
func ordered(t *testing.T, raw json.RawMessage) []property {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var all []property
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		all = append(all, property{fmt.Sprint(name), parseSchema(t, value)})
	}
	return all
}

func writeProperties(page *strings.Builder, prefix string, n node) {
	for _, p := range n.properties {
		name := prefix + p.name
		mark := ""
		if !slices.Contains(n.required, p.name) {
			mark = ", optional"
		}
		fmt.Fprintf(page, "| `%s` | %s%s | %s |\n", name, p.node.kind, mark, strings.ReplaceAll(p.node.doc, "|", `\|`))
		writeProperties(page, name+".", p.node)
	}
}

const errorCodesHead = `
## Error codes

If ` + "`retryable`" + ` is true, the same call may succeed later, after ` + "`retry_after_s`" + ` seconds if given.

| Code | Meaning and remedy |
|---|---|
`

// errorCodes returns advice for each code.
func errorCodes() map[string]string {
	return map[string]string{
		"ambiguous_symbol":       "The symbol alone means one thing to most people and is the ticker of another, such as BTC. Name the pair or the venue; `suggestions` lists both.",
		"answer_too_large":       "The answer would have more than 8 MiB. The message says what to ask for instead.",
		"alert_broken":           "The alert cannot be evaluated by this version of candela, so it cannot be resumed; cancel_alert removes it.",
		"alert_not_set_aside":    "No alert with that id is set aside, so none can be resumed. list_alerts shows those that are.",
		"alert_exists":           "An alert with that id exists; list_alerts shows it.",
		"alert_not_found":        "No active alert has that id: it fired, expired, was cancelled or never existed. list_alerts lists the active ones.",
		"address_refused":        "Something before the venue blocks requests from this machine's address. Retry later; the operator checks the network.",
		"bad_file":               "A CSV file has a line that cannot be parsed; the message names it. The operator corrects the file.",
		"bad_folder":             "The folder of CSV files cannot be read. The operator checks `--csv-dir`.",
		"busy":                   "Too many orders are in flight. Retry.",
		"clock_skew":             "This machine's clock and the venue's differ, so the venue did not take the request. The difference was measured again; retry. The operator sets the clock.",
		"insufficient_balance":   "The account at the venue has too little for the order. get_positions shows what is there; ask for less.",
		"protection_not_native":  "The venue does not take this kind of order in this symbol. Use one that the message names, or `held_stops` of the policy.",
		"venue_filter":           "The order breaks a rule of the symbol at the venue; the message says which. Change `field` to what is allowed.",
		"venue_keys_refused":     "The venue does not accept the key, its signature, the address or the permission to trade. The operator checks the key at the venue.",
		"cancel_failed":          "The venue did not confirm the cancel. get_orders shows the order's state.",
		"evidence_unavailable":   "A claim in `because`, or a condition of the owner for entries, could not be judged at the moment: the venue is silent, or the bar that has just closed has not arrived. Nothing was sent; repeat the call.",
		"cancelled":              "The call was cancelled before it finished. An order may have been sent: check get_orders.",
		"order_closed":           "The order is filled, rejected or denied, so it cannot be cancelled. get_orders with filter open lists orders that can.",
		"script_failed":          "The script of the alert fails on the present bars; the message has its error. Nothing was stored.",
		"script_memory":          "The scripts of this owner, or all scripts of the server, hold as much memory as they may. Ask for fewer scripts at a time, cancel an alert on a script, or retry later.",
		"too_late":               "The order was not sent within ten seconds of the call, or the process was suspended until a moment ago. Nothing was done: check the price and retry with the same key.",
		"deployment_order":       "The order belongs to a deployment of a strategy, which alone changes it, or a deployment wants to change one that is not its own. Nothing was done; the message says how the deployment is stopped.",
		"external_order":         "The order was placed outside candela. Cancel it on the venue's own page.",
		"halt_file":              "The owner halted trading with a file. Only the owner can remove it.",
		"halt_not_kept":          "The halt is in force but could not be saved. The owner checks the disk.",
		"idempotency_key_used":   "The key belongs to another order. Repeat that order exactly, or use another key.",
		"restored_without_stop":  "The order of this key was filled before a backup was restored, and what it bought has no stop now. Nothing was sent again. Protect it with reduce_only and stop_loss, under a new key.",
		"invalid_token":          "The login of this client has ended. Sign in again.",
		"insufficient_scope":     "The token of this client does not allow the tool; the message names the scope that it needs. Nothing was done. The owner revokes the client and approves it again with more access.",
		"internal":               "A defect. The log has the reason under the request id; report it.",
		"invalid_argument":       "`field`, `value` and `allowed` describe the mistake, `suggestions` lists near values.",
		"keys_refused":           "The venue rejects the operator's keys.",
		"made_up_bars":           "A source returned sample bars for a real symbol; they were discarded. Report it.",
		"missing_argument":       "`field` is required.",
		"no_bars":                "The source has no bars of this symbol and interval for that time.",
		"no_keys":                "The venue needs keys, and the operator has configured none.",
		"no_signals":             "The indicator has no signals; list_indicators shows which ones do.",
		"venue_off":              "The venue's data may not be shown to others, and the operator of a server for many has named no licence for it.",
		"plan_limit":             "The owner's plan has no more of it for now; the error names the plan, the limit and when to try again.",
		"no_source":              "No configured source can have the symbol.",
		"no_subscription":        "The venue's data needs a subscription that the operator's account lacks.",
		"not_compared":           "The account is being reconciled with the venue, as after every start. Nothing was done: retry with the same key.",
		"not_live":               "The source has no live prices, so the alert could never fire.",
		"leg_of_pair":            "The order is a leg of an entry that is open, and the venue cancels all of it at once. Nothing was cancelled: cancel the entry, or replace it with all its prices.",
		"last_stop":              "The order is the last stop of a position, and the policy has `require_stop`. Nothing was cancelled: move the stop with `replaces`, or close the position with `reduce_only`.",
		"not_a_file":             "A stored script is a symbolic link and is not read. The owner puts the script itself there.",
		"not_sent":               "The order was recorded but not sent. Place it again with a new key.",
		"not_supported":          "The server does not support this; the message names an alternative.",
		"not_your_deployment":    "Only a deployment of a strategy itself places its orders. Nothing was sent.",
		"not_your_account":       "The trading account belongs to another owner.",
		"order_denied":           "The owner's policy denied the order, and nothing was sent: `rule`, `limit` and `value` give the reason. See [errors.md](errors.md#orders-that-are-refused).",
		"order_event_refused":    "The order's state does not allow this; get_orders shows it.",
		"order_exists":           "An order with that id exists.",
		"no_receipt":             "The order has no receipt: the key is missing, or the order is too old or has too many events. docs/receipts.md has the reasons.",
		"order_not_found":        "No order has that id; get_orders lists the orders.",
		"order_rejected":         "The venue rejected the order; the message quotes it.",
		"clocks_differ":          "The clocks of two replicas differ, or the call was delayed by half a minute; nothing was done. The owner checks the clocks.",
		"orders_lost":            "The NATS servers lost orders that replicas knew, and trading stopped. The owner checks the account at the venue and restarts the replicas.",
		"outcome_unknown":        "The result of the order is not known yet. Repeat the call with the same `idempotency_key`; without one check get_orders and do not place it again.",
		"range_refused":          "The venue has no bars of this interval that far back. Request fewer bars or a longer interval.",
		"region_refused":         "The venue refuses the server's region; the message names the same symbol at another venue.",
		"strategies_off":         "No strategy runs by itself here, or none at that stage. The owner starts candela with `--strategies`.",
		"strategy_exists":        "A strategy that has not ended has this name, or the same terms. list_deployments shows it; stop_deployment ends it.",
		"strategy_not_found":     "No strategy has that id, and none that has not ended that name. list_deployments shows them.",
		"strategy_state":         "The strategy cannot do this from where it stands; the message says where that is.",
		"too_many_strategies":    "As many strategies run, wait for the owner or are kept as may be; the message says which.",
		"computed_within_bars":   "The script is computed within bars, and a running strategy sees closed bars only. Remove calc_on_order_fills.",
		"other_bars":             "A running strategy sees the closed bars of its own symbol and interval, and this one asks for others. Use those alone.",
		"not_repeatable":         "The strategy repaints, so what it does now could not be computed again. run_backtest names the flag.",
		"needs_short":            "The strategy sells short where nothing is lent. Set `long_only`, or choose a perpetual future such as BTCUSDT.P.",
		"stale_quote":            "The price is too old to fill a paper order. Retry when the market moves.",
		"stopping":               "The server is stopping. Retry in a moment.",
		"store_busy":             "Another process holds the store. Retry.",
		"store_closed":           "The server is stopping.",
		"store_damaged":          "The store is damaged. The owner restores a backup.",
		"scripts_disabled":       "This candela stores no Pine scripts. The operator adds `scripts` to `--toolsets`; a source in the request needs nothing.",
		"store_failed":           "The request could not be saved, so nothing was done. The owner checks the disk.",
		"store_full":             "The disk is full, so nothing was done. The owner frees space.",
		"store_read_only":        "The store is read-only, so nothing was done. The owner checks the disk.",
		"too_few_bars":           "The instrument has too few closed bars of this interval. Choose a shorter one.",
		"too_large":              "The request exceeds what replicas can share at once. Request less.",
		"too_many_alerts":        "The owner has the maximum number of active alerts. Cancel some.",
		"too_many_symbols":       "The owner's alerts are on as many symbols as the plan has. Cancel those on another symbol. Only with many owners.",
		"too_many_indicators":    "The owner's alerts use as many different indicators as they may. Use the same parameters, or cancel some.",
		"too_many_subscriptions": "Too many clients are subscribed. Retry when one has unsubscribed.",
		"trading_disabled":       "The server runs without `--trade`. The owner restarts it with `--trade`.",
		"trading_elsewhere":      "Another candela trades in the same state directory, often one started by another window of the client. Use that one. If `retryable`, it has ended, and this one takes over soon.",
		"trading_not_taken_over": "The candela that traded has ended, and this one cannot take over; the message gives the reason for the owner to fix.",
		"unavailable":            "A venue does not respond. Retry after `retry_after_s`.",
		"unknown_argument":       "The tool has no such argument; `suggestions` lists near names.",
		"pine_invalid":           "A Pine script does not compile; the message has line, column and fix of each error.",
		"pine_kind":              "A Pine library is no indicator. Store it as user/library/number and import it.",
		"pine_runtime":           "A Pine script failed at a bar; the message has the line.",
		"pine_drawings":          "The drawings of a script have more text, points or cells than are shown. Draw less, or delete what is old.",
		"pine_size":              "A Pine script is longer than 256 KiB. Remove what it does not need.",
		"scripts_of_operator":    "Many owners share the stored scripts, and only the operator changes them. Send the source with each request; for an alert ask the operator to store it.",
		"scripts_one_node":       "Several replicas run, and scripts are stored on one node only. Send the source with each request.",
		"too_many_drawings":      "50 drawings stay on the symbol, or 500 on all. Remove one with delete_drawing.",
		"unknown_drawing":        "No drawing of this owner on this symbol has that ID. list_drawings has those there are.",
		"too_many_scripts":       "200 scripts are stored. Remove one with delete_script.",
		"unknown_report":         "No report has that id, or it is over an hour old. Repeat the call that made it.",
		"unknown_script":         "No script has that name; `suggestions` lists near names.",
		"unknown_indicator":      "No indicator has that name; `suggestions` lists near names, list_indicators all.",
		"unknown_order":          "No order has that id; get_orders lists the orders.",
		"unknown_parameter":      "The indicator has no such parameter; `allowed` lists its parameters.",
		"unknown_symbol":         "The venue does not have the symbol; `suggestions` lists near names.",
		"venue_refused":          "The venue refused the request; the message quotes it.",
	}
}
