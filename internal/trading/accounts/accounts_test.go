package accounts_test

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/trading/accounts"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

const host = "host"

// scene is accounts over a store and journals that outlive them.
type scene struct {
	t *testing.T
	*accounts.Accounts
	store  *desktest.Store
	market *desktest.Market
	stop   func()

	mu       sync.Mutex
	journals map[principal.Owner]*papertest.Journal
	standing map[principal.Owner]accounts.Standing
	opened   map[principal.Owner]int // how often, since the start
	opening  int
	most     int // that were opened at a time, since the start
	openFor  time.Duration
	placed   int // orders
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		t: t, store: desktest.NewStore(), market: &desktest.Market{},
		journals: make(map[principal.Owner]*papertest.Journal), standing: make(map[principal.Owner]accounts.Standing),
	}
	s.market.Set(papertest.BTCUSDT().Symbol, order.Quote{Last: decimal.NewFromInt(50_000)})
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// start runs accounts over what the ones before have left.
func (s *scene) start() {
	s.t.Helper()
	s.opened, s.most = make(map[principal.Owner]int), 0
	s.Accounts = accounts.New(accounts.Config{
		Open: s.open, Traders: s.store.OrderOwners, Halted: s.halted, Standing: s.standingOf, Store: s.store, Host: host, Market: s.market,
		Broker: "paper", Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- s.Run(ctx, context.WithoutCancel(ctx), func() { close(ready) }) }()
	<-ready
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("the accounts ended with %v", err)
		}
	})
}

func (s *scene) halted(ctx context.Context) ([]principal.Owner, error) {
	return desk.HostedHalts(ctx, s.store.OwnersWith)
}

func (s *scene) restart() {
	s.t.Helper()
	s.stop()
	s.start()
}

func (s *scene) standingOf(owner principal.Owner) accounts.Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing[owner]
}

func (s *scene) set(owner principal.Owner, standing accounts.Standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing[owner] = standing
}

// begin counts an account that is being opened, and returns its journal.
func (s *scene) begin(owner principal.Owner) *papertest.Journal {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened[owner]++
	s.opening++
	s.most = max(s.most, s.opening)
	if s.journals[owner] == nil {
		s.journals[owner] = &papertest.Journal{}
	}
	return s.journals[owner]
}

func (s *scene) open(ctx context.Context, owner principal.Owner, prices desk.Market) (accounts.Opened, error) {
	journal := s.begin(owner)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.opening--
	}()
	time.Sleep(s.openFor)
	b := paper.New(paper.Config{
		Journal: journal, Market: paperMarket{prices}, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(100_000)},
	})
	if err := b.Load(ctx); err != nil {
		return accounts.Opened{}, err
	}
	d := desk.New(desk.Config{
		Owner: owner, Broker: b, Store: s.store, Market: prices, Policy: guard.Default(), Simulated: true, Hosted: true,
		Resolve: func(_ context.Context, m market.Symbol) (market.Symbol, error) {
			m.Venue = "binance"
			return m, nil
		},
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Rand: func() float64 { return 0.5 },
	})
	return accounts.Opened{Desk: d, Observe: func(e provider.Event) { b.Observe(e, provider.Clock{}) }}, nil //nolint:contextcheck // prices come after the account was opened
}

// paperMarket has the prices of a desk's market, and the rules of BTCUSDT.
type paperMarket struct{ desk.Market }

func (paperMarket) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return papertest.NewMarket(papertest.BTCUSDT()).Instrument(ctx, s)
}

func caller(owner principal.Owner) principal.Caller {
	return principal.Caller{Subject: owner, Key: "key of " + string(owner), Scope: principal.Trade}
}

// place places an order that differs from all before.
func (s *scene) place(owner principal.Owner, r order.Request) order.Order {
	s.t.Helper()
	s.placed++
	r.Key = strconv.Itoa(s.placed)
	placed, err := s.Place(s.t.Context(), caller(owner), r)
	if err != nil {
		s.t.Fatalf("an order of %s: %v", owner, err)
	}
	return placed.Order
}

// buy asks for an order that is filled at once.
func buy() order.Request {
	return order.Request{Symbol: market.Symbol{Name: "BTCUSDT"}, Side: order.Buy, Type: order.Market, Quantity: decimal.New(1, -3)}
}

// rest asks for an order that stays open.
func rest() order.Request {
	r := buy()
	r.Type, r.Price = order.Limit, decimal.NewFromInt(49_500)
	return r
}

func sell() order.Request {
	r := buy()
	r.Side = order.Sell
	return r
}

// refused places an order that must be denied, and returns the reason.
func (s *scene) refused(owner principal.Owner) string {
	s.t.Helper()
	placed, err := s.Place(s.t.Context(), caller(owner), buy())
	switch {
	case err != nil:
		return err.Error()
	case placed.Status != order.Denied:
		s.t.Errorf("an order of %s is %s", owner, placed.Status)
	}
	return placed.Reason
}

