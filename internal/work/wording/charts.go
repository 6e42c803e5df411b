package wording

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/ta"
)

//
//nolint:gochecknoglobals // built once, never written
var chartWords = sync.OnceValue(func() words {
	return words{
		"indicator": "indicators", "names": "indicators", "indicatornames": "indicators", "indicatorlist": "indicators", "studies": "indicators", "study": "indicators", "overlays": "indicators", "logscale": "log", "logarithmic": "log",
		"indicatorname": "indicators", "technicals": "indicators", "panels": "indicators", "oscillators": "indicators", "subplots": "indicators", "panes": "indicators", "at": "end", "asof": "end", "ason": "end", "attime": "end", "timestamp": "end", "datetime": "end",
		"output": "format", "outputformat": "format", "comparewith": "compare", "colorscheme": "theme", "drawing": "drawings", "lines": "drawings",
	}
})

// drawnAnyway drops what a chart shows without being asked.
func (c *call) drawnAnyway() error {
	for _, f := range slices.Clone(c.fields) {
		word := Joined(f.name)
		switch {
		case c.known(f.name):
		case slices.Contains([]string{"showpositions", "showposition", "showorders", "showalerts", "showstops", "showvolume"}, word) && string(f.raw) == "true":
			c.drop(f.name, echo(f.name)+": they are drawn anyway")
		case slices.Contains([]string{"charttype", "type", "style"}, word) && slices.Contains([]string{"candle", "candles", "candlestick", "candlesticks"}, c.text(f.name)):
			c.drop(f.name, echo(f.name)+" "+c.text(f.name)+" is how prices are drawn")
		case word == "style" && (c.text(f.name) == "dark" || c.text(f.name) == "light"):
			if err := c.rename(f.name, "theme"); err != nil {
				return err
			}
		}
	}
	format := map[string]string{
		"image": "png", "picture": "png", "ohlcv": "series", "candles": "series", "bars": "series", "data": "series", "csv": "series", "ohlc": "series", "text": "summary", "json": "summary", "markdown": "summary",
	}[c.text("format")]
	if format != "" {
		c.set("format", quote(format), "format "+c.text("format")+" is "+format)
	}
	if word := c.text("scale"); (word == "log" || word == "logarithmic") && c.known("log") && !c.has("log") {
		c.set("scale", "true", "scale "+word+" is log")
		return c.move("scale", "log")
	}
	return nil
}

// indicators reads names and parameters of indicators in other forms.
func (c *call) indicators() error {
	raw := c.get("indicators")
	if raw == nil || raw[0] != '[' {
		return nil
	}
	r := &reader{library: c.library}
	if c.has("interval") {
		r.interval = c.barLength()
	}
	var list []json.RawMessage
	for item := range strictjson.Items(raw) {
		if several := r.indicatorMap(item); len(several) > 0 {
			r.say(echo(string(item)) + " is the list " + echo(string(array(several))))
			list = append(list, several...)
		} else {
			list = append(list, r.indicator(item))
		}
		if len(list) > maxList {
			return nil // the tool refuses it
		}
	}
	list = c.withoutItself(r, list)
	c.replace("indicators", array(list), r.said)
	return nil
}

// withoutItself leaves out an indicator such as beta that compares with another symbol, where it names none and its default is that of
// the call: the others are computed. Alone it is refused.
func (c *call) withoutItself(r *reader, list []json.RawMessage) []json.RawMessage {
	symbol := strings.ToUpper(c.text("symbol"))
	symbol = symbol[strings.LastIndexByte(symbol, ':')+1:]
	var rest []json.RawMessage
	for _, item := range list {
		name, isText := strictjson.Text(item)
		if !isText && item[0] == '{' {
			name = read(item).text("name")
		}
		selection, err := r.library.Resolve(ta.Request{Name: name})
		own := err == nil && slices.ContainsFunc(selection.Def.Params, func(p ta.Param) bool { return p.Kind == ta.SymbolParam && p.Default == symbol })
		if !own || !isText && read(item).has("symbol") {
			rest = append(rest, item)
			continue
		}
		r.say(echo(name) + " is left out: it compares with " + symbol + `, which is the symbol of the call; name another, such as {"name":` + quote(selection.Def.Name) + `,"symbol":"ETHUSDT"}`)
	}
	if len(rest) == 0 {
		r.said = slices.DeleteFunc(r.said, func(text string) bool { return strings.Contains(text, " is left out: ") })
		return list
	}
	return rest
}

