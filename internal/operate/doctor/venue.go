package doctor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/setting"
	"candela/internal/trading/broker"
	"candela/lib/fault"
	"candela/lib/market"
)

// venueTimeout bounds the wait for a venue's answer.
const venueTimeout = 10 * time.Second

// clock compares the clock with those of the venues that publish theirs.
func (x *examination) clock(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	defer client.CloseIdleConnections()
	var sources []TimeSource
	for _, v := range x.Venues {
		if v.Time.URL != nil {
			sources = append(sources, TimeSource{v.Name, v.Time.URL(x.cfg.Values), v.Time.Read})
		}
	}
	x.Report(Clock(ctx, client, sources))
}

// venues reads one bar from each venue. A venue that symbols without a venue go to, or
// orders, must answer; another need not.
func (x *examination) venues(ctx context.Context) {
	hosts := upstream.NewHosts(nil)
	defer func() { _ = hosts.Close() }() // only read from
	for _, v := range x.Venues {
		if v.Open == nil || !v.On(x.cfg.Values) || x.cfg.Withheld(v.Part) {
			continue
		}
		p, err := v.Open(provider.Env{Values: x.cfg.Values, Hosts: hosts, Now: time.Now, Live: x.cfg.LiveAt(v.Name)})
		if err != nil {
			x.Report(newProblem("venues", "correct the setting that is named", "%s", err))
			continue
		}
		if v.Example != "" && (v.Keys == setting.Keys{} || v.HasKeys(x.cfg.Values)) {
			x.wait("asking " + v.Name)
			x.Report(x.venue(ctx, p, v))
		}
		if c, ok := p.(io.Closer); ok {
			_ = c.Close() // only read from
		}
	}
}

func (x *examination) venue(ctx context.Context, p provider.Provider, v provider.Descriptor) Finding {
	check := "venue " + v.Name
	ctx, cancel := context.WithTimeout(ctx, venueTimeout)
	defer cancel()
	began := time.Now()
	page, err := p.Bars(ctx, provider.BarQuery{Symbol: market.Symbol{Venue: v.Name, Name: v.Example}, Interval: market.Day1, Limit: 1})
	if err == nil && page.Bars.Len() > 0 {
		return NewOK(check, "%s in %v", v.Example, round(time.Since(began)))
	}
	what, fix := "it has no bar of "+v.Example, "try again later; docs/venues.md lists the symbols of each venue"
	if err != nil {
		what, fix = public(err), x.venueFix(err, v)
	}
	data := x.cfg.Data
	if v.Name == data.CryptoVenue || v.Name == data.StockVenue || x.cfg.Trade && v.Name == x.cfg.Trading.Broker {
		return newProblem(check, fix, "%s", what)
	}
	return newWarning(check, fix+"; or ignore it: only symbols that name this venue need it", "%s", what)
}

// public returns the part of an error that may be shown.
func public(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Public()
	}
	return err.Error()
}

func (x *examination) venueFix(err error, v provider.Descriptor) string {
	bad, _ := errors.AsType[*upstream.Error](err)
	switch {
	case bad == nil:
	case bad.Status == http.StatusUnavailableForLegalReasons:
		fix := "run candela in another region: the venue refuses this one"
		if others := x.others(v); v.Kind == provider.Pairs && len(others) > 0 {
			fix = "choose another venue with --crypto-venue " + strings.Join(others, " or ") + ", or " + fix
		}
		return fix
	case bad.Reason == upstream.Throttled || bad.Reason == upstream.LocalLimit:
		return "wait as long as it says; other programs behind the same address count too"
	case bad.Reason == upstream.NoResponse:
		return "let this machine reach the internet: DNS, firewall, HTTPS_PROXY"
	case bad.Status == http.StatusUnauthorized || bad.Status == http.StatusForbidden:
		return "check the keys, and that the address in front of the venue is not blocked"
	}
	return "try again later; docs/venues.md lists the limits of each venue"
}

func (x *examination) others(v provider.Descriptor) []string {
	var names []string
	for _, other := range x.Venues {
		if other.Kind == v.Kind && other.Name != v.Name {
			names = append(names, other.Name)
		}
	}
	return names
}

// account reads the holdings and the time of the account that orders go to. It reports
// no amounts. A simulated account has no venue.
func (x *examination) account(ctx context.Context) {
	const check = "account"
	var at broker.Descriptor
	for _, b := range x.Brokers {
		if b.Name == x.cfg.Trading.Broker {
			at = b
		}
	}
	if !x.cfg.Trade || !at.CanTradeLive() {
		return
	}
	x.wait("asking for the account")
	hosts := upstream.NewHosts(nil)
	defer func() { _ = hosts.Close() }() // only read from
	ctx, cancel := context.WithTimeout(ctx, venueTimeout)
	defer cancel()
	b, err := at.Open(broker.Env{Values: x.cfg.Values, Network: x.cfg.Trading.Network, Live: x.cfg.Trading.Live, Hosts: hosts, Now: time.Now})
	if err != nil {
		x.Report(newProblem(check, "correct the setting that is named", "%s", err))
		return
	}
	held, err := b.Holdings(ctx)
	if err != nil {
		x.Report(newProblem(check, "check that the keys belong to this account and network, may read and trade, and allow this machine's address; "+x.venueFix(err, provider.Descriptor{}), "%s: %s", b.Name(), public(err)))
		return
	}
	x.Report(NewOK(check, "the keys open the %s account at %s; %d assets in it", b.Mode(), b.Name(), len(held)))
	if clock, ok := b.(broker.Clock); ok {
		if skew, err := clock.Skew(ctx); err == nil && skew.Abs() > maxSkew {
			x.Report(newProblem("clock", "synchronize it: orders carry the time, and the venue and the policy refuse those that are off", "this machine's clock differs by %v from that of %s, where orders go", skew.Round(time.Second), b.Name()))
		}
	}
}
