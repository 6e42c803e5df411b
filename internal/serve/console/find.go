package console

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// The palette finds pages, symbols, strategies, orders, alerts, clients, scripts and commands. It leads to
// them: a command opens its question, and nothing is done here.
const (
	findMost   = 6   // of a group
	findText   = 64  // characters that are searched for
	findReads  = 2   // parts of the list of orders, the newest first
	findAlerts = 200 // alerts of which the words are compared
)

// foundGroup is a group of the palette. Groups have a fixed order.
type foundGroup struct {
	Title string
	Rows  []foundRow
}

// foundRow leads to what was found.
type foundRow struct {
	Icon, Title, Note, Right, Path string

	Open string // the dialog that it opens, "" for none
	Ask  bool   // the page asks before it acts
}

// sought is what is searched for: words, and the one group that is asked for.
type sought struct {
	words []string
	only  string // "commands", "orders" or "clients"; "" for all
}

func newSought(text string) sought {
	text = fault.Clean(text, findText)
	q := sought{}
	for sign, only := range map[string]string{">": "commands", "#": "orders", "@": "clients"} {
		if rest, ok := strings.CutPrefix(text, sign); ok {
			q.only, text = only, rest
			break
		}
	}
	q.words = strings.Fields(strings.ToLower(text))
	return q
}

// wants reports whether a group is searched.
func (q sought) wants(group string) bool {
	if q.only != "" {
		return q.only == group
	}
	return len(q.words) > 0
}

// has reports whether each word is in one of the texts.
func (q sought) has(texts ...string) bool { return hasWords(q.words, texts...) }

// hasWords reports whether each word, in lower case, is in one of the texts.
func hasWords(words []string, texts ...string) bool {
	for _, word := range words {
		in := false
		for _, text := range texts {
			if in = containsFold(text, word); in {
				break
			}
		}
		if !in {
			return false
		}
	}
	return true
}