// openOrders waits until an owner has so many open orders.
func (s *scene) openOrders(owner principal.Owner, want int) {
	s.t.Helper()
	for range 100 {
		all, err := s.Orders(s.t.Context(), caller(owner), true)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(all) == want {
			return
		}
		time.Sleep(time.Second)
	}
	s.t.Errorf("%s does not have %d open orders", owner, want)
}

func TestAccounts_EachOwnerHasOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		if o := s.place("ann", buy()); o.Status != order.Filled {
			t.Errorf("ann's order is %s", o.Status)
		}
		resting := s.place("ann", rest())
		for owner, want := range map[principal.Owner]int{"ann": 1, "bob": 0} {
			if got, err := s.Positions(t.Context(), caller(owner)); err != nil || len(got) != want {
				t.Errorf("positions of %s: %v, %v", owner, got, err)
			}
			if got, err := s.Orders(t.Context(), caller(owner), true); err != nil || len(got) != want {
				t.Errorf("orders of %s: %v, %v", owner, got, err)
			}
		}
		_, foreign := s.Cancel(t.Context(), caller("bob"), resting.ID)
		_, unknown := s.Cancel(t.Context(), caller("bob"), strings.Repeat("x", len(resting.ID)))
		if foreign == nil || unknown == nil || fault.Of(foreign).Code != fault.Of(unknown).Code {
			t.Errorf("the cancel of a foreign order: %v; of an unknown one: %v", foreign, unknown)
		}
		s.openOrders("ann", 1)
		for _, owner := range []principal.Owner{"", host} {
			if _, err := s.Place(t.Context(), caller(owner), buy()); err == nil || fault.Of(err).Code != "not_your_account" {
				t.Errorf("an order of %q: %v", owner, err)
			}
		}
		s.stop()
	})
}

// Records that come from a backup halt all owners until the operator resumes. Open orders stay.
func TestRestore_HaltsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.place("ann", rest())
		if _, err := desk.SetStoredRestored(t.Context(), s.store, host, "candela restore", time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		s.restart()
		for _, owner := range []principal.Owner{"ann", "carl"} {
			if text := s.refused(owner); !strings.Contains(text, "restored from a backup") {
				t.Errorf("%s after the restore: %s", owner, text)
			}
		}
		s.openOrders("ann", 1)
		if _, err := s.Resume(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		for _, owner := range []principal.Owner{"ann", "carl"} {
			s.place(owner, buy())
		}
		s.stop()
	})
}

// A halt for all reaches accounts with open orders, those that sleep and those made later, and holds
// after a restart. Lifting it leaves that of a single owner.
func TestHalt_ReachesAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.place("ann", rest())
		s.place("bob", rest())
		if _, err := s.HaltOwner(t.Context(), "bob", "test", "bob alone", false); err != nil {
			t.Fatal(err)
		}
		s.openOrders("bob", 0)
		if now := s.Status(); now.HaltedOwners != 1 || !slices.Equal(now.Halted, []principal.Owner{"bob"}) || now.State.Level() != guard.Active {
			t.Errorf("the status after the halt of bob: %+v", now)
		}
		s.openOrders("ann", 1) // one that a halt does not reach
		if text := s.refused("bob"); !strings.Contains(text, "bob alone") {
			t.Errorf("bob after the halt of bob: %s", text)
		}
		s.place("ann", buy())
		if s.Halted() {
			t.Error("all are halted")
		}

		if _, err := s.Halt(t.Context(), "test", "everybody"); err != nil || !s.Halted() {
			t.Fatal(err)
		}
		s.openOrders("ann", 0)
		for _, owner := range []principal.Owner{"ann", "bob", "carl"} {
			if text := s.refused(owner); !strings.Contains(text, "halted") {
				t.Errorf("%s after the halt: %s", owner, text)
			}
		}
		s.restart()
		if text := s.refused("dora"); !strings.Contains(text, "everybody") {
			t.Errorf("an owner who calls after a restart gets %s", text)
		}
		if _, err := s.Resume(t.Context(), "test"); err != nil || s.Halted() {
			t.Fatal(err)
		}
		for _, owner := range []principal.Owner{"ann", "carl", "dora"} {
			if o := s.place(owner, buy()); o.Status != order.Filled {
				t.Errorf("%s after resume: %s %s", owner, o.Status, o.Reason)
			}
		}
		if text := s.refused("bob"); !strings.Contains(text, "host_owner_halt by test: bob alone; lifted by the operator of the server") {
			t.Errorf("bob after resume: %s", text)
		}
		if now := s.Status(); now.HaltedOwners != 1 {
			t.Errorf("the status after a restart: %+v", now)
		}
		if _, err := s.ResumeOwner(t.Context(), "bob", "test"); err != nil {
			t.Fatal(err)
		}
		s.place("bob", buy())
		if now := s.Status(); now.HaltedOwners != 0 || len(now.Halted) != 0 {
			t.Errorf("the status after bob was resumed: %+v", now)
		}
		s.stop()
	})
}

