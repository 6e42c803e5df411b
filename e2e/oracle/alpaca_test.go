package oracle

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alpacahq/alpaca-trade-api-go/v3/alpaca"
	"github.com/alpacahq/alpaca-trade-api-go/v3/marketdata"
	"github.com/alpacahq/alpaca-trade-api-go/v3/marketdata/stream"

	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/lib/market"
)

// noon is a Wednesday in New York.
func noon() time.Time { return time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC) }

func open(t *testing.T, now func() time.Time, rows int) (*fakealpaca.Server, string) {
	t.Helper()
	venue := fakealpaca.New(fakealpaca.Config{Now: now, Seed: 9, PageRows: rows})
	web := httptest.NewServer(venue)
	t.Cleanup(web.Close)
	return venue, web.URL
}

func data(url, secret string) *marketdata.Client {
	return marketdata.NewClient(marketdata.ClientOpts{APIKey: fakealpaca.KeyID, APISecret: secret, BaseURL: url, RetryLimit: 1, RetryDelay: time.Millisecond})
}

// TestAlpaca_Bars reads a week in both directions over pages of 100 rows.
func TestAlpaca_Bars(t *testing.T) {
	t.Parallel()
	venue, url := open(t, noon, 100)
	venue.SetUnlimited()
	from, to := time.Date(2025, time.July, 1, 13, 30, 0, 0, time.UTC), time.Date(2025, time.July, 8, 19, 59, 0, 0, time.UTC)
	for frame, i := range map[marketdata.TimeFrame]market.Interval{
		marketdata.OneMin: market.Minute1, marketdata.NewTimeFrame(3, marketdata.Min): market.Minute3, marketdata.NewTimeFrame(5, marketdata.Min): market.Minute5,
		marketdata.NewTimeFrame(15, marketdata.Min): market.Minute15, marketdata.NewTimeFrame(30, marketdata.Min): market.Minute30, marketdata.OneDay: market.Day1,
	} {
		want := venue.Bars("AAPL", i, from.Unix()-86400, to.Unix()+1)
		for _, sort := range []marketdata.Sort{marketdata.SortAsc, marketdata.SortDesc} {
			all, err := data(url, fakealpaca.Secret).GetMultiBars([]string{"AAPL", "MSFT", "NOSUCH"}, marketdata.GetBarsRequest{
				TimeFrame: frame, Adjustment: marketdata.AdjustmentSplit, Feed: marketdata.IEX, Start: from, End: to, Sort: sort,
			})
			if err != nil {
				t.Fatal(frame, err)
			}
			if len(all) != 2 || len(all["AAPL"]) != len(all["MSFT"]) {
				t.Fatalf("%s: bars of %d symbols", frame, len(all))
			}
			compare(t, frame.String(), all["AAPL"], want, i)
		}
	}
}

// compare holds that every regular bar within what came is the one traded.
func compare(t *testing.T, frame string, got []marketdata.Bar, want market.Bars, i market.Interval) {
	t.Helper()
	hours, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	matched := 0
	for _, b := range got {
		span, ok := hours.Bucket(i, b.Timestamp.Unix())
		if i == market.Day1 {
			span, ok = hours.Dated(i, b.Timestamp.Unix())
		}
		if !ok {
			continue // before or after regular hours
		}
		k := want.Search(span.Open)
		if k == want.Len() || want.T[k] != span.Open {
			t.Fatalf("%s: a bar at %v that was not traded", frame, b.Timestamp)
		}
		if w := want.At(k); b.Open != w.O || b.High != w.H || b.Low != w.L || b.Close != w.C || float64(b.Volume) != w.V {
			t.Fatalf("%s: %+v, want %+v", frame, b, w)
		}
		matched++
	}
	if least := map[bool]int{true: 4, false: 5 * 13}[i == market.Day1]; matched < least {
		t.Errorf("%s: %d bars of regular hours", frame, matched)
	}
}

