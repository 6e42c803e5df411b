package app

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/testkit/longtest"
)

// TestOwners_InterleavedEqualServersOfTheirOwn lets owners call the tools of one program in a
// random order, and each also a program of its own. Every answer and every pushed notification
// must be the same, after ids, times and prices are renamed: whatever others do, nothing of it is
// seen. Both are restarted on the way, with new tokens of the same clients.
func TestOwners_InterleavedEqualServersOfTheirOwn(t *testing.T) {
	t.Parallel()
	newOwnersWorld(t, longtest.Pick(3, 6), nil).live(longtest.Pick(150, 1000))
}

// live lets owners act, restarts all programs half-way, and gives every id that one saw to the
// others.
func (w *ownersWorld) live(steps int) {
	w.t.Helper()
	for _, o := range w.owners {
		w.buy(o, "polling", "BTCUSDT")
	}
	for w.step = range steps {
		if w.step == steps/2 {
			w.restart()
		}
		w.act(w.owners[w.rng.IntN(len(w.owners))])
	}
	fills := 0
	for _, o := range w.owners {
		w.close(o)
		w.poll(o)
		w.sameEvents(o)
		w.foreign(o)
		fills += o.fills
	}
	w.t.Logf("%d orders were filled; get_trades had trades %d times", fills, w.trades)
	if fills == 0 || w.trades == 0 {
		w.t.Error("no order was filled, or nothing was closed")
	}
}

// ownersWorld is a program for all owners, and one for each.
type ownersWorld struct {
	t       *testing.T
	rng     *rand.Rand
	venue   string
	one     []string // flags of a program
	flags   []string // of each of three replicas, nil for one program
	shared  *server
	owners  []*pairedOwner
	step    int
	round   int // of tokens
	expires time.Time
	trades  int // answers of get_trades that had some
}

// server is a program that runs.
type server struct {
	home string
	urls []string // of its replicas
	side *trading // of one of them
	stop func()
}

// pairedOwner is an owner with a place in the shared program and in one alone.
type pairedOwner struct {
	name   principal.Owner
	places [2]*ownerPlace // shared, alone
	unread int            // notifications that no poll has taken
	fills  int            // orders that were filled
	notes  int
}

// ownerPlace is what one of the programs showed an owner.
type ownerPlace struct {
	on    *server
	at    int // the replica with the stream, where the polls go
	heard func() string
	leave func()
	ids   []string // in the order in which they were seen
}

// newOwnersWorld starts the programs. With flags the program for all is three replicas.
func newOwnersWorld(t *testing.T, owners int, flags []string) *ownersWorld {
	t.Helper()
	seed := longtest.Seed()
	t.Logf("seed %d", seed)
	w := &ownersWorld{t: t, one: manyFlags(t), flags: flags, rng: rand.New(rand.NewPCG(seed, 26)), venue: steadyVenue(t), shared: &server{home: filepath.Join(t.TempDir(), "all")}, expires: time.Now().Add(time.Hour)}
	for i := range owners {
		o := &pairedOwner{name: principal.Owner("owner" + string(rune('a'+i)))}
		o.places = [2]*ownerPlace{{on: w.shared, at: i}, {on: &server{home: filepath.Join(t.TempDir(), "one")}}}
		w.owners = append(w.owners, o)
	}
	w.start()
	t.Cleanup(w.halt)
	for _, o := range w.owners {
		w.same(o, "streaming", "subscribe_notifications", `{}`)
	}
	return w
}

// token returns the text of an owner's token in this round; all owners use the same two clients.
func (w *ownersWorld) token(o *pairedOwner, client string) string {
	return string(o.name) + "-" + client + "-" + strconv.Itoa(w.round)
}

func (w *ownersWorld) tokens(owners ...*pairedOwner) httpdtest.Tokens {
	all := httpdtest.Tokens{}
	for _, o := range owners {
		for _, client := range []string{"streaming", "polling"} {
			text := w.token(o, client)
			all[text] = principal.Caller{Subject: o.name, Key: oauth.HashOf(text).Hex(), ClientKey: client, Scope: principal.Trade, Expires: w.expires}
		}
	}
	return all
}

func (w *ownersWorld) start() {
	w.t.Helper()
	w.run(w.shared, w.tokens(w.owners...), w.flags)
	for _, o := range w.owners {
		w.run(o.places[1].on, w.tokens(o), nil)
	}
	for _, o := range w.owners {
		for _, p := range o.places {
			p.heard, p.leave = follow(w.t, p.home(), w.token(o, "streaming"))
		}
	}
}