// maxList bounds the items of a list that are read.
const maxList = 64

// indicator reads one indicator: a name such as rsi_divergence, or an object whose parameters are in an
// object of their own.
func (r *reader) indicator(item json.RawMessage) json.RawMessage {
	if name, ok := strictjson.Text(item); ok {
		if known, ok := r.spelled(name); ok {
			r.say(echo(name) + " is " + known)
			return json.RawMessage(quote(known))
		}
		return r.divergence(item, name)
	}
	if item[0] != '{' {
		return item
	}
	before := len(r.said)
	o := read(item)
	r.listed(o)
	if !o.has("name") {
		for _, other := range []string{"indicator", "type", "study", "id", "key"} {
			if o.text(other) != "" && o.move(other, "name") == nil {
				r.say(other + " is name")
				break
			}
		}
	}
	r.flatten(o)
	if known, ok := r.spelled(o.text("name")); ok && o.has("name") {
		r.say(shown(o.get("name")) + " is " + known)
		o.put("name", json.RawMessage(quote(known)))
	}
	r.parameterNames(o)
	if len(r.said) == before {
		return item
	}
	return o.object()
}

// flatten puts the parameters of an indicator beside its name.
func (r *reader) flatten(o *call) {
	for _, name := range []string{"params", "parameters", "settings", "inputs"} {
		inner := o.get(name)
		if inner == nil || inner[0] != '{' {
			continue
		}
		beside := read(inner)
		if slices.ContainsFunc(beside.fields, func(f field) bool { return o.has(f.name) }) {
			continue // two values for one parameter
		}
		o.drop(name, "")
		o.fields = append(o.fields, beside.fields...)
		r.say(name + " are parameters of " + echo(o.text("name")))
	}
}

// divergence reads rsi_divergence as divergence of that oscillator.
func (r *reader) divergence(item json.RawMessage, name string) json.RawMessage {
	oscillator, is := strings.CutSuffix(Joined(name), "divergence")
	if !is || oscillator == "" || len(name) > maxEcho {
		return item
	}
	if _, err := r.library.Resolve(ta.Request{Name: name}); err == nil {
		return item
	}
	def, err := r.library.Find(oscillator)
	if err != nil {
		return item
	}
	if _, err := r.library.Resolve(ta.Request{Name: "divergence", Params: map[string]json.RawMessage{"osc": json.RawMessage(quote(def.Name))}}); err != nil {
		return item
	}
	r.say(echo(name) + " is divergence of " + def.Name)
	return json.RawMessage(`{"name":"divergence","osc":` + quote(def.Name) + `}`)
}

// drawings reads other names of drawings and of their keys.
func (c *call) drawings() error {
	raw := c.get("drawings")
	if raw == nil || raw[0] != '[' && raw[0] != '{' {
		return nil
	}
	var said []string
	if raw[0] == '{' {
		raw, said = array([]json.RawMessage{raw}), []string{"drawings is a list of one"}
	}
	var list []json.RawMessage
	for item := range strictjson.Items(raw) {
		if len(list) == maxList {
			return nil // the tool refuses it
		}
		one, words, err := drawing(item)
		if err != nil {
			return err
		}
		list, said = append(list, one), append(said, words...)
	}
	c.replace("drawings", array(list), said)
	return nil
}

