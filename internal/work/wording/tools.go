package wording

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/ta"
)

// Call is a call of a tool as a client wrote it.
type Call struct {
	Tool      string
	Arguments json.RawMessage // a valid object
	Names     []string        // of the tool's arguments
	Library   ta.Library
	Now       time.Time
}

// Read returns the arguments of a call in the words of its tool, and what was understood.
func Read(asked Call) (json.RawMessage, []string, error) {
	c := read(asked.Arguments)
	c.tool, c.names, c.library, c.now = asked.Tool, asked.Names, asked.Library, asked.Now
	own := wordsOf(asked.Tool)
	c.unwrap()
	c.blanks()
	c.leaveOut(asked.Tool)
	for _, step := range own.first {
		if err := step(c); err != nil {
			return nil, nil, err
		}
	}
	if own.refused == nil {
		own.refused = c.ownerChooses
	}
	if err := c.refuse(own.refused); err != nil {
		return nil, nil, err
	}
	c.spans()
	if err := c.renames(own.words, sharedWords()); err != nil {
		return nil, nil, err
	}
	for _, step := range slices.Concat(own.second, []func(*call) error{(*call).symbols, (*call).intervals, (*call).moments}, own.then, []func(*call) error{(*call).plain}) {
		if err := step(c); err != nil {
			return nil, nil, err
		}
	}
	return c.json(asked.Arguments), c.understood, nil
}

// Say adds what was understood to an answer, which is a JSON object.
func Say(object []byte, understood []string) []byte {
	list, err := strictjson.Marshal(understood)
	if err != nil || len(object) < 2 || object[0] != '{' {
		return object
	}
	out := append([]byte(nil), object[:len(object)-1]...)
	if len(object) > 2 {
		out = append(out, ',')
	}
	return append(append(append(out, `"understood":`...), list...), '}')
}

// words maps names that clients use, without case and separators, to those of a tool. Of several
// with a bar between them the first that the tool has is meant.
type words map[string]string

// dialect is what one tool takes beyond the names of its arguments.
type dialect struct {
	words   words
	first   []func(*call) error              // conversions before words are refused
	refused func(word string) (advice, bool) // words that are not taken
	second  []func(*call) error              // conversions before those that all tools have
	then    []func(*call) error              // conversions of values
}

// sharedWords are those of every tool.
//
//nolint:gochecknoglobals // built once, never written
var sharedWords = sync.OnceValue(func() words {
	return words{
		"ticker": "symbol", "pair": "symbol", "instrument": "symbol", "asset": "symbol", "tickers": "symbols", "pairs": "symbols", "instruments": "symbols", "symbollist": "symbols",
		"timeframe": "interval", "tf": "interval", "resolution": "interval", "granularity": "interval", "barsize": "interval", "candleinterval": "interval", "candlesize": "interval",
		"start": "start|from", "from": "start|from", "since": "start|from", "startdate": "start|from", "starttime": "start|from", "fromdate": "start|from", "begin": "start|from",
		"end": "end|to", "to": "end|to", "until": "end|to", "enddate": "end|to", "endtime": "end|to", "todate": "end|to", "till": "end|to",
		"id": "order_id|alert_id|report_id", "count": "limit|bars", "limit": "limit|bars", "maxresults": "limit", "pagesize": "limit",
		"numbars": "bars", "candles": "bars", "lookback": "bars", "lookbackbars": "bars", "nbars": "bars", "barcount": "bars", "numcandles": "bars", "last": "limit", "numberofbars": "bars", "numberofcandles": "bars", "candlecount": "bars", "candlescount": "bars", "barscount": "bars", "historybars": "bars", "nbrbars": "bars",
		"timeout": "wait_seconds", "wait": "wait_seconds", "timeoutseconds": "wait_seconds", "timeoutsecs": "wait_seconds", "pagetoken": "cursor", "nextcursor": "cursor",
	}
})

// wordsOf returns the dialect of a tool.
func wordsOf(tool string) dialect {
	switch tool {
	case "place_order":
		return orderDialect()
	case "cancel_order":
		return dialect{words: words{"clientorderid": "order_id", "order": "order_id"}, then: []func(*call) error{allOf("order_id"), single("order_id")}}
	case "get_orders":
		return dialect{words: words{"status": "filter", "state": "filter", "clientorderid": "order_id", "order": "order_id"}, then: []func(*call) error{(*call).openOrders}}
	case "get_positions":
		return dialect{then: []func(*call) error{(*call).active}}
	case "list_alerts":
		return dialect{then: []func(*call) error{(*call).active}}
	case "cancel_alert":
		return dialect{words: words{"alert": "alert_id"}, refused: cancelRefused, then: []func(*call) error{allOf("alert_id"), single("alert_id")}}
	case "set_alert":
		return dialect{words: alertWords(), refused: alertRefused, then: []func(*call) error{(*call).oneSymbol, (*call).expiresIn, (*call).cooldownIn, (*call).expiry, (*call).once, (*call).logic, (*call).topCondition, conditionIn("condition")}}
	case "test_alert":
		return dialect{words: words{"trigger": "condition", "rule": "condition"}, then: []func(*call) error{(*call).oneSymbol, (*call).logic, (*call).topCondition, conditionIn("condition")}}
	}
	return chartDialect(tool)
}

