package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/market/provider/binance"
	"candela/internal/market/provider/coinbase"
	"candela/internal/market/provider/kraken"
	"candela/internal/market/upstream"
	"candela/internal/operate/doctor"
	"candela/internal/store/cluster"
	"candela/internal/store/ledger"
)

// store reads the whole store, as candela audit verify does.
func (x *examination) store(ctx context.Context) {
	const (
		check = "store"
		fix   = "stop candela, keep " + ledger.FileName + " for whoever looks into it, and put the last good backup back: candela restore FOLDER; candela audit verify tells more"
	)
	log, err := ledger.OpenAudit(ctx, x.Config.Home)
	if fault.KindOf(err) == fault.NotFound {
		x.say(doctor.Fine(check, "there is none yet; the first start with --trade makes it"))
		return
	}
	if err != nil {
		x.say(doctor.Wrong(check, fix, "it cannot be opened: %s", err))
		return
	}
	x.wait("reading the store")
	report, err := log.Verify(ctx)
	switch err = errors.Join(err, log.Close()); {
	case err != nil:
		x.say(doctor.Wrong(check, fix, "it cannot be read: %s", err))
	case len(report.Breaks) > 0:
		x.say(doctor.Wrong(check, fix, "its audit log is not what was written: %s", report.Breaks[0]))
	default:
		x.say(doctor.Fine(check, "%d events, unbroken", report.Events))
	}
}

// policyFile looks at what orders must obey.
func (x *examination) policyFile() {
	const (
		check = "policy"
		fix   = "correct the line that is named; candela policy check explains every rule"
	)
	path := x.Config.Trading.Policy
	_, found, err := ReadPolicy(path)
	if err == nil && x.Config.Trade {
		_, err = x.policy() // with the locks before trading with money
	}
	if err != nil {
		problems := []error{err}
		if bad, ok := errors.AsType[*PolicyError](err); ok {
			problems = bad.Problems()
		}
		for _, p := range problems {
			x.say(doctor.Wrong(check, fix, "%s", p))
		}
		return
	}
	if !found {
		x.say(doctor.Fine(check, "there is no %s: the defaults are in force", path))
		return
	}
	x.say(doctor.Fine(check, "%s can be used", path))
}

// nats connects to the servers that replicas share.
func (x *examination) nats(ctx context.Context) {
	const check = "NATS"
	n := x.Config.NATS
	if n.URL == "" || !x.Config.Serve {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := cluster.Connect(ctx, cluster.ConfigOf(n), x.Log)
	if err == nil {
		conn.Close()
		x.say(doctor.Fine(check, "%s answers and will do", n.URL))
		return
	}
	fix := "start the servers, let this machine reach them, or correct --nats-url and the files that open them"
	if f := fault.Of(err); f != nil {
		switch f.Code {
		case "nats_too_old":
			fix = "update every NATS server of the cluster to 2.12 or later, one after the other"
		case "nats_single":
			fix = "connect to a cluster of three servers, or add --nats-allow-single where losing what is shared is all right"
		}
	}
	x.say(doctor.Wrong(check, fix, "%s", err))
}

// clock compares the clock with those of the venues that tell theirs.
func (x *examination) clock(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	defer client.CloseIdleConnections()
	data := x.Config.Data
	x.say(doctor.Clock(ctx, client, []doctor.TimeSource{
		{Name: "binance", URL: cmp.Or(data.Binance.URL, binance.DefaultURL) + "/api/v3/time", Read: doctor.MillisIn("serverTime")},
		{Name: "coinbase", URL: cmp.Or(data.Coinbase.URL, coinbase.DefaultURL) + "/time", Read: coinbaseTime},
		{Name: "kraken", URL: cmp.Or(data.Kraken.URL, kraken.DefaultURL) + "/0/public/Time", Read: func([]byte) (time.Time, bool) { return time.Time{}, false }},
	}))
}

// coinbaseTime reads the time that Coinbase tells.
func coinbaseTime(body []byte) (time.Time, bool) {
	var doc struct {
		ISO time.Time `json:"iso"`
	}
	err := json.Unmarshal(body, &doc)
	return doc.ISO, err == nil && !doc.ISO.IsZero()
}

// askVenue is how long a venue may take.
const askVenue = 10 * time.Second

// probes lists a symbol that each venue has.
func probes() map[string]market.Symbol {
	return map[string]market.Symbol{
		"binance": {Venue: "binance", Name: "BTCUSDT"}, "coinbase": {Venue: "coinbase", Name: "BTC-USD"}, "kraken": {Venue: "kraken", Name: "BTC/USD"},
		"yahoo": {Venue: "yahoo", Name: "AAPL"}, "alpaca": {Venue: "alpaca", Name: "AAPL"},
	}
}

// venues reads one bar from each venue. One that symbols without a venue go to must
// answer; another need not.
func (x *examination) venues(ctx context.Context) {
	hosts := upstream.NewHosts(nil)
	defer func() { _ = hosts.Close() }() // only read from
	all, err := x.Sources(x.Config, hosts)
	if err != nil {
		x.say(doctor.Wrong("venues", "correct what is named", "%s", err))
		return
	}
	data := x.Config.Data
	for _, p := range all {
		name := p.Name()
		symbol, known := probes()[name]
		needed := name == data.CryptoVenue || name == data.StockVenue || x.Config.Trade && name == x.Config.Trading.Broker
		if known && (name != "alpaca" || !data.Alpaca.KeyID.IsZero()) {
			x.wait("asking " + name)
			x.say(judgeVenue(ctx, p, symbol, needed))
		}
		if c, ok := p.(io.Closer); ok {
			_ = c.Close() // only read from
		}
	}
}

// judgeVenue judges one venue by one bar.
func judgeVenue(ctx context.Context, p provider.Provider, symbol market.Symbol, needed bool) doctor.Finding {
	check := "venue " + p.Name()
	ctx, cancel := context.WithTimeout(ctx, askVenue)
	defer cancel()
	day, _ := market.ParseInterval("1d") // every venue has days
	began := time.Now()
	page, err := p.Bars(ctx, provider.BarQuery{Symbol: symbol, Interval: day, Limit: 1})
	if err == nil && page.Bars.Len() > 0 {
		return doctor.Fine(check, "%s in %v", symbol.Name, max(time.Since(began).Round(time.Millisecond), time.Millisecond))
	}
	what, fix := "it has no bar of "+symbol.Name, "try again later; docs/venues.md says what each venue has"
	if err != nil {
		what = err.Error()
		if f := fault.Of(err); f != nil {
			what = f.Public()
		}
		fix = venueFix(err)
	}
	if needed {
		return doctor.Wrong(check, fix, "%s", what)
	}
	return doctor.Doubtful(check, fix+"; or leave it: only symbols that name it go there", "%s", what)
}

// venueFix says what to do when a venue does not answer as it should.
func venueFix(err error) string {
	bad, _ := errors.AsType[*upstream.Error](err)
	switch {
	case bad == nil:
	case bad.Status == http.StatusUnavailableForLegalReasons:
		return "the venue serves no one from where this machine is: choose another with --crypto-venue kraken or coinbase, or run candela elsewhere"
	case bad.Reason == upstream.Throttled || bad.Reason == upstream.Busy:
		return "wait as long as it says; other programs behind the same address count too"
	case bad.Reason == upstream.NoAnswer:
		return "let this machine reach the internet: DNS, firewall, HTTPS_PROXY"
	case bad.Status == http.StatusUnauthorized || bad.Status == http.StatusForbidden:
		return "check the keys, and that the address in front of the venue is not blocked"
	}
	return "try again later; docs/venues.md says what each venue wants"
}