// run starts a program, or three replicas if there are flags for them.
func (w *ownersWorld) run(s *server, tokens httpdtest.Tokens, flags []string) {
	w.t.Helper()
	s.urls = nil
	var stops []func()
	replicas := 3
	if flags == nil {
		flags, replicas = w.one, 1
	}
	for i := range replicas {
		started := startServer(w.t, s.home+strconv.Itoa(i), w.venue, tokens, append(slices.Clone(flags), "--toolsets", "account")...)
		s.urls, s.side, stops = append(s.urls, started.url), started.side, append(stops, started.stop)
	}
	s.stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// home returns the address of the replica that has the owner's stream.
func (p *ownerPlace) home() string { return p.on.urls[p.at%len(p.on.urls)] }

// any returns the address of one of the replicas.
func (p *ownerPlace) any(rng *rand.Rand) string { return p.on.urls[rng.IntN(len(p.on.urls))] }

func (w *ownersWorld) halt() {
	w.t.Helper()
	for _, o := range w.owners {
		for _, p := range o.places {
			p.leave()
		}
		o.places[1].on.stop()
	}
	w.shared.stop()
}

// restart ends all programs and starts them again. The clients come back with new tokens.
func (w *ownersWorld) restart() {
	w.t.Helper()
	w.halt()
	w.round++
	w.start()
	for _, o := range w.owners {
		w.same(o, "streaming", "list_subscriptions", `{}`)
		w.same(o, "polling", "list_subscriptions", `{}`)
	}
}

// act lets an owner do something.
func (w *ownersWorld) act(o *pairedOwner) {
	w.t.Helper()
	client := []string{"streaming", "polling"}[w.rng.IntN(2)]
	symbol := []string{"BTCUSDT", "ETHUSDT"}[w.rng.IntN(2)]
	switch w.rng.IntN(14) {
	case 0, 1:
		o.notes++
		w.same(o, client, "set_alert", fmt.Sprintf(`{"symbol":%q,"condition":{"price_above":%d},"note":"note-%s-%d"}`, symbol, 2+w.rng.IntN(7), o.name, o.notes))
		o.unread++
		w.sameTexts(o, "a pushed notification", [2]string{o.places[0].heard(), o.places[1].heard()})
	case 2, 3:
		o.notes++
		w.same(o, client, "set_alert", fmt.Sprintf(`{"symbol":%q,"condition":{"price_above":%s},"note":"note-%s-%d"}`, symbol, o.level(), o.name, o.notes))
	case 4:
		w.cancel(o, client)
	case 5:
		w.poll(o)
	case 6:
		w.same(o, "polling", "subscribe_notifications", fmt.Sprintf(`{"symbols":[%q]}`, symbol))
	case 7:
		if w.rng.IntN(3) == 0 {
			w.same(o, "polling", "unsubscribe_notifications", `{}`)
		}
	case 8, 12:
		w.trade(o, client, symbol)
	case 9:
		w.sameChart(o, client, symbol)
	default:
		w.same(o, client, []string{"list_alerts", "list_subscriptions", "get_orders"}[w.rng.IntN(3)], `{}`)
		w.samePositions(o, client)
	}
}

// level returns a price that is never reached, another for each alert of each owner.
func (o *pairedOwner) level() string {
	return fmt.Sprintf("9999%c%03d", '1'+o.name[len(o.name)-1]-'a', o.notes)
}

// cancel cancels an alert that the owner has or had.
func (w *ownersWorld) cancel(o *pairedOwner, client string) {
	w.t.Helper()
	n := min(len(o.places[0].ids), len(o.places[1].ids))
	if n == 0 {
		return
	}
	k := w.rng.IntN(n)
	w.sameWith(o, client, "cancel_alert", func(p *ownerPlace) string { return fmt.Sprintf(`{"alert_id":%q}`, p.ids[k]) })
}

// poll takes the notifications, with either client: their queue is one.
func (w *ownersWorld) poll(o *pairedOwner) {
	w.t.Helper()
	text := w.same(o, []string{"streaming", "polling"}[w.rng.IntN(2)], "get_notifications", `{}`)
	if n := strings.Count(text, "triggered_at"); n != o.unread {
		w.t.Fatalf("step %d: %s has %d notifications, want %d: %s", w.step, o.name, n, o.unread, text)
	}
	o.unread = 0
}

// sameChart compares what a chart shows of the owner's things.
func (w *ownersWorld) sameChart(o *pairedOwner, client, symbol string) {
	w.t.Helper()
	var own [2]string
	for i, p := range o.places {
		w.callAt(o, p.home(), client, "list_alerts", `{}`) // after which the replica knows them
		text := w.callAt(o, p.home(), client, "generate_chart", fmt.Sprintf(`{"symbol":%q,"format":"summary"}`, symbol))
		own[i] = strings.Join(regexp.MustCompile(`"price_above":\d+|"note":"[^"]*"|filled|"isError":true`).FindAllString(text, -1), " ")
	}
	w.sameTexts(o, "generate_chart", own)
}

// same calls a tool at both places and returns the answer, which must be the same.
func (w *ownersWorld) same(o *pairedOwner, client, tool, arguments string) string {
	w.t.Helper()
	return w.sameWith(o, client, tool, func(*ownerPlace) string { return arguments })
}

func (w *ownersWorld) sameWith(o *pairedOwner, client, tool string, arguments func(*ownerPlace) string) string {
	w.t.Helper()
	var texts [2]string
	for i, p := range o.places {
		texts[i] = w.call(o, p, client, tool, arguments(p))
	}
	w.sameTexts(o, tool, texts)
	return texts[0]
}

// call calls a tool at any replica; what a stream brought is asked for where it came.
func (w *ownersWorld) call(o *pairedOwner, p *ownerPlace, client, tool, arguments string) string {
	w.t.Helper()
	at := p.any(w.rng)
	if tool == "get_notifications" || tool == "list_subscriptions" {
		at = p.home()
	}
	return w.callAt(o, at, client, tool, arguments)
}

func (w *ownersWorld) callAt(o *pairedOwner, at, client, tool, arguments string) string {
	w.t.Helper()
	var status int
	var text string
	waitFor(w.t, func() bool { // a client asks again what failed for now
		status, text = ask(w.t, http.MethodPost, at+"/mcp", w.token(o, client), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
		return !regexp.MustCompile(`"code":"(unavailable|stale_quote|no_price)"`).MatchString(text)
	})
	if status != http.StatusOK {
		w.t.Fatalf("step %d: %s: %d %s", w.step, tool, status, text)
	}
	return text
}

func (w *ownersWorld) sameTexts(o *pairedOwner, what string, texts [2]string) {
	w.t.Helper()
	for i, p := range o.places {
		texts[i] = p.rename(texts[i])
	}
	if texts[0] != texts[1] {
		w.t.Fatalf("step %d: the answer to %s differs for %s.\nBeside others:\n%s\nAlone:\n%s", w.step, what, o.name, texts[0], texts[1])
	}
}

// rename gives ids numbers in the order in which they are seen, and hides times and prices.
func (p *ownerPlace) rename(text string) string {
	text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllStringFunc(text, func(id string) string {
		k := slices.Index(p.ids, id)
		if k < 0 {
			p.ids, k = append(p.ids, id), len(p.ids)
		}
		return "#" + strconv.Itoa(k)
	})
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`).ReplaceAllString(text, "TIME")
	// A preview of a new alert is made within two seconds or not at all.
	text = regexp.MustCompile(`,"now":\{[^}]*\},"last_would_have_fired":(null|"TIME")(,"evaluated_from":"TIME")?`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`"value":-?[\d.]+`).ReplaceAllString(text, `"value":NUMBER`) // also a round one
	return regexp.MustCompile(`-?\d[\d,]*\.\d+|-?\d{4,}|-?\d{1,3}(,\d{3})+`).ReplaceAllString(text, "NUMBER")
}

// foreign gives every id that an owner saw to the other owners, with every tool that takes one:
// the answer must be, byte for byte, that for an id that never was.
func (w *ownersWorld) foreign(o *pairedOwner) {
	w.t.Helper()
	const unknown = "0198f3c2-0000-7000-8000-000000000000"
	ids := slices.Clone(o.places[0].ids)
	for _, other := range w.owners {
		if other == o {
			continue
		}
		for tool, arguments := range map[string]string{
			"cancel_alert": `{"alert_id":%q}`, "cancel_order": `{"order_id":%q}`,
		} {
			want := w.call(other, other.places[0], "polling", tool, fmt.Sprintf(arguments, unknown))
			for _, id := range ids {
				got := w.call(other, other.places[0], "polling", tool, fmt.Sprintf(arguments, id))
				if strings.ReplaceAll(got, id, unknown) != want {
					w.t.Errorf("%s answers %s for an id of %s:\n%s\nfor one that never was:\n%s", tool, other.name, o.name, got, want)
				}
			}
		}
	}
}