func drawing(item json.RawMessage) (json.RawMessage, []string, error) {
	if item[0] != '{' {
		return item, nil, nil
	}
	o := read(item)
	o.names = []string{"type", "time", "price", "time2", "price2", "text"}
	kinds := words{
		"trendline": "line", "segment": "line", "horizontal": "level", "hline": "level", "horizontalline": "level", "horizontallevel": "level", "support": "level", "resistance": "level",
		"fibonacci": "fib", "fibretracement": "fib", "fibonacciretracement": "fib", "label": "text", "annotation": "text",
	}
	keys := words{"kind": "type", "x1": "time", "y1": "price", "x2": "time2", "y2": "price2", "x": "time", "y": "price", "starttime": "time", "startprice": "price", "endtime": "time2", "endprice": "price2", "time1": "time", "price1": "price", "level": "price", "value": "price", "label": "text"}
	o.points()
	for _, name := range []string{"color", "colour", "style", "width", "linewidth", "line_width"} {
		if o.has(name) {
			o.drop(name, "drawings have colours of their own")
		}
	}
	if err := o.renames(keys); err != nil {
		return nil, nil, err
	}
	if kind, ok := kinds[Joined(o.text("type"))]; ok {
		o.set("type", quote(kind), "drawing "+echo(o.text("type"))+" is "+kind)
	}
	for _, name := range []string{"price", "price2"} {
		o.unquote(name)
	}
	return o.json(item), o.understood, nil
}

//
//nolint:gochecknoglobals // built once, never written
var backtestWords = sync.OnceValue(func() words {
	return words{
		"initialcapital": "capital", "startingcapital": "capital", "initialbalance": "capital", "cash": "capital", "initialcash": "capital", "startcapital": "capital",
		"positionsizepct": "size_pct", "sizepercent": "size_pct", "positionpct": "size_pct", "slippagebps": "slip_bps", "commissionbps": "fee_bps", "feesbps": "fee_bps",
		"pine": "script", "pinescript": "script", "code": "script", "source": "script", "strategycode": "script", "pinecode": "script", "strategyscript": "script", "pinestrategy": "script", "parameters": "sweep", "grid": "sweep", "longrules": "long", "shortrules": "short",
	}
})

// ReadyBacktest is the rule of a back-test in errors.
const ReadyBacktest = `{"long":{"enter":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}},"exit":{"indicator_signal":{"indicator":"macd","signal":"cross_down"}}}}`

// backtestRefused returns what to say about a word of run_backtest that is not taken.
func backtestRefused(word string) (advice, bool) {
	switch word {
	case "commission", "fee", "fees", "feepct", "commissionpct", "commissionpercent", "feerate":
		return advice{"fee_bps is in hundredths of a per cent: 0.1 % is 10.", []string{"fee_bps"}}, true
	case "positionsize", "size", "amount", "ordersize", "tradesize", "investment":
		return advice{"size_pct is per cent of the equity for each entry, quantity the same number of coins or shares for each; capital is what the test begins with.", []string{"size_pct", "quantity"}}, true
	case "slippage", "slippagepct":
		return advice{"slip_bps is in hundredths of a per cent: 0.05 % is 5.", []string{"slip_bps"}}, true
	case "stoploss", "takeprofit", "sl", "tp", "stop", "target":
		return advice{`Per cent of the entry price stand in the rules of a side, such as {"long":{"stop_pct":2,"target_pct":4}} beside its enter.`, []string{"stop_pct", "target_pct"}}, true
	case "indicator", "signal", "strategy", "rules", "entry", "exit", "enter", "signals", "buy", "sell", "entrycondition", "exitcondition", "conditions":
		return advice{`Send {"long":{"enter":..,"exit":..}}, short for sales: ` + ReadyBacktest, []string{ReadyBacktest}}, true
	}
	return advice{}, false
}

// sides reads the rules of a back-test.
func (c *call) sides() error {
	for _, name := range []string{"long", "short"} {
		raw := c.get(name)
		if raw == nil || raw[0] != '{' {
			continue
		}
		o := read(raw)
		o.names, o.library = []string{"enter", "exit", "stop_pct", "target_pct", "max_bars"}, c.library
		bounds := boundWords()
		for _, word := range []string{"stoploss", "takeprofit"} {
			delete(bounds, word) // read below
		}
		for _, word := range []string{"entry", "entrycondition", "entryrule", "buy", "open", "when", "conditions", "condition", "entryconditions"} {
			bounds[word] = "enter"
		}
		for _, word := range []string{"exitcondition", "exitrule", "sell", "close"} {
			bounds[word] = "exit"
		}
		err := o.renames(bounds)
		if err != nil {
			return err
		}
		if err := o.sideBounds(name); err != nil {
			return err
		}
		for _, at := range []string{"enter", "exit"} {
			if err := o.condition(at, name+"."+at); err != nil {
				return err
			}
		}
		c.replace(name, o.object(), o.understood)
	}
	return nil
}

