package orders

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/order"
)

// holder is a venue that holds orders with legs, or the paper account.
type holder struct {
	*venue
	symbol                 string
	short                  bool            // the entry sells
	laws                   []string        // of the policy
	quantity, stop, target decimal.Decimal // of an entry and its legs
	fee                    decimal.Decimal // the part of a purchase that is taken out of it
	dip, crash             decimal.Decimal // a price below an entry that waits, and one below its stop
	nearer, further        decimal.Decimal // where the stop and the target are moved to
	truth                  func(*shield) []placed
	// The ways in which the program dies with an order on its way. nil where there is no
	// such moment.
	ignored, taken, unsaved func(*shield)
	cut                     func(*shield)         // lets nothing reach the venue from now on
	cutNext                 func(*shield)         // the same, where an order is persisted as sent before the old ones are ended
	cutNew                  func(*shield)         // lets no new order reach it
	mend                    func()                // ends the faults that no request has met
	stall                   func(*shield)         // lets the answer to the next new order not come
	age                     func(request func())  // lets a request be too old for the venue; nil where none is
	move                    func(decimal.Decimal) // moves the price, and trades at it
	some                    func(decimal.Decimal) // moves it, and trades very little
	refuse                  func(*shield)         // the legs of an entry, when it is filled
	expire                  func(*shield)         // the entry
	both                    func(*shield)         // fills both legs of an entry; nil where that cannot be
	served                  atomic.Int32          // how many requests to place or cancel an order were answered
}

// placed is an order as its venue knows it.
type placed struct {
	id, role         string // entry, stop_loss, take_profit or exit
	status           string // held, open, filled or ended
	quantity, filled decimal.Decimal
	price, stop      decimal.Decimal
	trail            decimal.Decimal // per cent
	cost             decimal.Decimal // of what is filled
}

// roles sorts orders as they are listed.
func roles() []string { return []string{"entry", "stop_loss", "take_profit", "exit"} }

// list writes roles and states down in a fixed order.
func list(all [][2]string) string {
	slices.SortFunc(all, func(x, y [2]string) int {
		return cmp.Or(slices.Index(roles(), x[0])-slices.Index(roles(), y[0]), strings.Compare(x[1], y[1]))
	})
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = one[0] + " " + one[1]
	}
	return cmp.Or(strings.Join(words, ", "), "nothing")
}

// sides are those of an entry and of what closes it.
func (h *holder) sides() (opens, closes string) {
	if h.short {
		return "sell", "buy"
	}
	return "buy", "sell"
}

// roleOf returns the role of an order of the venue by its form.
func roleOf(opens bool, stop, trail decimal.Decimal, limit bool) string {
	switch {
	case opens:
		return "entry"
	case stop.IsPositive(), trail.IsPositive():
		return "stop_loss"
	case limit:
		return "take_profit"
	default:
		return "exit"
	}
}

// entry returns the arguments of an entry with one or two legs.
func (h *holder) entry(price string, legs int) string {
	opens, _ := h.sides()
	args := fmt.Sprintf(`"symbol":%q,"side":%q,"type":"limit","quantity":%s,"price":%s,"stop_loss":%s`, h.symbol, opens, h.quantity, price, h.stop)
	if legs == 2 {
		args += fmt.Sprintf(`,"take_profit":%s`, h.target)
	}
	return args
}

// laws is the policy of the matrix. Dry runs ask again and again whether orders pass.
func laws(more ...string) []string {
	return append([]string{`max_orders_per_minute = "none"`, `price_band_pct = "none"`, `resting_band_pct = "none"`, `unprotected_grace = "1s"`}, more...)
}

// remote sets the moments of a venue that is reached over a network.
func (h *holder) remote(server interface {
	Next(faults ...fake.Fault)
	Clear()
},
) {
	placing := func(r *http.Request) bool { return r.Method == http.MethodPost }
	h.cutNew = func(*shield) { server.Next(fake.Fault{Hang: true, On: placing}, fake.Fault{Hang: true, On: placing}) }
	h.mend = server.Clear
	h.stall = func(*shield) { server.Next(fake.Fault{Stall: true, On: placing}) }
	h.cut = func(s *shield) { s.venue.close() }
	h.cutNext = h.cut
	h.ignored = func(s *shield) { s.fails(fake.Fault{Hang: true}, nil) }
	h.taken = func(s *shield) { s.fails(fake.Fault{Stall: true}, nil); s.arrived() }
	h.unsaved = func(s *shield) { s.fails(fake.Fault{}, s.lock); s.arrived(); settle() }
}

