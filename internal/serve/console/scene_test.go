package console_test

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owner"
	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/serve/console"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/store/scripts"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
)

const (
	base      = "https://candela.example"
	userAgent = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// noon is when the tests take place.
func noon() time.Time { return time.Date(2026, 11, 12, 12, 0, 0, 0, time.UTC) }

// book is a trading account in memory.
type book struct {
	mu     sync.Mutex
	orders []order.Order
	held   []order.PricedPosition
	state  guard.State
	alerts []alert.Alert
	idle   string  // why nothing evaluates the alerts
	fired  uint64  // number of the firing
	value  float64 // at which it fired, 0 for 46998.1
	calls  []string
	looks  atomic.Int64     // readings of the positions
	newest int              // how many Orders lists of those that have ended; 0 for all
	now    []order.Evidence // of Review
	// conditions are those of Review.
	conditions []order.Evidence
	denial     *guard.Denial // of Review
}

func (b *book) did(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call)
}

// done returns what was asked of the account so far.
func (b *book) done() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func (b *book) Status(context.Context) (desk.Status, []string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := desk.Status{Broker: "paper", Mode: order.Paper, State: b.state, Connected: true, Reconciled: true}
	for _, o := range b.orders {
		if !o.Status.Final() {
			s.Open++
		}
		if o.Status == order.PendingApproval {
			s.Pending++
		}
	}
	return s, nil, true
}

func (b *book) Orders(_ context.Context, _ principal.Caller, openOnly bool) ([]order.Order, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ended := 0
	return slices.DeleteFunc(slices.Clone(b.orders), func(o order.Order) bool {
		if o.Status.Final() {
			ended++
		}
		return o.Status.Final() && (openOnly || b.newest > 0 && ended > b.newest)
	}), nil
}

func (b *book) OrderPage(_ context.Context, _ principal.Caller, q order.Query) (order.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return desktest.Page(b.orders, q), nil
}

func (b *book) Positions(context.Context, principal.Caller) ([]order.PricedPosition, error) {
	defer b.looks.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.held), nil
}

func (b *book) Account(context.Context, principal.Caller) (guard.Account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := guard.Default()
	return guard.Account{Broker: "paper", Mode: order.Paper, State: b.state, Rules: guard.Rules(p), Usage: []guard.Usage{
		{Rule: guard.LossRule, Limit: p.MaxDailyLoss, Used: dec("167.64")},
		{Rule: "max_daily_notional", Limit: p.MaxDailyNotional, Used: dec("3554.65")},
		{Rule: "max_exposure", Limit: p.MaxExposure, Used: dec("8628.44")},
		{Rule: "max_open_orders", Limit: p.MaxOpenOrders, Used: dec("3")},
	}, Earned: []guard.Earned{{Time: "today", Realised: dec("100"), Fees: dec("7.01")}, {Time: "all", Realised: dec("-20"), Fees: dec("9")}}}, nil
}

func (b *book) Trades(_ context.Context, _ principal.Caller, q order.TradeQuery) (order.TradePage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.orders) == 0 {
		return order.TradePage{}, nil
	}
	o := b.orders[0]
	return q.Page([]order.Trade{{
		Symbol: o.Symbol, Side: order.Buy, Quantity: dec("0.3"), Proceeds: dec("35100"), Realised: dec("100"), Opened: o.Created, Closed: o.Updated,
		OrderID: o.ID, Reason: order.ByStop, Key: "1", Paid: order.Charges{Fees: order.Fees{"USDT": dec("7.01")}},
	}}, func(market.Symbol) string { return "USDT" }), nil
}

func (b *book) change(id string, to order.Status) (order.Order, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.orders, func(o order.Order) bool { return o.ID == id })
	if at < 0 {
		return order.Order{}, fault.New(fault.NotFound, "unknown_order", "No order.")
	}
	if b.orders[at].Status.Final() {
		return b.orders[at], fault.New(fault.Conflict, "order_closed", "Order %s is %s.", id, b.orders[at].Status)
	}
	b.orders[at].Status = to
	return b.orders[at], nil
}