// A halt that an earlier version stored as the owner's own is the operator's.
func TestHalt_OfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.stop()
		if _, err := desk.HaltStored(t.Context(), s.store, "bob", desk.StoredHalt{By: "candela halt", Reason: "as agreed", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		s.start()
		if text := s.refused("bob"); !strings.Contains(text, "host_owner_halt by candela halt: as agreed") {
			t.Errorf("bob, halted by an earlier version: %s", text)
		}
		if now := s.Status(); !slices.Equal(now.Halted, []principal.Owner{"bob"}) {
			t.Errorf("the status: %+v", now)
		}
		if _, err := s.ResumeOwner(t.Context(), "bob", "test"); err != nil {
			t.Fatal(err)
		}
		s.place("bob", buy())
		s.stop()
	})
}

// A suspended owner's orders are cancelled and refused, and an erased one has no account; neither is
// felt by others.
func TestStanding_HoldsForOneOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.place("ann", rest())
		s.place("bob", rest())
		s.set("ann", accounts.Suspended)
		if err := s.Enforce(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		if err := s.Enforce(t.Context(), "asleep"); err != nil {
			t.Fatal(err)
		}
		s.openOrders("ann", 0)
		s.openOrders("bob", 1)
		if text := s.refused("ann"); !strings.Contains(text, "suspended") {
			t.Errorf("a suspended owner: %s", text)
		}
		s.set("ann", accounts.Active)
		if err := s.Enforce(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		s.place("ann", rest())
		if err := s.Drop(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		s.set("ann", accounts.Erased)
		if text := s.refused("ann"); !strings.Contains(text, "no trading account") {
			t.Errorf("an erased owner: %s", text)
		}
		s.restart()
		time.Sleep(time.Minute)
		if s.Awake() != 1 {
			t.Errorf("%d accounts are awake, want bob's", s.Awake())
		}
		s.stop()
	})
}

// An account sleeps ten minutes after the last call if nothing is open, and wakes with what it had.
func TestAccounts_SleepWhenNothingIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.place("resting", rest())
		s.place("holding", buy())
		s.place("flat", buy())
		s.place("flat", sell())
		time.Sleep(9 * time.Minute)
		if s.Awake() != 3 {
			t.Errorf("%d accounts are awake after 9 minutes", s.Awake())
		}
		time.Sleep(2 * time.Minute)
		if s.Awake() != 2 {
			t.Errorf("%d accounts are awake after 11 minutes", s.Awake())
		}
		if all, err := s.Orders(t.Context(), caller("flat"), false); err != nil || len(all) != 2 || s.Awake() != 3 {
			t.Errorf("%d orders of one who slept, %v; %d are awake", len(all), err, s.Awake())
		}
		s.restart()
		time.Sleep(time.Minute)
		if s.Awake() != 2 {
			t.Errorf("%d accounts are awake after a restart", s.Awake())
		}
		s.openOrders("resting", 1)
		if got, err := s.Positions(t.Context(), caller("holding")); err != nil || len(got) != 1 {
			t.Errorf("positions after a restart: %v, %v", got, err)
		}
		if n := s.Status().Open; n != 1 {
			t.Errorf("%d open orders of all", n)
		}
		s.stop()
	})
}

// After a start, the accounts that have traded wake a few at a time, and a call of one does not wait
// for the others.
func TestAccounts_WakeAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		const traders, most = 100, 8
		for i := range traders {
			owner := principal.Owner("owner" + strconv.Itoa(i))
			s.place(owner, buy())
			s.place(owner, sell())
		}
		last := principal.Owner("owner99")
		s.place(last, rest())
		s.openFor = time.Second
		began := time.Now()
		s.restart()
		if _, err := s.Orders(t.Context(), caller(last), true); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the first call took %v", took)
		}
		time.Sleep(time.Minute)
		s.mu.Lock()
		if s.most != most+1 { // and the call
			t.Errorf("%d accounts were opened at a time", s.most)
		}
		if len(s.opened) != traders || s.Awake() != 1 {
			t.Errorf("%d accounts were opened, %d are awake", len(s.opened), s.Awake())
		}
		for owner, n := range s.opened {
			if n != 1 {
				t.Errorf("%s was opened %d times", owner, n)
			}
		}
		s.mu.Unlock()
		s.stop()
	})
}