// serve counts the requests that are such ones when they come and when they are answered.
func (h *holder) serve(inner http.Handler, such func(*http.Request) bool) http.Handler {
	return h.count(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		if such(r) {
			h.served.Add(1)
		}
	}), such)
}

// binanceWord is the state of an order at Binance.
func binanceWord(o fakebinance.Order) string {
	switch {
	case o.Status == "PENDING_NEW":
		return "held"
	case o.Open():
		return "open"
	case o.Status == "FILLED":
		return "filled"
	default:
		return "ended"
	}
}

// bitcoin is a fake Binance whose price stands still until a test moves it.
func bitcoin() *fakebinance.Server {
	server := fakebinance.New(fakebinance.Config{Seed: 1, Step: 100 * time.Millisecond, Depth: dec("10")})
	server.Fix("BTCUSDT", dec("50000"), dec("1"))
	return server
}

// prices has what is asked for in both places where bitcoin is traded.
func (h *holder) prices(legs int) {
	h.symbol, h.quantity, h.stop, h.target = "BTCUSDT", dec("0.02"), dec("48000"), dec("53000")
	h.dip, h.crash, h.nearer, h.further = dec("49400"), dec("47500"), dec("48500"), dec("54000")
	h.half, h.fills, h.rests = dec("0.01"), h.entry("50100", legs), h.entry("49500", legs)
}

func heldByBinance(tb testing.TB, legs int) *holder {
	tb.Helper()
	server := bitcoin()
	server.AllowLate(true) // what waits before the door arrives when the program has started again
	h := &holder{venue: &venue{
		name: "binance", environ: []string{"CANDELA_BINANCE_API_KEY=" + fakebinance.Key, "CANDELA_BINANCE_API_SECRET=" + fakebinance.Secret},
		fail:  func(f fake.Fault, arrived func()) { server.Next(on(f, fakebinance.Changes, arrived)) },
		trade: func(id string, q decimal.Decimal) { server.Trade(id, q) },
	}}
	h.prices(legs)
	h.fee = dec("0.001")
	h.remote(server)
	h.door = open(tb, h.serve(server, fakebinance.Changes), fakebinance.Changes)
	h.args = []string{"--broker", "binance", "--binance-url", serve(tb, server), "--binance-trade-url", h.url}
	h.truth = func(*shield) []placed {
		var all []placed
		for _, o := range server.Orders() {
			trail := decimal.New(o.TrailingDelta, -2)
			role := roleOf(o.Side == "BUY", o.StopPrice, trail, o.Type != "MARKET")
			all = append(all, placed{o.ClientID, role, binanceWord(o), o.Quantity, o.Executed, o.Price, o.StopPrice, trail, o.Quote})
		}
		return all
	}
	h.age = func(request func()) {
		server.AllowLate(false)
		server.SetSkew(10 * time.Second)
		defer server.AllowLate(true)
		defer server.SetSkew(0)
		request()
	}
	h.move = func(price decimal.Decimal) { server.Fix("BTCUSDT", price, dec("1")) }
	h.refuse = func(s *shield) {
		refused := 0
		for _, o := range h.truth(s) {
			if o.role == "stop_loss" && o.status == "held" && server.RefuseLeg(o.id) {
				refused++
			}
		}
		if refused != 1 {
			s.Errorf("%d stops were refused, want one that waits", refused)
		}
	}
	h.expire = func(s *shield) { server.Expire(s.id) }
	h.laws = laws()
	return h
}

