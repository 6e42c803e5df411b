package wording

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
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
	c.names, c.library, c.now = asked.Names, asked.Library, asked.Now
	own := wordsOf(asked.Tool)
	if own.refused != nil {
		if err := c.refuse(own.refused); err != nil {
			return nil, nil, err
		}
	}
	words := sharedWords()
	maps.Copy(words, own.words)
	if err := c.renames(words); err != nil {
		return nil, nil, err
	}
	for _, step := range append(own.then, (*call).plain) {
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
	refused func(word string) (advice, bool) // words that are not taken
	then    []func(*call) error              // conversions of values
}

// sharedWords are those of every tool.
func sharedWords() words {
	return words{
		"ticker": "symbol", "pair": "symbol", "instrument": "symbol", "asset": "symbol", "tickers": "symbols", "pairs": "symbols", "instruments": "symbols", "symbollist": "symbols",
		"timeframe": "interval", "tf": "interval", "resolution": "interval", "granularity": "interval", "barsize": "interval", "candleinterval": "interval", "candlesize": "interval",
		"start": "start|from", "from": "start|from", "since": "start|from", "startdate": "start|from", "starttime": "start|from", "fromdate": "start|from", "begin": "start|from",
		"end": "end|to", "to": "end|to", "until": "end|to", "enddate": "end|to", "endtime": "end|to", "todate": "end|to", "till": "end|to",
		"id": "order_id|alert_id|report_id", "count": "limit|bars", "limit": "limit|bars", "maxresults": "limit", "pagesize": "limit",
		"numbars": "bars", "candles": "bars", "lookback": "bars", "lookbackbars": "bars", "nbars": "bars", "barcount": "bars",
		"timeout": "wait_seconds", "wait": "wait_seconds", "timeoutseconds": "wait_seconds", "timeoutsecs": "wait_seconds", "pagetoken": "cursor", "nextcursor": "cursor",
	}
}

// wordsOf returns the dialect of a tool.
func wordsOf(tool string) dialect {
	switch tool {
	case "place_order":
		return orderDialect()
	case "cancel_order":
		return dialect{words: words{"clientorderid": "order_id", "order": "order_id"}, then: []func(*call) error{allOf("order_id")}}
	case "get_orders":
		return dialect{words: words{"status": "filter", "state": "filter", "clientorderid": "order_id", "order": "order_id"}, then: []func(*call) error{(*call).openOrders}}
	case "get_positions":
		return dialect{then: []func(*call) error{(*call).active}}
	case "list_alerts":
		return dialect{then: []func(*call) error{(*call).active}}
	case "cancel_alert":
		return dialect{words: words{"alert": "alert_id"}, then: []func(*call) error{allOf("alert_id")}}
	case "set_alert":
		return dialect{words: alertWords(), then: []func(*call) error{(*call).oneSymbol, (*call).expiry, (*call).topCondition, conditionIn("condition")}}
	case "test_alert":
		return dialect{words: words{"trigger": "condition", "rule": "condition"}, then: []func(*call) error{(*call).oneSymbol, (*call).topCondition, conditionIn("condition")}}
	}
	return chartDialect(tool)
}

// chartDialect returns the dialect of a tool that needs no account.
func chartDialect(tool string) dialect {
	switch tool {
	case "generate_chart":
		return dialect{words: chartWords(), then: []func(*call) error{(*call).oneSymbol, (*call).drawnAnyway, listIn("indicators"), (*call).indicators, (*call).drawings}}
	case "get_indicators":
		return dialect{words: chartWords(), then: []func(*call) error{(*call).oneSymbol, listIn("indicators"), (*call).indicators}}
	case "list_indicators":
		return dialect{words: words{"category": "group", "indicator": "name", "compact": "brief", "namesonly": "brief", "short": "brief"}}
	case "run_backtest":
		return dialect{words: backtestWords(), refused: backtestRefused, then: []func(*call) error{(*call).oneSymbol, (*call).sides}}
	case "scan_symbols":
		return dialect{words: scanWords(), refused: scanRefused, then: []func(*call) error{listIn("symbols"), listIn("columns"), (*call).columns, conditionIn("condition")}}
	case "find_symbols":
		return dialect{words: words{"q": "query", "search": "query", "name": "query", "symbol": "query", "text": "query", "keyword": "query", "ticker": "query", "exchange": "venue", "type": "kind", "assetclass": "kind"}}
	case "save_script", "check_script", "delete_script":
		return dialect{words: words{"code": "source", "script": "source|name", "pine": "source", "pinecode": "source", "text": "source", "title": "name", "scriptname": "name"}}
	case "get_report":
		return dialect{words: words{"report": "report_id", "section": "part"}}
	case "subscribe_notifications":
		return dialect{words: words{"symbol": "symbols", "ticker": "symbols", "pair": "symbols", "types": "alert_types", "alerttype": "alert_types", "event": "events", "kinds": "events"}, then: []func(*call) error{listIn("symbols"), listIn("alert_types"), listIn("events")}}
	case "get_notifications":
		return dialect{words: words{"kinds": "events", "event": "events", "types": "events", "max": "limit"}, then: []func(*call) error{(*call).seconds, listIn("events")}}
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
	if word := c.text("filter"); slices.Contains([]string{"working", "active", "pending"}, word) {
		c.set("filter", `"open"`, "filter "+word+" is open")
	}
	return nil
}

// active drops a state that everything in the list has.
func (c *call) active() error {
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
			if strings.ContainsAny(text, "[]{}()") {
				if strings.HasPrefix(text, "[") && strictjson.Check([]byte(text)) == nil {
					c.set(name, text, name+" in quotes is a list")
					return nil
				}
			} else {
				list = wordList(text)
			}
		}
		c.set(name, list, name+" is the list "+echo(list))
		return nil
	}
}

// wordList returns the words between commas as a JSON list.
func wordList(text string) string {
	parts := strings.Split(text, ",")
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