func (b *book) Cancel(_ context.Context, _ principal.Caller, id string) (order.Order, error) {
	b.did("cancel " + id)
	return b.change(id, order.Canceled)
}

func (b *book) Pending(ctx context.Context) ([]order.Order, error) {
	all, err := b.Orders(ctx, principal.Caller{}, true)
	return slices.DeleteFunc(all, func(o order.Order) bool { return o.Status != order.PendingApproval }), err
}

func (b *book) Review(context.Context, string) (guard.Review, error) {
	return guard.Review{Because: []guard.Breach{{Rule: "approval_above", Value: dec("1886"), Limit: dec("1000")}}, Evidence: b.now, Conditions: b.conditions, Denial: b.denial}, nil
}

func (b *book) Approve(_ context.Context, id, _ string) (order.Order, error) {
	b.did("approve " + id)
	return b.change(id, order.Accepted)
}

func (b *book) Refuse(_ context.Context, id, _, reason string) (order.Order, error) {
	b.did("refuse " + id + " " + reason)
	return b.change(id, order.Denied)
}

func (b *book) Halt(_ context.Context, by, reason string) (guard.State, error) {
	b.did("halt " + reason)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Restrictions = []guard.Restriction{{Kind: guard.OwnerHalt, By: by, Reason: reason, Since: noon()}}
	return b.state, nil
}

func (b *book) Resume(context.Context, string) (guard.State, error) {
	b.did("resume")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = guard.State{}
	return b.state, nil
}

func (*book) policy() guard.Policy {
	p := guard.Default()
	p.Approval.Above = guard.Limit{Value: dec("1000")}
	return p
}

func (b *book) LastQuote(s market.Symbol) (order.Quote, bool) {
	return order.Quote{Last: dec("47283.43"), At: noon()}, s == btc()
}

func (b *book) Quote(context.Context, market.Symbol) (order.Quote, error) {
	return order.Quote{}, fault.New(fault.Unavailable, "no_price", "No price.")
}

func (b *book) firings() []console.Firing {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := console.Firing{Seq: max(7, b.fired)}
	one.ID, one.Symbol, one.Condition.Type, one.Condition.Threshold, one.At, one.Note = "al1", "BTCUSDT", "price_below", "47000", noon().Add(-time.Hour), "range low"
	one.Value = new(cmp.Or(b.value, 46998.1))
	return []console.Firing{one}
}

func (b *book) Cause(_ context.Context, id string) (string, time.Time, error) {
	if id != "o1" {
		return "", time.Time{}, nil
	}
	return "al1", noon().Add(-time.Hour), nil
}

func (b *book) Setter(context.Context, string) (string, time.Time, error) {
	return "Claude", noon().Add(-2 * time.Hour), nil
}

func (b *book) Answers(context.Context, string) ([]string, error) { return []string{"o1"}, nil }

// bell is the alerts of a book.
type bell struct{ *book }

func (b bell) Set(_ context.Context, _ principal.Caller, want alert.Alert) (alert.Alert, error) {
	b.did("alert " + want.Describe())
	b.mu.Lock()
	defer b.mu.Unlock()
	want.ID = "new"
	b.alerts = append(b.alerts, want)
	return want, nil
}

func (b bell) Alerts(context.Context, principal.Caller) ([]alert.Alert, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.alerts), nil
}

func (b bell) Cancel(_ context.Context, _ principal.Caller, id string) error {
	b.did("cancel alert " + id)
	return nil
}

func (b bell) ResumeAlert(_ context.Context, _ principal.Caller, id string) error {
	b.did("resume alert " + id)
	return nil
}

// scene is a console over a book.
type scene struct {
	tb      testing.TB
	book    *book
	plays   *plays
	handler *console.Console
	logins  *oauth.Server
	log     *oauthtest.Log
	confirm func(by principal.Caller) error // what the servers say of a session; nil: it is in force

	mu  sync.Mutex
	now time.Time
}

func (s *scene) confirmed(_ context.Context, by principal.Caller) error {
	if s.confirm == nil {
		return nil
	}
	return s.confirm(by)
}