func heldByAlpaca(tb testing.TB, legs int) *holder {
	tb.Helper()
	server := fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 3})
	server.SetHours(true)
	last, _ := server.Quote("MSFT")
	h := &holder{symbol: "MSFT", quantity: dec("2"), venue: &venue{
		name: "alpaca", half: dec("1"), environ: []string{"CANDELA_ALPACA_KEY_ID=" + fakealpaca.KeyID, "CANDELA_ALPACA_SECRET_KEY=" + fakealpaca.Secret},
		fail:  func(f fake.Fault, arrived func()) { server.Next(on(f, fakealpaca.Changes, arrived)) },
		trade: func(id string, q decimal.Decimal) { server.Trade(id, q) },
	}}
	h.move = func(price decimal.Decimal) { server.SetQuote("MSFT", price.String(), price.Add(dec("0.02")).String()) }
	h.move(last)
	at := func(part string) decimal.Decimal { return last.Mul(dec(part)).Round(2) }
	h.stop, h.target, h.dip, h.crash, h.nearer, h.further = at("0.95"), at("1.06"), at("0.98"), at("0.94"), at("0.96"), at("1.08")
	h.fills, h.rests = h.entry(at("1.002").String(), legs), h.entry(at("0.985").String(), legs)
	h.remote(server)
	h.door = open(tb, h.serve(server, fakealpaca.Changes), fakealpaca.Changes)
	h.args = []string{"--broker", "alpaca", "--stock-venue", "alpaca", "--alpaca-url", h.url, "--alpaca-data-url", serve(tb, server)}
	h.truth = func(*shield) []placed { return alpacaOrders(server.Truth()) }
	h.refuse = func(*shield) { server.RejectLegs("both") }
	h.expire = func(s *shield) { server.Cancel(s.id) }
	h.both = func(s *shield) {
		if !server.FillBoth(s.id) {
			s.Error("no legs are open")
		}
	}
	h.laws = laws(`max_quote_age = "1h"`) // the fake's bars may be older than an order likes
	return h
}

// alpacaOrders are the orders at Alpaca.
func alpacaOrders(truth fakealpaca.Truth) []placed {
	waits := make(map[string]bool)
	for _, g := range truth.Groups {
		for _, leg := range g.Legs {
			waits[leg.VenueID] = leg.Waits
		}
	}
	cost := make(map[string]decimal.Decimal)
	for _, f := range truth.Fills {
		cost[f.VenueID] = cost[f.VenueID].Add(f.Quantity.Mul(f.Price))
	}
	all := make([]placed, 0, len(truth.Orders))
	for _, o := range truth.Orders {
		word := "open"
		switch {
		case waits[o.VenueID]:
			word = "held"
		case o.Status == order.Filled:
			word = "filled"
		case o.Status.Final():
			word = "ended"
		}
		all = append(all, placed{o.ID, roleOf(o.Side == order.Buy, o.StopPrice, o.TrailPercent, o.Type == order.Limit), word, o.Quantity, o.Filled, o.Price, o.StopPrice, o.TrailPercent, cost[o.VenueID]})
	}
	return all
}

// journal is an entry of the paper account's journal, as far as it is read here.
type journal struct {
	Taken *struct {
		ID        string          `json:"id"`
		Side      string          `json:"side"`
		Type      string          `json:"type"`
		Quantity  decimal.Decimal `json:"quantity"`
		Price     decimal.Decimal `json:"price"`
		StopPrice decimal.Decimal `json:"stop_price"`
		Trail     decimal.Decimal `json:"trail_percent"`
		Group     struct {
			Leg bool `json:"leg"`
		} `json:"group"`
	} `json:"taken"`
	Fill *struct {
		OrderID  string          `json:"order_id"`
		Quantity decimal.Decimal `json:"quantity"`
		Price    decimal.Decimal `json:"price"`
	} `json:"fill"`
	Amended *struct {
		ID       string          `json:"id"`
		Quantity decimal.Decimal `json:"quantity"`
	} `json:"amended"`
	Cancel string `json:"cancel"`
	Expire string `json:"expire"`
}

// apply brings orders to where an entry says, in the order in which they were taken.
func (j journal) apply(all []placed, opens string) []placed {
	at := func(id string) *placed {
		i := slices.IndexFunc(all, func(o placed) bool { return o.id == id })
		return &all[i]
	}
	switch {
	case j.Taken != nil:
		t := j.Taken
		status := "open"
		if t.Group.Leg {
			status = "held"
		}
		all = append(all, placed{t.ID, roleOf(t.Side == opens, t.StopPrice, t.Trail, t.Type == "limit"), status, t.Quantity, decimal.Zero, t.Price, t.StopPrice, t.Trail, decimal.Zero})
	case j.Fill != nil:
		o := at(j.Fill.OrderID)
		o.cost = o.cost.Add(j.Fill.Quantity.Mul(j.Fill.Price))
		if o.filled = o.filled.Add(j.Fill.Quantity); o.filled.Equal(o.quantity) {
			o.status = "filled"
		}
	case j.Amended != nil:
		o := at(j.Amended.ID)
		o.status = "open"
		if q := j.Amended.Quantity; q.IsPositive() {
			o.quantity = q
		}
	case j.Cancel != "" || j.Expire != "":
		at(j.Cancel + j.Expire).status = "ended"
	}
	return all
}