// chartDialect returns the dialect of a tool that needs no account.
func chartDialect(tool string) dialect {
	switch tool {
	case "generate_chart":
		return dialect{words: chartWords(), first: []func(*call) error{(*call).drawnAnyway, (*call).pineText, (*call).parts}, refused: scriptRefused, then: []func(*call) error{(*call).oneSymbol, (*call).look, (*call).levels, (*call).drawnAnyway, listIn("indicators"), listIn("compare"), (*call).ofOne, (*call).pricesDrawn, (*call).indicators, (*call).drawings}}
	case "get_indicators":
		return dialect{words: chartWords(), first: []func(*call) error{(*call).pineText, (*call).parts, (*call).namedIndicator}, refused: indicatorsRefused, second: []func(*call) error{listIn("indicators"), (*call).severalIntervals}, then: []func(*call) error{(*call).oneSymbol, (*call).ofOne, (*call).priceAmong, (*call).indicators}}
	case "list_indicators":
		return dialect{words: words{"category": "group", "indicator": "name", "compact": "brief", "namesonly": "brief", "short": "brief", "search": "name", "query": "name", "q": "name", "filter": "name", "keyword": "name", "type": "group", "kind": "group", "detail": "brief"}, then: []func(*call) error{(*call).groups}}
	case "run_backtest":
		return dialect{words: backtestWords(), first: []func(*call) error{(*call).spoken, (*call).rules, (*call).percentFees, (*call).sizeText}, refused: backtestRefused, then: []func(*call) error{(*call).oneSymbol, (*call).storedScript, (*call).ranges, (*call).sides}}
	case "scan_symbols":
		return dialect{words: scanWords(), first: []func(*call) error{(*call).scanForms}, refused: scanRefused, then: []func(*call) error{(*call).spaced, listIn("symbols"), listIn("columns"), (*call).rankAlone, (*call).columns, (*call).logic, conditionIn("condition")}}
	case "find_symbols":
		return dialect{words: words{"q": "query", "search": "query", "name": "query", "symbol": "query", "text": "query", "keyword": "query", "ticker": "query", "quote": "query", "base": "query", "exchange": "venue", "type": "kind", "assetclass": "kind", "assettype": "kind"}}
	case "save_script", "check_script", "delete_script":
		return dialect{words: words{"code": "source", "script": "source|name", "pine": "source", "pinecode": "source", "pinescript": "source", "text": "source", "title": "name", "scriptname": "name", "content": "source", "body": "source"}, then: []func(*call) error{(*call).scriptName, (*call).sourceAlone}}
	case "get_trades":
		return dialect{then: []func(*call) error{(*call).reasons}}
	case "get_report":
		return dialect{words: words{"report": "report_id", "section": "part"}}
	case "subscribe_notifications":
		return dialect{words: words{"symbol": "symbols", "ticker": "symbols", "pair": "symbols", "types": "alert_types", "alerttype": "alert_types", "event": "events", "kinds": "events", "channel": "events", "channels": "events", "type": "events"}, then: []func(*call) error{listIn("symbols"), listIn("alert_types"), listIn("events"), (*call).eventWords}}
	case "get_notifications":
		return dialect{words: words{"kinds": "events", "event": "events", "types": "events", "type": "events", "max": "limit"}, refused: pollRefused, then: []func(*call) error{(*call).milliseconds, (*call).seconds, listIn("events"), (*call).eventWords}}
	case "unsubscribe_notifications":
		return dialect{then: []func(*call) error{(*call).onlyOne}}
	}
	return dialect{}
}

// known reports whether the tool has an argument.
func (c *call) known(name string) bool { return slices.Contains(c.names, name) }

// allOf reads "all":true as the id all.
func allOf(id string) func(*call) error {
	return func(c *call) error {
		if string(c.get("all")) != "true" || c.has(id) || c.known("all") {
			return nil
		}
		c.set("all", `"all"`, `all is `+id+` "all"`)
		return c.move("all", id)
	}
}