// containsFold reports whether a text has a word in any case, without a copy of the text.
func containsFold(text, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if (i == 0 || utf8.RuneStart(text[i])) && strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// serveFind answers GET /console/find with a part of the palette.
func (c *Console) serveFind(v *visit) {
	groups := c.found(v, newSought(v.r.URL.Query().Get("q")))
	all, err := c.pages()
	var b bytes.Buffer
	if err == nil {
		err = all["found"].ExecuteTemplate(&b, "found", groups)
	}
	if err != nil {
		c.fail(v, err)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = v.w.Write(b.Bytes()) // the browser may have left
}

// found searches every group, and leaves out one that cannot be read now: the palette is a way, not a list.
func (c *Console) found(v *visit, q sought) []foundGroup {
	var groups []foundGroup
	for _, one := range []struct {
		name, title string
		rows        func(*visit, sought) []foundRow
	}{
		{"pages", "Pages", c.findPages},
		{"symbols", "Symbols", c.findSymbols},
		{"strategies", "Strategies", c.findStrategies},
		{"orders", "Orders", c.findOrders},
		{"alerts", "Alerts", c.findAlerts},
		{"clients", "Clients", c.findClients},
		{"scripts", "Scripts", c.findScripts},
		{"commands", "Commands", c.findCommands},
	} {
		if !q.wants(one.name) {
			continue
		}
		if rows := one.rows(v, q); len(rows) > 0 {
			groups = append(groups, foundGroup{one.title, rows[:min(len(rows), findMost)]})
		}
	}
	if len(groups) == 0 {
		return c.findUnknown(q)
	}
	return groups
}

func (c *Console) findPages(_ *visit, q sought) (rows []foundRow) {
	for _, p := range c.table() {
		if p.icon != "" && p.name != "more" && q.has(p.title) {
			rows = append(rows, foundRow{Icon: p.icon, Title: p.title, Path: Root + plainPath(p.path)})
		}
	}
	return rows
}

// findSymbols finds symbols that are held, and those that the server knows.
func (c *Console) findSymbols(v *visit, q sought) (rows []foundRow) {
	if c.cfg.Charts == nil || c.cfg.Market == nil {
		return nil
	}
	held := map[string]bool{}
	if c.cfg.Account != nil {
		all, err := c.cfg.Account.Positions(v.ctx(), v.caller())
		for i := range all {
			if s := all[i].Symbol; err == nil && len(rows) < findMost && q.has(s.Name) && !held[s.Name] {
				held[s.Name] = true
				rows = append(rows, foundRow{Icon: "chart", Title: s.Name, Note: "held at " + s.Venue, Path: symbolPath(s.String())})
			}
		}
	}
	for _, k := range c.cfg.Market.Known(v.ctx()) {
		if len(rows) < findMost && !held[k.Use] && q.has(k.Use, k.Name) {
			rows = append(rows, foundRow{Icon: "chart", Title: k.Use, Note: k.Name, Path: symbolPath(k.Use)})
		}
	}
	return rows
}

// findUnknown offers the chart of a word that nothing else has: a venue may have it as a symbol.
func (c *Console) findUnknown(q sought) []foundGroup {
	if c.cfg.Charts == nil || q.only != "" || len(q.words) != 1 {
		return nil
	}
	s, err := market.ParseSymbol(strings.ToUpper(q.words[0]))
	if err != nil {
		return nil
	}
	return []foundGroup{{"Symbols", []foundRow{{Icon: "chart", Title: s.String(), Note: "open the chart, if a venue has it", Path: symbolPath(s.String())}}}}
}

func symbolPath(symbol string) string { return Root + "/chart/" + url.PathEscape(symbol) }

func (c *Console) findStrategies(v *visit, q sought) (rows []foundRow) {
	if c.cfg.Strategies == nil {
		return nil
	}
	all, err := c.cfg.Strategies.ListOwn(v.ctx())
	if err != nil {
		return nil
	}
	for _, s := range all {
		if len(rows) < findMost && q.has(s.Name, s.ID, s.Symbol) {
			rows = append(rows, foundRow{Icon: "play", Title: s.Name, Note: s.Symbol + " " + s.Interval, Right: s.State, Path: Root + "/strategies/" + url.PathEscape(s.ID)})
		}
	}
	return rows
}

// findOrders finds open orders and the newest of the others.
func (c *Console) findOrders(v *visit, q sought) (rows []foundRow) {
	if c.cfg.Account == nil {
		return nil
	}
	f, seen := v.format(), map[string]bool{}
	add := func(o order.Order) {
		if len(rows) == findMost || seen[o.ID] || !orderHas(q.words, o) {
			return
		}
		seen[o.ID] = true
		rows = append(rows, foundRow{
			Icon: "list", Title: upperFirst(o.Side.String()) + " " + f.About(o) + ", " + kindOfOrder(o),
			Note: clientName(o), Right: strings.ReplaceAll(o.Status.String(), "_", " "), Path: Root + "/orders/" + url.PathEscape(o.ID),
		})
	}
	if open, err := c.cfg.Account.Orders(v.ctx(), v.caller(), true); err == nil {
		for _, o := range open {
			add(o)
		}
	}
	var last order.Mark
	for range findReads {
		page, err := c.cfg.Account.OrderPage(v.ctx(), v.caller(), order.Query{After: last, Most: listPage})
		if err != nil || len(page.Orders) == 0 {
			break
		}
		for _, o := range page.Orders {
			add(o)
		}
		if last = page.Orders[len(page.Orders)-1].Mark(); page.Left == 0 || len(rows) == findMost {
			break
		}
	}
	return rows
}

// orderHas reports whether an order has all words.
func orderHas(words []string, o order.Order) bool {
	return len(words) == 0 || hasWords(words, o.ID, o.Symbol.Name, o.Symbol.Venue, o.Side.String(), kindOfOrder(o), o.Status.String(), clientName(o), o.Denial.Rule, o.Reason, o.Note)
}

func (c *Console) findAlerts(v *visit, q sought) (rows []foundRow) {
	if c.cfg.Alerts == nil {
		return nil
	}
	all, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller())
	if err != nil {
		return nil
	}
	f, words := v.format(), 0
	for i := range all {
		a := &all[i]
		if len(rows) == findMost {
			break
		}
		if !q.has(a.Symbol.Name, a.Note, a.ID) {
			if words++; words > findAlerts { // the words of a condition are written for each
				continue
			}
			if !q.has(a.Symbol.Name, a.Note, condition(a, f)) {
				continue
			}
		}
		rows = append(rows, foundRow{Icon: "bell", Title: a.Symbol.Name + " " + condition(a, f), Note: fault.Clean(a.Note, 60), Right: "waiting", Path: Root + "/alerts/" + url.PathEscape(a.ID)})
	}
	return rows
}

func (c *Console) findClients(v *visit, q sought) (rows []foundRow) {
	if c.cfg.Clients == nil {
		return nil
	}
	all, err := c.clients(v.ctx(), v)
	if err != nil {
		return nil
	}
	for _, r := range all {
		if len(rows) < findMost && q.has(r.Name, r.ID, r.Scope) {
			rows = append(rows, foundRow{Icon: "plug", Title: r.Name, Note: r.UsedAgo, Right: r.Scope, Path: Root + "/clients/" + url.PathEscape(r.ID)})
		}
	}
	return rows
}

func (c *Console) findScripts(_ *visit, q sought) (rows []foundRow) {
	if c.cfg.Scripts == nil {
		return nil
	}
	all, err := c.cfg.Scripts.List()
	if err != nil {
		return nil
	}
	for _, s := range all {
		if len(rows) < findMost && !s.Library && q.has(s.Name) {
			rows = append(rows, foundRow{Icon: "code", Title: s.Name, Note: "version " + s.Version[:min(len(s.Version), 12)], Path: Root + "/scripts/" + url.PathEscape(s.Name)})
		}
	}
	return rows
}

// findCommands lists what the owner can ask for from everywhere. Each opens its question.
func (c *Console) findCommands(_ *visit, q sought) (rows []foundRow) {
	all := []struct {
		foundRow
		can bool
	}{
		{foundRow{Icon: "stop", Title: "Halt trading", Note: "asks first", Path: Root + "/halt", Open: "halt"}, c.cfg.Account != nil},
		{foundRow{Icon: "play", Title: "Resume trading", Note: "asks for the passphrase", Path: Root + "/resume", Ask: true}, c.cfg.Account != nil},
		{foundRow{Icon: "bell", Title: "Set an alert", Path: Root + "/alerts/new", Ask: true}, c.cfg.Alerts != nil},
		{foundRow{Icon: "x", Title: "Cancel all open orders", Note: "asks first", Path: Root + "/orders/cancel-all", Ask: true}, c.cfg.Account != nil},
		{foundRow{Icon: "plug", Title: "Revoke all clients", Note: "asks for the passphrase", Path: Root + "/clients/revoke-all", Ask: true}, c.cfg.Clients != nil},
		{foundRow{Icon: "out", Title: "End other browsers", Note: "asks for the passphrase", Path: Root + "/browsers/end-others", Ask: true}, c.cfg.Clients != nil},
		{foundRow{Icon: "list", Title: "Save all orders", Note: "a CSV file", Path: Root + "/orders.csv"}, c.cfg.Account != nil},
		{foundRow{Icon: "key", Title: "Keyboard", Note: "the list of keys", Path: Root + "/more", Open: "help"}, true},
	}
	for _, one := range all {
		if one.can && q.has(one.Title) {
			rows = append(rows, one.foundRow)
		}
	}
	return rows
}
