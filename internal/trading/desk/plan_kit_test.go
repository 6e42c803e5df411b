package desk_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// site is a desk at a venue whose price a test sets: on paper, or a real broker at a fake. Tests
// write quantities and prices as of BTCUSDT; shares are a thousand times as many and as cheap.
type site struct {
	*world
	symbol  market.Symbol
	shares  bool
	paper   *onPaper            // nil at a fake
	binance *fakebinance.Server // nil elsewhere
	alpaca  *fakealpaca.Server  // nil elsewhere
	bars    int64               // that were sent
}

// The venues of a site.
const (
	onThePaper = "paper"
	binanceToo = "Binance"
	alpacaToo  = "Alpaca"
)

// atSites runs a test at venues, with the price at 50,000.
func atSites(t *testing.T, test func(s *site), venues ...string) {
	t.Helper()
	if len(venues) == 0 {
		venues = []string{onThePaper, binanceToo, alpacaToo}
	}
	for _, venue := range venues {
		t.Run(venue, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, venue)
				defer func() { s.stop() }()
				time.Sleep(2 * time.Second)
				test(s)
			})
		})
	}
}

// newSite starts a desk at a venue.
func newSite(t *testing.T, venue string) *site {
	t.Helper()
	if venue == onThePaper {
		p := newPaper(t)
		p.stop()
		s := &site{world: p.world, paper: p, symbol: papertest.BTCUSDT().Symbol}
		s.loose()
		p.open()
		return s
	}
	if venue == alpacaToo {
		time.Sleep(time.Until(time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC))) // it has no bars before, so no tick
	}
	network, hosts := fake.NewNetwork(), (*upstream.Hosts)(nil)
	s := &site{world: newWorld(t)}
	var shut func()
	var err error
	if venue == binanceToo {
		s.binance = fakebinance.New(fakebinance.Config{Depth: decimal.NewFromInt(10), Funds: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(1_000_000)}})
		s.symbol = market.Symbol{Venue: "binance", Name: "BTCUSDT"}
		shut = network.Serve("binance.test:80", s.binance)
		hosts = upstream.NewHosts(network.Dial)
		s.broker, err = onBinance{s.binance}.open(hosts)
	} else {
		s.alpaca = fakealpaca.New(fakealpaca.Config{Now: time.Now})
		s.symbol, s.shares, s.assets = market.Symbol{Venue: "alpaca", Name: "AAPL"}, true, false
		s.alpaca.SetUnlimited()
		s.alpaca.SetHours(true)
		shut = network.Serve("alpaca.test:80", s.alpaca)
		hosts = upstream.NewHosts(network.Dial)
		s.broker, err = alpaca.New(hosts, alpaca.Config{Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca.test", DataURL: "http://alpaca.test", Now: time.Now})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shut)
	t.Cleanup(func() { _ = hosts.Close() })
	s.resolve = func(market.Symbol) (market.Symbol, error) { return s.symbol, nil }
	s.loose()
	s.move("50000")
	s.start()
	return s
}

// loose takes away the limits that are about how many orders there are.
func (s *site) loose() {
	s.policy.DuplicateWindow = 0
	off := guard.Limit{Off: true}
	s.policy.MaxOrdersPerMinute, s.policy.MaxSymbolOpenOrders, s.policy.MaxOpenOrders, s.policy.MaxDailyLoss = off, off, off, off
	s.policy.PriceBandPct = guard.Limit{Value: dec("20")}
}

// again ends the desk, as a crash does if it is killed, and starts it over what is left.
func (s *site) again(end func()) {
	s.t.Helper()
	end()
	if s.paper != nil {
		s.paper.open()
	} else {
		s.start()
	}
	time.Sleep(5 * time.Second)
}

// q is a quantity at the venue.
func (s *site) q(quantity string) decimal.Decimal {
	if s.shares {
		return dec(quantity).Shift(3)
	}
	return dec(quantity)
}

// p is a price at the venue.
func (s *site) p(price string) decimal.Decimal {
	if s.shares {
		return dec(price).Shift(-3)
	}
	return dec(price)
}

// net adds quantities. What is bought is less a fee where the venue takes it from that.
func (s *site) net(quantities ...string) decimal.Decimal {
	sum := decimal.Zero
	for _, text := range quantities {
		one := s.q(text)
		if s.binance != nil && one.IsPositive() {
			one = one.Mul(dec("0.999"))
		}
		sum = sum.Add(one)
	}
	return sum
}

// move sets the price, which meets the orders at the venue and reaches the desk.
func (s *site) move(price string) {
	p := s.p(price)
	s.market.Set(s.symbol, order.Quote{Last: p})
	switch {
	case s.binance != nil:
		s.binance.Move(s.symbol.Name, p)
	case s.alpaca != nil:
		s.alpaca.SetQuote(s.symbol.Name, p.String(), p.String())
	}
	f := p.InexactFloat64()
	for range 2 { // on paper an order that came with the first is filled by the second
		s.bars++
		e := provider.Event{
			Sub: provider.Sub{Symbol: s.symbol, Interval: market.Minute1}, Kind: provider.Closed, At: time.Now().Add(time.Hour),
			Bar: market.Bar{T: time.Now().Unix() + 60*s.bars, O: f, H: f, L: f, C: f, V: 1000},
		}
		if s.paper != nil {
			s.paper.paper.Observe(e, provider.Clock{})
		}
		if s.Desk != nil {
			s.Observe(e)
		}
	}
}

// protection reads prices such as "stop 48000 target 55000".
func (s *site) protection(words string) (p order.Protection) {
	all := strings.Fields(words)
	for i := 0; i+1 < len(all); i += 2 {
		switch all[i] {
		case "stop":
			p.StopLoss = s.p(all[i+1])
		case "trail":
			p.TrailPercent = dec(all[i+1])
		case "target":
			p.TakeProfit = s.p(all[i+1])
		default:
			s.t.Fatalf("no price is called %q", all[i])
		}
	}
	return p
}

// buys asks for a purchase at the market with protection.
func (s *site) buys(quantity, words string) order.Request {
	return order.Request{Symbol: s.symbol, Side: order.Buy, Type: order.Market, Quantity: s.q(quantity), Protect: s.protection(words)}
}

// sells asks for a sale that reduces the position, or for its protection.
func (s *site) sells(quantity decimal.Decimal, words string) order.Request {
	return order.Request{Symbol: s.symbol, Side: order.Sell, Type: order.Market, Quantity: quantity, ReduceOnly: true, Protect: s.protection(words)}
}

// done places an order and lets its answers come.
func (s *site) done(r order.Request) order.Placed {
	s.t.Helper()
	p := s.placed(r)
	time.Sleep(2 * time.Second)
	return p
}

// denied holds that a request is denied by a rule, or refused with a code.
func (s *site) denied(r order.Request, rule string) {
	s.t.Helper()
	p, err := s.Place(s.t.Context(), caller(), r)
	if f := fault.Of(err); f == nil || f.Code != rule && !strings.HasPrefix(f.Message, rule+":") {
		s.t.Errorf("placed as %v, %v; want %s", p.Status, err, rule)
	}
}

// sold sells a part of the position at the market, and lets its answers come.
func (s *site) sold(quantity decimal.Decimal) order.Placed {
	s.t.Helper()
	p := s.done(s.sells(quantity, ""))
	s.wants(s.order(p.ID), order.Filled)
	return p
}

// held returns what is held.
func (s *site) held() decimal.Decimal {
	return s.store.Book(owner).Position(s.symbol).Quantity
}

// lines returns the plan in words, oldest first.
func (s *site) lines() []string {
	s.t.Helper()
	positions, err := s.Positions(s.t.Context(), caller())
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, p := range positions {
		for _, l := range p.Plan {
			all = append(all, s.words(l.Quantity, l.Protect))
		}
	}
	return all
}

func (*site) words(quantity decimal.Decimal, p order.Protection) string {
	text := []string{quantity.String()}
	for _, one := range []struct {
		name  string
		value decimal.Decimal
	}{{"stop", p.StopLoss}, {"trail", p.TrailPercent}, {"target", p.TakeProfit}} {
		if one.value.IsPositive() {
			text = append(text, one.name, one.value.String())
		}
	}
	return strings.Join(text, " ")
}

// want is a line in words.
func (s *site) want(quantity decimal.Decimal, words string) string {
	return s.words(quantity, s.protection(words))
}

// working returns in words what the orders at the venue protect, sorted.
func (s *site) working() []string {
	s.t.Helper()
	open, err := s.broker.Open(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	groups, sizes := make(map[string]*order.Protection), make(map[string]decimal.Decimal)
	for _, r := range open {
		if r.Side == order.Buy || r.Status == order.Held { // an entry, and a leg that waits for it
			continue
		}
		key := "group " + r.Group.Name
		if r.Group.Name == "" {
			key = "order " + r.VenueID
		}
		if groups[key] == nil {
			groups[key] = &order.Protection{}
			sizes[key] = r.Quantity.Sub(r.Filled)
		}
		switch {
		case r.TrailPercent.IsPositive():
			groups[key].TrailPercent = r.TrailPercent
		case r.IsStop():
			groups[key].StopLoss = r.StopPrice
		default:
			groups[key].TakeProfit = r.Price
		}
		if left := r.Quantity.Sub(r.Filled); !left.Equal(sizes[key]) {
			s.t.Errorf("in one group orders are over %v and %v", left, sizes[key])
		}
	}
	var all []string
	for key, p := range groups {
		all = append(all, s.words(sizes[key], *p))
	}
	return summed(all)
}

// summed adds the quantities of lines with the same prices, and sorts them: a line may have several
// orders, such as one that was placed later for what an exit did not sell.
func summed(lines []string) []string {
	sums := make(map[string]decimal.Decimal)
	for _, line := range lines {
		quantity, prices, _ := strings.Cut(line, " ")
		sums[prices] = sums[prices].Add(dec(quantity))
	}
	var all []string
	for prices, sum := range sums {
		all = append(all, sum.String()+" "+prices)
	}
	slices.Sort(all)
	return all
}

// planned holds that the plan has these lines and the venue their orders, and that nothing says
// otherwise.
func (s *site) planned(want ...string) {
	s.t.Helper()
	s.asks(want...)
	s.works(want...)
}

// asks holds that the plan has these lines.
func (s *site) asks(want ...string) {
	s.t.Helper()
	if got := s.lines(); !slices.Equal(got, want) {
		s.t.Errorf("the plan is %q, want %q", got, want)
	}
}

// works holds that the venue has orders for these lines, and that trading is not restricted.
func (s *site) works(want ...string) {
	s.t.Helper()
	want = summed(want)
	if got := s.working(); !slices.Equal(got, want) {
		s.t.Errorf("at the venue is %q, want %q", got, want)
	}
	if r := s.Status().State.Restrictions; len(r) > 0 {
		s.t.Errorf("trading is restricted: %+v", r)
	}
}

// legOf returns the open order of a role, the only one.
func (s *site) legOf(role order.Role) order.Order {
	s.t.Helper()
	var found []order.Order
	for _, o := range s.store.Book(owner).Open() {
		if o.Role == role {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("%d orders are a %v: %+v", len(found), role, found)
	}
	return found[0]
}

// fails lets the next order at the market fail at the venue. The names of faults differ; "refused" is
// one of the order itself, "lost" one without an answer that is not carried out, "answer lost" one that is.
func (s *site) fails(name string) {
	f := fake.Fault{}
	switch {
	case s.binance != nil:
		f = fakebinance.OrderFaults()[map[string]string{"refused": "balance", "lost": "timeout", "answer lost": "timeout, done"}[name]]
	case s.alpaca != nil:
		f = fakealpaca.OrderFaults()[map[string]string{"refused": "balance", "lost": "timeout", "answer lost": "timeout, done"}[name]]
	}
	f.On = marketOrder
	s.next(f)
}

// next lets a fault meet the next request that it is for.
func (s *site) next(f fake.Fault) {
	if s.binance != nil {
		s.binance.Next(f)
	} else {
		s.alpaca.Next(f)
	}
}

// marketOrder reports whether a request places an order at the market.
func marketOrder(r *http.Request) bool {
	return posted(r, "type=MARKET", `"type":"market"`)
}

// stopOrder reports whether a request places a stop, alone or in a pair.
func stopOrder(r *http.Request) bool {
	return posted(r, "stopPrice=", "StopPrice=", "rigger=", "trailingDelta=", "railingDelta=", `"stop_price"`, `"trail_percent"`)
}

// posted reports whether a request that changes something has one of these words.
func posted(r *http.Request, words ...string) bool {
	if r.Method != http.MethodPost {
		return false
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.Contains(r.URL.RawQuery, word) || strings.Contains(string(body), word)
	})
}

// until waits until something is so, at most a minute of virtual time.
func (s *site) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within a minute; at the venue is %q", what, s.working())
		}
	}
}