// openOrders reads other words for orders that can still fill.
func (c *call) openOrders() error {
	if raw := c.get("filter"); raw != nil && raw[0] == '[' {
		if all := slices.Collect(strictjson.Items(raw)); len(all) == 1 {
			c.set("filter", string(all[0]), "filter with one element is "+shown(all[0]))
		}
	}
	for _, name := range []string{"open_only", "only_open", "openOnly"} {
		if rawTrue := string(c.get(name)) == "true"; rawTrue && !c.known(name) && !c.has("filter") {
			c.set(name, `"open"`, name+" is filter open")
			return c.move(name, "filter")
		}
	}
	switch word := c.text("filter"); {
	case slices.Contains([]string{"working", "active", "pending", "new", "accepted"}, word):
		c.set("filter", `"open"`, "filter "+word+" is open")
	case slices.Contains([]string{"filled", "done", "completed", "canceled", "cancelled", "executed", "history"}, word):
		c.set("filter", `"closed"`, "filter "+word+" is closed, in which each order has its status")
	}
	return nil
}

// groups reads other names of groups of indicators, and a group in the place of a name.
func (c *call) groups() error {
	if word := Joined(c.text("name")); c.has("name") && !c.has("group") && slices.Contains(ta.Groups(), ta.Group(word)) {
		if _, err := c.library.Resolve(ta.Request{Name: word}); err != nil {
			c.set("name", quote(word), word+" is a group")
			return c.move("name", "group")
		}
	}
	if group, ok := map[string]string{
		"oscillator": "momentum", "oscillators": "momentum", "movingaverages": "trend", "movingaverage": "trend", "overlays": "trend", "overlay": "trend", "supportresistance": "levels", "supportandresistance": "levels", "bands": "volatility",
	}[Joined(c.text("group"))]; ok && c.has("group") {
		c.set("group", quote(group), "group "+shown(c.get("group"))+" is "+group)
	}
	if c.text("group") == "all" {
		c.drop("group", "group all is every group")
	}
	if word := c.text("brief"); word == "brief" || word == "short" || word == "full" {
		c.set("brief", map[bool]string{true: "false", false: "true"}[word == "full"], "detail "+word+" is brief or not")
	}
	return nil
}

// active drops a state that everything in the list has.
func (c *call) active() error {
	if string(c.get("active")) == "true" && !c.known("active") {
		c.drop("active", "active is what is listed")
	}
	for _, name := range []string{"status", "state", "filter"} {
		if word := c.text(name); !c.known(name) && slices.Contains([]string{"open", "active"}, word) {
			c.drop(name, name+" "+word+" is what is listed")
		}
	}
	return nil
}

// oneSymbol reads a list of one symbol.
func (c *call) oneSymbol() error {
	raw := c.get("symbols")
	if raw == nil || c.known("symbols") || raw[0] != '[' {
		return nil
	}
	all := slices.Collect(strictjson.Items(raw))
	if len(all) != 1 {
		e := fault.Field("symbols", shown(raw), "symbol: one symbol per call; scan_symbols compares many", "symbol")
		e.Message = "symbols: One symbol per call; scan_symbols compares many."
		return e
	}
	c.set("symbols", string(all[0]), "symbols with one element is symbol")
	return c.move("symbols", "symbol")
}

// onlyOne drops what chooses among subscriptions: a client has one.
func (c *call) onlyOne() error {
	for _, f := range slices.Clone(c.fields) {
		if slices.Contains([]string{"all", "subscriptionid", "id"}, Joined(f.name)) && (Joined(f.name) != "all" || string(f.raw) == "true") {
			c.drop(f.name, echo(f.name)+": a client has one subscription, which ends")
		}
	}
	return nil
}

// eventWords reads other words for kinds of notifications.
func (c *call) eventWords() error {
	raw := c.get("events")
	if raw == nil || raw[0] != '[' {
		return nil
	}
	var kinds []json.RawMessage
	for item := range strictjson.Items(raw) {
		text, _ := strictjson.Text(item)
		kind, ok := map[string]string{"fills": "orders", "fill": "orders", "order": "orders", "trades": "orders", "orderfilled": "orders", "positions": "orders", "alert": "alerts", "pricealerts": "alerts"}[Joined(text)]
		switch {
		case Joined(text) == "all":
			kinds = []json.RawMessage{json.RawMessage(`"alerts"`), json.RawMessage(`"orders"`)}
			c.set("events", string(array(kinds)), "events all is alerts and orders")
			return nil
		case ok:
			item = json.RawMessage(quote(kind))
			c.understood = append(c.understood, echo(text)+" is "+kind)
		}
		if !slices.ContainsFunc(kinds, func(k json.RawMessage) bool { return slices.Equal(k, item) }) {
			kinds = append(kinds, item)
		}
	}
	c.put("events", array(kinds))
	return nil
}

