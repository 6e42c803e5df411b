package wording

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/lib/pattern"
)

// said is why an argument of a tool may be left out: its value asks for what happens anyway.
type said struct {
	value string // "" for any
	why   string
}

// harmless returns the arguments, without case and separators, that a tool may be given and does not need.
func harmless(tool string) map[string]said {
	const yes, no = "true", "false"
	switch tool {
	case "place_order":
		return map[string]said{"confirm": {yes, "the owner decides which orders wait for approval"}, "confirmed": {yes, "the owner decides which orders wait for approval"}, "hedged": {no, "there is none"}, "ismargin": {no, "there is none"}, "margin": {no, "there is none"}}
	case "get_positions":
		both := harmless("get_orders")
		for _, name := range []string{"includeclosed", "showclosed", "includezero", "includeempty", "includehistory"} {
			both[name] = said{no, "open positions are listed"}
		}
		return both
	case "get_orders", "get_trades":
		return map[string]said{"includepnl": {yes, "it is in the answer"}, "includeunrealizedpnl": {yes, "it is in the answer"}, "includeprices": {yes, "they are in the answer"}, "includefees": {yes, "they are in the answer"}, "details": {yes, "the answer is whole"}, "detailed": {yes, "the answer is whole"}, "verbose": {yes, "the answer is whole"}, "full": {yes, "the answer is whole"}, "status": {"all", "what is open is listed"}, "state": {"all", "what is open is listed"}}
	case "check_script":
		return map[string]said{"validate": {yes, "a script is checked"}, "strict": {"", "a script is checked whole"}, "language": {"pine", "it is Pine"}, "run": {no, "a script is checked without running it"}}
	case "save_script":
		return map[string]said{"description": {"", "a script is stored by its name; its text may have comments"}, "overwrite": {yes, "a script of the same name is replaced"}, "replace": {yes, "a script of the same name is replaced"}}
	case "generate_chart":
		return map[string]said{
			"title": {"", "a chart is titled with its symbol"}, "caption": {"", "a chart is titled with its symbol"}, "includevolume": {yes, "it is drawn anyway"}, "showlegend": {yes, "it is drawn anyway"}, "showgrid": {yes, "it is drawn anyway"}, "legend": {yes, "it is drawn anyway"},
			"grid": {yes, "it is drawn anyway"}, "volume": {yes, "it is drawn anyway"}, "includeindicators": {yes, "they are drawn anyway"}, "returnimage": {yes, "the answer has the picture"}, "showprice": {yes, "it is drawn anyway"},
		}
	case "list_indicators":
		return map[string]said{"limit": {"", "the list is whole"}, "page": {"", "the list is whole"}, "offset": {"", "the list is whole"}, "pagesize": {"", "the list is whole"}, "perpage": {"", "the list is whole"}, "all": {yes, "the list is whole"}}
	case "set_alert":
		return map[string]said{"notify": {yes, "a fired alert is delivered anyway"}, "enabled": {yes, "an alert is active from now on"}, "active": {yes, "an alert is active from now on"}, "status": {"active", "an alert is active from now on"}}
	case "list_alerts":
		return map[string]said{"includeexpired": {no, "active alerts are listed"}, "includefired": {no, "active alerts are listed"}, "includetriggered": {no, "active alerts are listed"}, "activeonly": {yes, "active alerts are listed"}, "filter": {"all", "active alerts are listed"}, "status": {"all", "active alerts are listed"}}
	case "get_notifications":
		return map[string]said{"block": {yes, "wait_seconds decides it"}, "blocking": {yes, "wait_seconds decides it"}, "unread": {yes, "each is delivered once"}, "unreadonly": {yes, "each is delivered once"}}
	case "get_account":
		return map[string]said{"includepositions": {yes, "holdings are in the answer"}, "includebalances": {yes, "cash is in the answer"}, "detailed": {yes, "the answer is whole"}, "fields": {"", "the answer is whole"}, "details": {yes, "the answer is whole"}, "verbose": {yes, "the answer is whole"}, "full": {yes, "the answer is whole"}}
	case "run_backtest":
		return map[string]said{"direction": {"long", "the rules of long say it"}, "side": {"long", "the rules of long say it"}, "shortselling": {no, "without short there are none"}, "allowshort": {no, "without short there are none"}}
	}
	return nil
}