func (s *scene) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *scene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func newScene(tb testing.TB) *scene {
	tb.Helper()
	return newSceneAt(tb, base)
}

func newSceneAt(tb testing.TB, base string) *scene {
	tb.Helper()
	return newSceneWith(tb, base, oauth.Limits{})
}

// newCrowdedScene returns a scene with as many logins as a test has browsers.
func newCrowdedScene(tb testing.TB) *scene {
	tb.Helper()
	many := oauth.Rate{Burst: 100_000, Every: time.Nanosecond}
	return newSceneWith(tb, base, oauth.Limits{Guess: many, GuessAll: many})
}

func newSceneWith(tb testing.TB, base string, limits oauth.Limits) *scene {
	tb.Helper()
	s := &scene{tb: tb, book: &book{}, plays: &plays{}, log: &oauthtest.Log{}, now: noon()}
	var err error
	log := slog.New(slog.NewTextHandler(s.log, nil))
	if s.logins, err = oauth.New(oauth.NewMemory(oauth.MaxTokens), oauthtest.Owner(tb), oauth.Config{BaseURL: base, Log: log, Limits: limits}); err != nil {
		tb.Fatal(err)
	}
	s.handler, err = console.New(console.Config{
		Owner: owner.New(s.logins, s.clock), BaseURL: base, Log: log, Now: s.clock, Confirm: s.confirmed,
		Ports: console.Ports{Account: s.book, Alerts: bell{s.book}, Prices: s.book, Policy: s.book.policy, PolicyText: somePolicy, Firings: s.book.firings, Closed: closings, History: s.book, Receipts: safe{}, Charts: charts{}, Drawings: tooltest.Drawings(), Clients: newCrowd(s.book), Audit: scroll{s.book}, Health: someHealth, Day: someDay, Market: shop{}, Receivers: receivers, Scripts: shelf(tb), Reports: tests{}, Strategies: s.plays, NotEvaluated: func(*alert.Alert) string { return s.book.idle }},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// browser keeps cookies as a browser does.
type browser struct {
	s       *scene
	cookies map[string]string
	agent   string
}

func (s *scene) browser() *browser {
	return &browser{s: s, cookies: map[string]string{}, agent: userAgent}
}

type response struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(method, path string, form url.Values, header http.Header) response {
	b.s.tb.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(b.s.tb.Context(), method, base+path, body)
	r.Header.Set("User-Agent", b.agent)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", base)
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	b.s.handler.ServeHTTP(w, r)
	answer := w.Result()
	defer func() { _ = answer.Body.Close() }()
	for _, c := range answer.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return response{answer.StatusCode, answer.Header, w.Body.String()}
}

func (b *browser) get(path string) response { return b.do(http.MethodGet, path, nil, nil) }

// token returns the token of the first form on a page.
func token(tb testing.TB, page response) string {
	tb.Helper()
	m := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page.body)
	if m == nil {
		tb.Fatalf("no form on %d %s", page.status, page.body)
	}
	return m[1]
}

// login logs the browser in.
func (b *browser) login() *browser {
	b.s.tb.Helper()
	page := b.get("/console/login")
	r := b.do(http.MethodPost, "/console/login", url.Values{"token": {token(b.s.tb, page)}, "passphrase": {oauthtest.Passphrase}}, nil)
	if r.status != http.StatusSeeOther {
		b.s.tb.Fatalf("login: %d %s", r.status, r.body)
	}
	return b
}

// post sends a form of the session.
func (b *browser) post(path string, pairs ...string) response {
	b.s.tb.Helper()
	form := url.Values{"token": {b.formToken(path)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return b.do(http.MethodPost, path, form, nil)
}

func btc() market.Symbol { return market.Symbol{Venue: "binance", Name: "BTCUSDT"} }

// anOrder returns an order of a client.
func anOrder(id string, status order.Status, client string) order.Order {
	return order.Order{
		Origin: order.Origin{Spec: order.Spec{ID: id, Symbol: btc(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.04"), Price: dec("47150")}, Broker: "paper", Mode: order.Paper, Client: client},
		Status: status, Created: noon().Add(-time.Hour), Updated: noon().Add(-time.Minute),
	}
}

// fill puts a usual account into the book.
func (b *book) fill() {
	asked := anOrder("ask1", order.PendingApproval, "Claude")
	asked.Token = "9f3c21d0aaaa"
	asked.Approval = order.Approval{Asked: noon().Add(-time.Minute), Expires: noon().Add(9 * time.Minute), Price: dec("47000")}
	asked.Note = "the low held"
	sold := anOrder("sold", order.Filled, "Claude")
	sold.Side, sold.Filled = order.Sell, sold.Quantity
	sold.Fills = []order.Fill{{TradeID: "1", Quantity: sold.Quantity, Price: dec("47900"), At: noon().Add(-11 * time.Hour)}}
	denied := anOrder("den1", order.Denied, "Cursor")
	denied.Denial, denied.Reason = order.Denial{Rule: "max_order_notional"}, "value up to 3926.41, limit 2500"
	b.orders = []order.Order{asked, anOrder("o1", order.Accepted, "Claude"), denied, sold}
	b.held = []order.PricedPosition{{
		Position: order.Position{Symbol: btc(), Quantity: dec("0.086"), Cost: dec("4109.3")}, Mode: order.Paper,
		Quote: order.Quote{Last: dec("47283.43"), At: noon()},
	}}
}

// shelf has a script that compiles and one that does not.
func shelf(tb testing.TB) *scripts.Shelf {
	tb.Helper()
	home := tb.TempDir()
	if err := os.Mkdir(filepath.Join(home, scripts.DirName), 0o700); err != nil {
		tb.Fatal(err)
	}
	for name, source := range map[string]string{"my_cross": "//@version=6\nindicator(\"</pre><script>alert(1)</script>\")\nplot(close)\n", "broken": "what"} {
		if err := os.WriteFile(filepath.Join(home, scripts.DirName, name+".pine"), []byte(source), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return scripts.Open(home, scripts.Unshared, pine.Compile)
}

// shop has prices and names.
type shop struct{}

func (shop) Day(context.Context, market.Symbol) (before, last float64, err error) {
	return 48000, 47283.43, nil
}

func (shop) Closes(context.Context, market.Symbol, time.Time) ([]float64, error) {
	return []float64{47000, 47100, 46900, 47283.43}, nil
}

func (shop) Currency(context.Context, market.Symbol) string { return "USDT" }

func (shop) Known(context.Context) []console.Known {
	return []console.Known{{Use: "BTCUSDT", Name: "Bitcoin"}}
}

func receivers() []console.Receiver {
	return []console.Receiver{{Name: "ntfy", Delivered: 3, Took: func(seq uint64) (time.Duration, bool) { return 420 * time.Millisecond, seq == 7 }, Test: accepts}, {Name: "telegram", Test: refuses}}
}

func accepts(context.Context) (string, bool) { return "200 OK", true }

func refuses(context.Context) (string, bool) { return "401 <b>Unauthorized</b>", false }

func someHealth() []console.Part {
	return []console.Part{{Name: "server", Text: "41 connections, 3 streams"}, {Name: "feeds", Text: "no prices from binance", Bad: true}}
}

func someDay() []desk.Sample {
	midnight := noon().Truncate(24 * time.Hour)
	return []desk.Sample{{At: midnight, PnL: dec("0")}, {At: midnight.Add(time.Hour), PnL: dec("35.5")}, {At: midnight.Add(2 * time.Hour), PnL: dec("-120")}}
}

func somePolicy() (which, problem string) {
	return "The policy 0123456789abcdef is in force, read from /home/ann/.candela/policy.toml at 2026-01-31T12:00:00Z.", "policy.toml differs from the policy in force."
}

// safe makes receipts.
type safe struct{}

func (safe) Receipt(_ context.Context, _ principal.Caller, id string) ([]byte, error) {
	return []byte(`{"receipt":"` + id + `"}`), nil
}