func TestAlpaca_LatestAndAsset(t *testing.T) {
	t.Parallel()
	_, url := open(t, noon, 0)
	latest, err := data(url, fakealpaca.Secret).GetLatestBars([]string{"AAPL", "PENNY", "NOSUCH"}, marketdata.GetLatestBarRequest{Feed: marketdata.IEX})
	if err != nil || len(latest) != 2 || latest["PENNY"].Close >= 1 || latest["AAPL"].Timestamp.Before(noon().Add(-2*time.Minute)) {
		t.Errorf("%+v, %v", latest, err)
	}
	client := alpaca.NewClient(alpaca.ClientOpts{APIKey: fakealpaca.KeyID, APISecret: fakealpaca.Secret, BaseURL: url})
	asset, err := client.GetAsset("AAPL")
	if err != nil || asset.Symbol != "AAPL" || asset.Class != alpaca.USEquity || asset.Status != alpaca.AssetActive || !asset.Fractionable {
		t.Errorf("%+v, %v", asset, err)
	}
	_, err = client.GetAsset("NOSUCH")
	if api, ok := errors.AsType[*alpaca.APIError](err); !ok || api.StatusCode != http.StatusNotFound || api.Code != 40410000 {
		t.Errorf("an asset that is not there: %v", err)
	}
	_, err = data(url, "wrong").GetLatestBar("AAPL", marketdata.GetLatestBarRequest{})
	if api, ok := errors.AsType[*alpaca.APIError](err); !ok || api.StatusCode != http.StatusForbidden {
		t.Errorf("a wrong secret: %v", err)
	}
	_, err = data(url, fakealpaca.Secret).GetBars("AAPL", marketdata.GetBarsRequest{TimeFrame: marketdata.OneMin, Feed: marketdata.SIP, Start: noon().Add(-time.Hour), End: noon()})
	if api, ok := errors.AsType[*alpaca.APIError](err); !ok || api.StatusCode != http.StatusForbidden {
		t.Errorf("recent sip bars without a subscription: %v", err)
	}
}

// TestAlpaca_Throttled asks more often than an account may.
func TestAlpaca_Throttled(t *testing.T) {
	t.Parallel()
	_, url := open(t, noon, 0)
	client := data(url, fakealpaca.Secret)
	var err error
	for range 250 {
		if _, err = client.GetLatestBar("AAPL", marketdata.GetLatestBarRequest{}); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("250 requests in a minute are let through")
	}
}

// next returns what comes before ctx ends.
func next[T any](ctx context.Context, t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		t.Fatal("nothing came")
		panic("not reached")
	}
}

// TestAlpaca_Stream follows the stream, two minutes of trading to the second.
func TestAlpaca_Stream(t *testing.T) {
	t.Parallel()
	start := time.Now()
	now := func() time.Time { return noon().Add(60 * time.Since(start)) }
	venue, url := open(t, now, 0)
	bars, updated, daily, trades := make(chan stream.Bar, 1000), make(chan stream.Bar, 1000), make(chan stream.Bar, 1000), make(chan stream.Trade, 10_000)
	client := stream.NewStocksClient(marketdata.IEX, stream.WithBaseURL(url+"/v2"), stream.WithCredentials(fakealpaca.KeyID, fakealpaca.Secret),
		stream.WithBars(func(b stream.Bar) { bars <- b }, "AAPL", "MSFT"), stream.WithUpdatedBars(func(b stream.Bar) { updated <- b }, "AAPL"),
		stream.WithDailyBars(func(b stream.Bar) { daily <- b }, "AAPL"), stream.WithTrades(func(tr stream.Trade) { trades <- tr }, "AAPL"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := client.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	bar := next(ctx, t, bars)
	want := venue.Bars(bar.Symbol, market.Minute1, bar.Timestamp.Unix(), bar.Timestamp.Unix()+60)
	if want.Len() != 1 || want.O[0] != bar.Open || want.H[0] != bar.High || want.L[0] != bar.Low || want.C[0] != bar.Close || bar.TradeCount == 0 {
		t.Errorf("%+v, want %+v", bar, want)
	}
	if d := next(ctx, t, daily); d.Symbol != "AAPL" || d.Timestamp.UTC() != time.Date(2025, time.July, 9, 4, 0, 0, 0, time.UTC) {
		t.Errorf("%+v", d)
	}
	if tr := next(ctx, t, trades); tr.Symbol != "AAPL" || tr.Price <= 0 || len(tr.Conditions) == 0 {
		t.Errorf("%+v", tr)
	}
	if u := next(ctx, t, updated); u.Symbol != "AAPL" || u.Volume == 0 {
		t.Errorf("%+v", u)
	}
	if err := client.SubscribeToBars(func(b stream.Bar) { bars <- b }, "NVDA"); err != nil {
		t.Error(err)
	}
	if err := client.UnsubscribeFromTrades("AAPL"); err != nil {
		t.Error(err)
	}
	second := stream.NewStocksClient(marketdata.IEX, stream.WithBaseURL(url+"/v2"), stream.WithCredentials(fakealpaca.KeyID, "wrong"))
	if err := second.Connect(ctx); !errors.Is(err, stream.ErrInvalidCredentials) {
		t.Errorf("wrong keys: %v", err)
	}
	third := stream.NewStocksClient(marketdata.SIP, stream.WithBaseURL(url+"/v2"), stream.WithCredentials(fakealpaca.KeyID, fakealpaca.Secret))
	if err := third.Connect(ctx); !errors.Is(err, stream.ErrInsufficientSubscription) {
		t.Errorf("a feed without a subscription: %v", err)
	}
	cancel()
	<-client.Terminated()
}