// leaveOut drops arguments that ask for what happens anyway.
func (c *call) leaveOut(tool string) {
	table := harmless(tool)
	for _, f := range slices.Clone(c.fields) {
		why, ok := table[Joined(f.name)]
		text, isText := strictjson.Text(f.raw)
		if !isText {
			text = string(f.raw)
		}
		if ok && !c.known(f.name) && (why.value == "" || strings.EqualFold(text, why.value)) {
			c.drop(f.name, echo(f.name)+": "+why.why)
		}
	}
}

// pixels matches a size such as 1200x800.
var pixels = pattern.Of(`^(\d{3,4}) ?[x*] ?(\d{3,4})$`)

// look reads the size and the colours of a picture in other forms.
func (c *call) look() error {
	if match := pixels().FindStringSubmatch(c.text("size")); match != nil && !c.known("size") && !c.has("width") && !c.has("height") {
		c.drop("size", "size "+c.text("size")+" is width and height")
		c.fields = append(c.fields, field{"width", json.RawMessage(match[1])}, field{"height", json.RawMessage(match[2])})
	}
	for _, name := range []string{"dark_mode", "dark", "darkMode"} {
		if raw := string(c.get(name)); (raw == "true" || raw == "false") && !c.has("theme") {
			theme := map[string]string{"true": "dark", "false": "light"}[raw]
			c.set(name, quote(theme), name+" "+raw+" is theme "+theme)
			return c.move(name, "theme")
		}
	}
	return nil
}

// expiresIn reads "expires_in_hours":24.
func (c *call) expiresIn() error {
	for _, f := range slices.Clone(c.fields) {
		unit, ok := map[string]string{"expiresinhours": "h", "expiryhours": "h", "expiresindays": "d", "expirydays": "d", "expiresinminutes": "min", "ttlhours": "h", "ttldays": "d", "validhours": "h", "validdays": "d"}[Joined(f.name)]
		number, isNumber := plainNumber(strings.Trim(string(f.raw), `"`))
		if !ok || !isNumber || c.known(f.name) {
			continue
		}
		c.set(f.name, quote(number+unit), echo(f.name)+" "+number+" is "+number+unit)
		return c.move(f.name, "expires_at")
	}
	return nil
}

// cooldownIn reads "cooldown_minutes":30.
func (c *call) cooldownIn() error {
	for _, f := range slices.Clone(c.fields) {
		unit, ok := map[string]string{"cooldownminutes": "m", "cooldownmins": "m", "cooldownmin": "m", "cooldownhours": "h", "cooldownseconds": "s", "cooldownsecs": "s"}[Joined(f.name)]
		number, isNumber := plainNumber(strings.Trim(string(f.raw), `"`))
		if !ok || !isNumber || c.has("cooldown") {
			continue
		}
		c.set(f.name, quote(number+unit), echo(f.name)+" "+number+" is "+number+unit)
		return c.move(f.name, "cooldown")
	}
	return nil
}

// milliseconds reads a time to wait in milliseconds.
func (c *call) milliseconds() error {
	for _, name := range []string{"timeout_ms", "timeoutMs", "wait_ms"} {
		ms, err := strconv.Atoi(string(c.get(name)))
		if err == nil && ms >= 0 && ms%1000 == 0 && !c.has("wait_seconds") {
			c.set(name, strconv.Itoa(ms/1000), name+" "+strconv.Itoa(ms)+" is wait_seconds "+strconv.Itoa(ms/1000))
			return c.move(name, "wait_seconds")
		}
	}
	return nil
}

// spaced reads symbols with blanks between them.
func (c *call) spaced() error {
	text, ok := strictjson.Text(c.get("symbols"))
	if c.get("symbols") != nil && ok && !strings.ContainsAny(text, ",[") {
		if all := strings.Fields(text); len(all) > 1 && len(all) <= maxList {
			list := wordList(strings.Join(all, ","))
			c.set("symbols", list, "symbols is the list "+echo(list))
		}
	}
	return nil
}

// levels reads a list of prices as drawings.
func (c *call) levels() error {
	for _, name := range []string{"levels", "horizontal_lines", "hlines", "price_levels", "show_levels", "support", "resistance", "supports", "support_levels", "resistance_levels"} {
		raw := c.get(name)
		if drawn := c.get("drawings"); raw == nil || raw[0] != '[' || drawn != nil && drawn[0] != '[' {
			continue
		}
		var list []json.RawMessage
		for item := range strictjson.Items(raw) {
			if _, ok := plainNumber(string(item)); !ok || len(list) == maxList {
				return nil
			}
			list = append(list, json.RawMessage(`{"type":"level","price":`+string(item)+`}`))
		}
		c.drop(name, name+" are drawings of type level")
		if drawn := c.get("drawings"); drawn != nil {
			c.put("drawings", array(append(slices.Collect(strictjson.Items(drawn)), list...)))
		} else {
			c.fields = append(c.fields, field{"drawings", array(list)})
		}
	}
	return nil
}

