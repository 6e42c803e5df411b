package deploy_test

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/kit/principal"
	"candela/internal/kit/secret"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Where an account of a test is.
const (
	onThePaper = "paper"
	atBinance  = "binance"
	atAlpaca   = "alpaca"
)

// account is an account with a desk, in virtual time: on paper, or at a fake venue.
type account struct {
	*desk.Desk
	t      *testing.T
	symbol market.Symbol
	step   decimal.Decimal
	stage  deploy.Stage
	least  decimal.Decimal // money of the least order
	prices *desktest.Market
	store  *desktest.Store
	stop   func()

	open  func() broker.Broker // opens the broker of the next desk
	set   func(price decimal.Decimal)
	paper *paper.Broker // nil elsewhere

	leverage int64 // of a perpetual future
}

// unlimited is a policy that lets a strategy trade whatever its model does.
func unlimited() guard.Policy {
	policy, off := guard.Default(), guard.Limit{Off: true}
	policy.MaxOrderNotional, policy.MaxSymbolExposure, policy.MaxExposure, policy.RestingBandPct, policy.MaxDailyNotional, policy.PriceBandPct = off, off, off, off, off, off
	policy.MaxDailyLoss, policy.MinStopDistancePct, policy.AllowWiderStop = off, off, true
	return policy
}

// openAccount starts a desk with a paper account that has 100,000.
func openAccount(t *testing.T) *account {
	t.Helper()
	return openAt(t, onThePaper)
}

// openAt starts a desk with an account.
func openAt(t *testing.T, at string) *account {
	t.Helper()
	a := &account{t: t, prices: &desktest.Market{}, store: desktest.NewStore(), step: decimal.New(1, -5), stage: deploy.Live}
	switch at {
	case onThePaper:
		a.onPaper()
	case atBinance:
		a.atBinance()
	case atAlpaca:
		a.atAlpaca()
	}
	a.price(100)
	a.start()
	return a
}

func (a *account) onPaper() {
	venue, journal := papertest.NewMarket(papertest.BTCUSDT()), &papertest.Journal{}
	a.symbol, a.stage = papertest.BTCUSDT().Symbol, deploy.Paper
	a.set = func(price decimal.Decimal) { venue.Set(a.symbol, order.Quote{Last: price, At: time.Now()}) }
	a.open = func() broker.Broker {
		a.paper = paper.New(paper.Config{
			Journal: journal, Market: venue, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler), Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(100_000)},
		})
		if err := a.paper.Load(a.t.Context()); err != nil {
			a.t.Fatal(err)
		}
		return a.paper
	}
}

func (a *account) atBinance() {
	server := fakebinance.New(fakebinance.Config{Depth: decimal.NewFromInt(1_000_000), Funds: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(100_000)}})
	hosts := a.serve("binance.test:80", server)
	a.symbol, a.least = market.Symbol{Venue: "binance", Name: "BTCUSDT"}, decimal.NewFromInt(5)
	a.set = func(price decimal.Decimal) { server.Move(a.symbol.Name, price) }
	a.open = func() broker.Broker {
		return opened(a.t, func() (broker.Broker, error) {
			return binance.New(hosts(), binance.Config{Environment: binance.Testnet, URL: "http://binance.test", Key: secret.New(fakebinance.Key), Secret: secret.New(fakebinance.Secret)})
		})
	}
}