func heldOnPaper(tb testing.TB, legs int) *holder {
	tb.Helper()
	h := &holder{venue: &venue{name: "paper"}, mend: func() {}}
	h.prices(legs)
	h.onPaper(tb)
	return h
}

// shortOnPaper is heldOnPaper of a short position in a perpetual future, at prices on the other side of 50,000.
func shortOnPaper(tb testing.TB, legs int) *holder {
	tb.Helper()
	h := &holder{venue: &venue{name: "paper"}, mend: func() {}, short: true}
	h.prices(legs)
	h.symbol = "BTCUSDT.P"
	for _, p := range []*decimal.Decimal{&h.stop, &h.target, &h.dip, &h.crash, &h.nearer, &h.further} {
		*p = dec("100000").Sub(*p)
	}
	h.fills, h.rests = h.entry("49900", legs), h.entry("50500", legs)
	h.onPaper(tb)
	h.laws = laws("max_leverage = 5", "allow_short = true")
	return h
}

// onPaper lets the paper account hold the orders.
func (h *holder) onPaper(tb testing.TB) {
	tb.Helper()
	server := bitcoin()
	server.Fix(h.symbol, dec("50000"), dec("1"))
	// Nothing is sent over a network: the door has nobody behind it.
	h.door = open(tb, http.NotFoundHandler(), func(*http.Request) bool { return false })
	h.args = []string{"--binance-url", serve(tb, server)}
	h.truth = func(s *shield) []placed {
		var all []placed
		for _, line := range s.column("SELECT entry FROM journals ORDER BY seq") {
			var j journal
			if err := json.Unmarshal([]byte(line), &j); err != nil {
				s.Fatal(err)
			}
			opens, _ := h.sides()
			all = j.apply(all, opens)
		}
		return all
	}
	h.cut = func(s *shield) { s.hang("journals", "1") }
	h.cutNext = func(s *shield) { s.hang("events", "NEW.kind = 'order_sent'") }
	h.cutNew = func(s *shield) { s.hang("journals", `NEW.entry LIKE '%"taken"%'`) }
	h.unsaved = func(s *shield) {
		s.hang("events", "NEW.kind NOT IN ('order_created', 'order_sent', 'order_planned')")
		s.begin()
		s.arrived()
	}
	h.move = func(price decimal.Decimal) { server.Fix(h.symbol, price, dec("1")) }
	little := dec("0.0001")
	if h.short {
		little = dec("0.001") // the step of the perpetual future
	}
	h.some = func(price decimal.Decimal) { server.Fix(h.symbol, price, little) }
	h.laws = laws()
}

// shield is one cell of the matrix of orders with legs.
type shield struct {
	*scene
	holder *holder
	legs   int
}

// column returns the texts that a query finds in the store.
func (s *shield) column(query string) []string {
	s.Helper()
	db := s.db()
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(s.Context(), query)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			s.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return all
}

func (s *shield) execute(statements ...string) {
	s.Helper()
	db := s.db()
	defer func() { _ = db.Close() }()
	for _, one := range statements {
		if _, err := db.ExecContext(s.Context(), one); err != nil {
			s.Fatal(err)
		}
	}
}

// hang lets the program's next write to a table last until it is killed, if the row is such
// a one: nothing of it is persisted, and whatever was before is.
func (s *shield) hang(table, such string) {
	s.Helper()
	s.execute("CREATE VIEW endless AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
		"CREATE TRIGGER hangs BEFORE INSERT ON "+table+" WHEN "+such+" BEGIN SELECT count(*) FROM endless; END")
}

func (s *shield) unhang() { s.execute("DROP TRIGGER IF EXISTS hangs", "DROP VIEW IF EXISTS endless") }

// arrived waits until the venue has an order.
func (s *shield) arrived() {
	s.Helper()
	s.await("an order at the venue", func() bool { return len(s.holder.truth(s)) > 0 })
}

// venueHas describes every order that the venue ever took.
func (s *shield) venueHas() string {
	var all [][2]string
	for _, o := range s.holder.truth(s) {
		word := o.status
		if word != "filled" && o.filled.IsPositive() {
			word += " in part"
		}
		all = append(all, [2]string{o.role, word})
	}
	return list(all)
}