// delay lets every answer of the venue take a time.
func (s *site) delay(answer time.Duration) {
	if s.binance != nil {
		s.binance.Delay(answer)
	} else {
		s.alpaca.Delay(answer)
	}
}

// bareAtVenue reports whether the venue has no stop, read apart from its API.
func (s *site) bareAtVenue() bool {
	return s.stopsAtVenue().IsZero()
}

// stopsAtVenue returns how much stops would close at a fake, read apart from its API.
func (s *site) stopsAtVenue() decimal.Decimal {
	sum := decimal.Zero
	if s.binance != nil {
		for _, o := range s.binance.Orders() {
			if o.Open() && (o.StopPrice.IsPositive() || o.TrailingDelta > 0) {
				sum = sum.Add(o.Quantity.Sub(o.Executed))
			}
		}
		return sum
	}
	for _, r := range s.alpaca.Truth().Orders {
		if !r.Status.Final() && r.Status != order.PendingCancel && r.StopPrice.IsPositive() {
			sum = sum.Add(r.Quantity.Sub(r.Filled))
		}
	}
	return sum
}

// orderFault returns a way in which an order fails at the venue.
func orderFault(s *site, name string) fake.Fault {
	if s.binance != nil {
		return fakebinance.OrderFaults()[name]
	}
	return fakealpaca.OrderFaults()[name]
}