// ownerChooses returns what to say about a word that chooses an account, or a time where a tool has none.
func (c *call) ownerChooses(word string) (advice, bool) {
	switch word {
	case "account", "accounttype", "mode", "environment", "paper", "live", "currency":
		return advice{"there is one account, which the owner chose when candela started; omit it.", nil}, true
	case "since", "after", "startdate":
		if c.rangeName("start", "from") != "" || !c.known("limit") {
			return advice{}, false
		}
		return advice{"limit and cursor lead back from the newest; omit it.", []string{"limit"}}, true
	}
	return advice{}, false
}

// indicatorsRefused returns what to say about a word of get_indicators that is not taken.
func indicatorsRefused(word string) (advice, bool) {
	switch word {
	case "params", "parameters", "settings":
		return advice{`parameters stand beside the name of an indicator, such as "indicators":[{"name":"rsi","length":21}].`, []string{"indicators"}}, true
	case "limit", "count", "lastn", "outputsize":
		return advice{"the answer has the newest values; generate_chart with format series and bars has those of each bar. Omit it.", nil}, true
	}
	return advice{}, false
}

// cancelRefused returns what to say about a word of cancel_alert that is not taken.
func cancelRefused(word string) (advice, bool) {
	if word == "symbol" || word == "ticker" {
		return advice{`list_alerts with symbol has the alert_id of each; {"alert_id":"all"} cancels all.`, []string{"alert_id"}}, true
	}
	return advice{}, false
}

// alertRefused returns what to say about a word of set_alert that is not taken.
func alertRefused(word string) (advice, bool) {
	switch word {
	case "channel", "channels", "notify", "notification", "receiver", "delivery", "via", "webhookurl", "sms", "push":
		return advice{"a fired alert goes to every receiver that the owner has set up, and to get_notifications; omit it.", nil}, true
	}
	return advice{}, false
}

// sourceAlone drops the name of a script whose text is given to a tool that takes either.
func (c *call) sourceAlone() error {
	if c.tool == "check_script" && c.has("name", "source") {
		c.drop("name", "name: source is checked")
	}
	return nil
}

// pollRefused returns what to say about a word of get_notifications that is not taken.
func pollRefused(word string) (advice, bool) {
	switch word {
	case "since", "from", "after", "start", "cursor", "sinceseq":
		return advice{"each notification is delivered once, so there is no time to begin from; omit it.", nil}, true
	}
	return advice{}, false
}

// seconds reads a time to wait such as 30s.
func (c *call) seconds() error {
	text := strings.TrimSpace(c.text("wait_seconds"))
	if d, err := time.ParseDuration(text); err == nil && d >= 0 && d%time.Second == 0 {
		seconds := d.Truncate(time.Second).Seconds()
		c.set("wait_seconds", string(strictjson.AppendFloat(nil, seconds)), "wait_seconds "+quote(text)+" is "+string(strictjson.AppendFloat(nil, seconds)))
	}
	return nil
}

// listIn reads a text as a list of the words between commas, and an object as a list of one.
func listIn(name string) func(*call) error {
	return func(c *call) error {
		raw := c.get(name)
		if raw == nil || raw[0] != '"' && raw[0] != '{' {
			return nil
		}
		list := "[" + string(raw) + "]"
		if text, ok := strictjson.Text(raw); ok {
			if text = strings.TrimSpace(text); text == "" || len(text) > 4096 {
				return nil
			}
			if strings.HasPrefix(text, "[") && strictjson.Check([]byte(text)) == nil {
				c.set(name, text, name+" in quotes is a list")
				return nil
			}
			if !strings.ContainsAny(text, "[]{}") {
				list = wordList(text)
			}
		}
		c.set(name, list, name+" is the list "+echo(list))
		return nil
	}
}

// wordList returns the words between commas as a JSON list.
func wordList(text string) string {
	parts := splitOutside(text)
	for i, part := range parts {
		parts[i] = quote(strings.TrimSpace(part))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// plain reads numbers and truth values in quotes.
func (c *call) plain() error {
	for _, name := range []string{"bars", "limit", "width", "height", "scale", "wait_seconds", "max_fires", "within_bars", "max_seconds", "capital", "size_pct", "fee_bps", "slip_bps", "quantity"} {
		if c.known(name) {
			c.unquote(name)
		}
	}
	for _, name := range []string{"brief", "log", "repeat", "reduce_only", "post_only", "dry_run"} {
		if word := c.text(name); c.known(name) && (word == "true" || word == "false") && c.get(name)[0] == '"' {
			c.set(name, word, name+" "+quote(word)+" is "+word)
		}
	}
	return nil
}