// scanForms reads a list in the place of a watch list, and a rank as the column that it needs.
func (c *call) scanForms() error {
	for _, name := range []string{"watchlist", "universe"} {
		if raw := c.get(name); raw != nil && raw[0] == '[' && !c.has("symbols") {
			if err := c.rename(name, "symbols"); err != nil {
				return err
			}
		}
	}
	if raw := c.get("filters"); raw != nil && !c.has("conditions") {
		if err := c.move("filters", "conditions"); err != nil {
			return err
		}
	}
	if raw := c.get("conditions"); raw != nil && raw[0] == '{' && !c.has("condition") {
		return c.rename("conditions", "condition")
	}
	worded := slices.ContainsFunc(logicWords(), func(name string) bool { return c.has(name) })
	if raw := c.get("conditions"); raw != nil && raw[0] == '[' && !worded && !c.has("condition") && len(slices.Collect(strictjson.Items(raw))) > 1 {
		c.set("conditions", `{"all":`+string(raw)+`}`, "a row of a scan meets all of the conditions")
		return c.move("conditions", "condition")
	}
	return nil
}

// rankAlone reads a rank without columns as the only column.
func (c *call) rankAlone() error {
	if raw := c.get("rank_by"); raw != nil && raw[0] == '"' && !c.has("columns") {
		c.fields = append(c.fields, field{"columns", slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))})
		c.understood = append(c.understood, "rank_by "+shown(raw)+" is a column, too")
	}
	return nil
}

// percentFees reads fees in per cent, where the name says so.
func (c *call) percentFees() error {
	for _, f := range slices.Clone(c.fields) {
		to, ok := map[string]string{"commissionpct": "fee_bps", "commissionpercent": "fee_bps", "feepct": "fee_bps", "feepercent": "fee_bps", "feespct": "fee_bps", "slippagepct": "slip_bps", "slippagepercent": "slip_bps"}[Joined(f.name)]
		number, isNumber := plainNumber(strings.Trim(string(f.raw), `"`))
		if percent, is := percentText(f.raw); is {
			number, isNumber = percent, true
		}
		if word := Joined(f.name); word == "commission" || word == "fee" || word == "fees" || word == "slippage" {
			percent, is := percentText(f.raw)
			if number, isNumber, ok = percent, is, is; is {
				to = map[bool]string{true: "slip_bps", false: "fee_bps"}[word == "slippage"]
			}
		}
		if !ok || !isNumber || c.known(f.name) || c.has(to) {
			continue
		}
		bps, exact := Number(number)
		if !exact {
			continue
		}
		whole := bps.Shift(2).String()
		c.set(f.name, whole, echo(f.name)+" "+shown(f.raw)+" is "+to+" "+whole)
		if err := c.move(f.name, to); err != nil {
			return err
		}
	}
	return nil
}

// spokenRules matches a strategy in words: when to buy and when to sell.
var spokenRules = pattern.Of(`(?i)^(?:buy|long|enter|go long)(?: when| if)? (.+?)[,;.]? (?:and |then )?(?:sell|exit|close)(?: when| if)? (.+?)\.?$`)

// spoken reads a strategy in words as its rules.
func (c *call) spoken() error {
	for _, name := range []string{"strategy", "rules"} {
		text, ok := strictjson.Text(c.get(name))
		if c.get(name) == nil || !ok || len(text) > 400 || c.has("long") || c.known(name) {
			continue
		}
		match := spokenRules().FindStringSubmatch(strings.TrimSpace(text))
		if match == nil {
			continue
		}
		enter, exit := field{"enter", json.RawMessage(quote(match[1]))}, field{"exit", json.RawMessage(quote(match[2]))}
		if !c.readable(enter) || !c.readable(exit) {
			continue
		}
		c.drop(name, name+" is long with enter and exit")
		c.fields = append(c.fields, field{"long", (&call{fields: []field{enter, exit}}).object()})
	}
	return nil
}