func (a *account) atAlpaca() {
	time.Sleep(time.Until(time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC))) // the fake has no bars before
	server := fakealpaca.New(fakealpaca.Config{Now: time.Now})
	server.SetUnlimited()
	server.SetHours(true)
	hosts := a.serve("alpaca.test:80", server)
	a.symbol, a.step = market.Symbol{Venue: "alpaca", Name: "AAPL"}, decimal.NewFromInt(1)
	a.set = func(price decimal.Decimal) { server.SetQuote(a.symbol.Name, price.String(), price.String()) }
	a.open = func() broker.Broker {
		return opened(a.t, func() (broker.Broker, error) {
			return alpaca.New(hosts(), alpaca.Config{Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca.test", DataURL: "http://alpaca.test", Now: time.Now})
		})
	}
}

// serve puts a venue on a network of its own. The function returns hosts for the next desk.
func (a *account) serve(address string, server http.Handler) func() *upstream.Hosts {
	network := fake.NewNetwork()
	a.t.Cleanup(network.Serve(address, server))
	return func() *upstream.Hosts {
		hosts := upstream.NewHosts(network.Dial)
		a.t.Cleanup(func() { _ = hosts.Close() })
		return hosts
	}
}

func opened(t *testing.T, open func() (broker.Broker, error)) broker.Broker {
	t.Helper()
	b, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// start begins a desk over what is stored.
func (a *account) start() {
	a.t.Helper()
	policy, at := unlimited(), a.open()
	if a.paper == nil {
		policy.PriceBandPct = guard.Limit{Value: decimal.NewFromInt(20)} // from which the limit of an entry with legs follows
	}
	if a.leverage > 0 {
		policy.AllowShort, policy.MaxLeverage = true, guard.Limit{Value: decimal.NewFromInt(a.leverage)}
	}
	a.Desk = desk.New(desk.Config{
		Owner: owner, Broker: at, Store: a.store, Market: a.prices, Policy: policy, Simulated: a.paper != nil, AssetBalances: a.symbol.Venue != "alpaca" && a.paper == nil,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) { return s, nil },
		Log:     slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	ctx, stop := context.WithCancel(a.t.Context())
	ready, done, run := make(chan struct{}), make(chan error, 1), a.Run
	go func() { done <- run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	a.stop = func() { stop(); <-done }
}

// restart ends the desk as a crash does, and begins another.
func (a *account) restart() {
	a.t.Helper()
	if a.stop(); a.paper == nil {
		time.Sleep(time.Second)
	}
	a.start()
}

// brokers lets deployments trade on the account through a desk.
func (a *account) brokers(through deploy.Desk) map[deploy.Stage]deploy.Broker {
	return map[deploy.Stage]deploy.Broker{a.stage: {Desk: through, Account: string(owner)}}
}

// onPaper lets deployments trade on a paper account.
func onPaper(d deploy.Desk) map[deploy.Stage]deploy.Broker {
	return map[deploy.Stage]deploy.Broker{deploy.Paper: {Desk: d, Account: string(owner)}}
}

// price sets the price of now.
func (a *account) price(x float64) {
	price := decimal.NewFromFloat(x)
	a.prices.Set(a.symbol, order.Quote{Last: price, At: time.Now()})
	a.set(price)
}

// trade lets the market trade a bar until its close, in the order of the paper account: the nearer extreme first.
func (a *account) trade(b market.Bar) {
	a.t.Helper()
	closes := time.Unix(b.T+300, 0)
	if a.paper == nil {
		first, second := b.L, b.H
		if math.Abs(b.H-b.O) < math.Abs(b.O-b.L) {
			first, second = b.H, b.L
		}
		for _, x := range []float64{first, second} {
			time.Sleep(time.Until(closes) / 2)
			a.price(x)
		}
	}
	time.Sleep(time.Until(closes))
	if a.paper != nil {
		a.paper.Observe(provider.Event{Sub: provider.Sub{Symbol: a.symbol, Interval: market.Minute5}, Kind: provider.Closed, Bar: b, Price: b.C, At: time.Now()}, provider.Clock{})
	}
	a.price(b.C)
	synctest.Wait()
}

// synced returns a deployment once its account has had the time to follow.
func (a *account) synced(p *process, id string, follow time.Duration) (deploy.Deployment, error) {
	a.t.Helper()
	if a.paper == nil {
		time.Sleep(follow)
	}
	return p.Synced(a.t.Context(), id)
}

func callerOf(d *deploy.Deployment) principal.Caller {
	return desk.DeploymentCaller(owner, d.ID, d.Name)
}