//
//nolint:gochecknoglobals // built once, never written
var scanWords = sync.OnceValue(func() words {
	return words{
		"filter": "condition", "query": "condition", "where": "condition", "criteria": "condition", "screen": "condition", "sortby": "rank_by", "orderby": "rank_by", "sort": "rank_by", "rank": "rank_by",
		"direction": "order", "sortorder": "order", "top": "limit", "max": "limit", "values": "columns", "fields": "columns", "show": "columns", "indicators": "columns", "within": "within_bars", "lookbackbars": "within_bars", "lookback": "within_bars", "lastbars": "within_bars",
	}
})

// scanRefused returns what to say about a word of scan_symbols that is not taken.
func scanRefused(word string) (advice, bool) {
	switch word {
	case "watchlist", "universe", "exchange", "market":
		return advice{`Give symbols, such as "symbols":["BTCUSDT","ETHUSDT"]; find_symbols lists instruments.`, []string{"symbols"}}, true
	}
	return advice{}, false
}

// columns reads columns in other forms.
func (c *call) columns() error {
	raw := c.get("columns")
	if raw == nil || raw[0] != '[' {
		return nil
	}
	r := &reader{library: c.library, interval: c.barLength()}
	var list []json.RawMessage
	for item := range strictjson.Items(raw) {
		if list = append(list, r.column(item)); len(list) > maxList {
			return nil // the tool refuses it
		}
	}
	if word := c.text("order"); word == "descending" || word == "ascending" {
		short := map[string]string{"descending": "desc", "ascending": "asc"}[word]
		c.set("order", quote(short), "order "+word+" is "+short)
	}
	c.replace("columns", array(list), r.said)
	return r.err
}

// column reads one column: the change of the price over bars, or a side of a comparison.
func (r *reader) column(item json.RawMessage) json.RawMessage {
	if text, ok := strictjson.Text(item); ok {
		if strings.EqualFold(text, "price") {
			r.say("price is close")
			return json.RawMessage(`"close"`)
		}
		if hours, ok := map[string]string{"change24h": "24h", "change24hpct": "24h", "percentchange24h": "24h", "pricechange24h": "24h", "change7d": "7d", "change7dpct": "7d", "percentchange7d": "7d", "change1h": "1h", "change1hpct": "1h"}[Joined(text)]; ok {
			if bars, ok := barsIn(hours, r.interval); ok {
				r.say(fmt.Sprintf("%s is roc over %d bars of %s", echo(text), bars, r.interval))
				return json.RawMessage(fmt.Sprintf(`{"indicator":{"name":"roc","length":%d}}`, bars))
			}
		}
		switch Joined(text) {
		case "percentchange", "change", "changepct", "pctchange", "change24h", "change24hpct", "percentchange24h", "pricechange":
			const ready = `{"percent_change":{"bars":24}}`
			e := fault.Field("columns", text, "the change over a number of bars", ready)
			e.Message = "columns: " + quote(text) + " over how many bars? Use " + ready + "."
			r.err = cmpErr(r.err, e)
			return item
		}
		if known, ok := r.spelled(text); ok {
			r.say(echo(text) + " is " + known)
			text = known
		}
		item = json.RawMessage(`{"indicator":` + quote(text) + `}`)
		o := read(item)
		if r.mainLine(o); o.has("line") {
			return o.object()
		}
		if side := r.side(item); !slices.Equal(side, item) {
			return side
		}
		return json.RawMessage(quote(text))
	}
	if item[0] != '{' {
		return item
	}
	o := read(item)
	if change := o.get("percent_change"); change != nil && len(o.fields) == 1 && change[0] == '{' {
		inner := read(change)
		if bars, ok := plainNumber(string(inner.get("bars"))); ok && len(inner.fields) == 1 && inner.has("bars") {
			r.say("percent_change over " + bars + " bars is roc(" + bars + ")")
			return json.RawMessage(`{"indicator":{"name":"roc","length":` + bars + `}}`)
		}
	}
	return r.side(item)
}
