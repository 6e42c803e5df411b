package oracle

import (
	"errors"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"
	"github.com/adshao/go-binance/v2/futures"

	"candela/internal/data/provider"
	"candela/internal/data/provider/binance"
	"candela/internal/data/upstream"
	venue "candela/internal/testkit/fake/binance"
	"candela/lib/market"
)

// exchange starts a fake Binance and returns its address and our own reader of it.
func exchange(t *testing.T, c venue.Config) (url string, ours *binance.Provider) {
	t.Helper()
	web := httptest.NewServer(venue.New(c))
	t.Cleanup(web.Close)
	ours = binance.New(upstream.NewHosts(nil), binance.Config{URL: web.URL})
	t.Cleanup(func() { _ = ours.Close() })
	return web.URL, ours
}

func spot(url string) *client.Client {
	c := client.NewClient("", "")
	c.BaseURL = url
	return c
}

func float(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Error(err)
	}
	return f
}

// TestBinance_Klines holds that somebody else's client and ours read the same bars
// of every interval.
func TestBinance_Klines(t *testing.T) {
	t.Parallel()
	url, ours := exchange(t, venue.Config{Seed: 4})
	const from, to = 1717200000, 1717200000 + 90*86400
	for _, i := range ours.Capabilities().Intervals {
		theirs, err := spot(url).NewKlinesService().Symbol("BTCUSDT").Interval(i.String()).
			StartTime(from * 1000).EndTime(to*1000 - 1).Limit(1000).Do(t.Context())
		if err != nil {
			t.Fatal(i, err)
		}
		page, err := ours.Bars(t.Context(), provider.BarQuery{Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: i, From: from, To: to})
		if err != nil || len(theirs) == 0 || len(theirs) != page.Bars.Len() {
			t.Fatalf("%v: %d bars, ours are %d, %v", i, len(theirs), page.Bars.Len(), err)
		}
		for k, their := range theirs {
			got := market.Bar{
				T: their.OpenTime / 1000, O: float(t, their.Open), H: float(t, their.High), L: float(t, their.Low),
				C: float(t, their.Close), V: float(t, their.Volume), TakerBuy: float(t, their.TakerBuyBaseAssetVolume),
			}
			if want := page.Bars.At(k); !got.Equal(want) || their.CloseTime <= their.OpenTime || their.TradeNum < 1 {
				t.Fatalf("%v: bar %d is %+v, ours %+v", i, k, got, want)
			}
		}
	}
	_, err := spot(url).NewKlinesService().Symbol("NOSUCH").Interval("1h").Do(t.Context())
	if refused, ok := errors.AsType[*common.APIError](err); !ok || refused.Code != -1121 {
		t.Errorf("an unknown symbol: %v", err)
	}
	_, err = spot(url).NewKlinesService().Symbol("BTCUSDT").Interval("7h").Do(t.Context())
	if refused, ok := errors.AsType[*common.APIError](err); !ok || refused.Code != -1120 {
		t.Errorf("an unknown interval: %v", err)
	}
}

func TestBinance_ExchangeInfo(t *testing.T) {
	t.Parallel()
	url, ours := exchange(t, venue.Config{})
	info, err := spot(url).NewExchangeInfoService().Symbol("ETHUSDT").Do(t.Context())
	if err != nil || len(info.Symbols) != 1 || len(info.RateLimits) != 3 {
		t.Fatalf("%+v, %v", info, err)
	}
	inst, err := ours.Instrument(t.Context(), market.Symbol{Name: "ETHUSDT"})
	if err != nil {
		t.Fatal(err)
	}
	their := info.Symbols[0]
	lot, price, notional := their.LotSizeFilter(), their.PriceFilter(), their.NotionalFilter()
	for text, got := range map[string]float64{
		price.TickSize: inst.Tick.InexactFloat64(), lot.StepSize: inst.Step.InexactFloat64(),
		lot.MaxQuantity: inst.MaxQuantity.InexactFloat64(), notional.MinNotional: inst.MinNotional.InexactFloat64(),
	} {
		if want := float(t, text); want == 0 || got != want {
			t.Errorf("ours is %v, theirs %s", got, text)
		}
	}
	if their.BaseAsset != inst.Base || their.QuoteAsset != inst.Quote || their.Status != "TRADING" {
		t.Errorf("%+v, ours %+v", their, inst)
	}
	if at, err := spot(url).NewServerTimeService().Do(t.Context()); err != nil || time.Since(time.UnixMilli(at)).Abs() > time.Minute {
		t.Errorf("the venue's clock is %d, %v", at, err)
	}
}

// TestBinance_Streams follows one stream alone and several combined. The client
// keeps its addresses in package variables, so this test runs by itself.
func TestBinance_Streams(t *testing.T) {
	url, _ := exchange(t, venue.Config{Step: 50 * time.Millisecond})
	ws := "ws" + strings.TrimPrefix(url, "http")
	client.BaseWsMainURL, client.BaseCombinedMainURL = ws+"/ws", ws+"/stream?streams="
	var mu sync.Mutex
	seen, enough := map[string]int{}, make(chan struct{})
	handle := func(e *client.WsKlineEvent) {
		k := e.Kline
		if e.Event != "kline" || k.Symbol != e.Symbol || k.EndTime-k.StartTime < 59_999 || float(t, k.High) < float(t, k.Low) ||
			float(t, k.ActiveBuyVolume) > float(t, k.Volume) {
			t.Errorf("%+v", e)
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[k.Symbol+k.Interval]++; len(seen) == 3 {
			select {
			case <-enough:
			default:
				close(enough)
			}
		}
	}
	wrong := func(err error) { t.Errorf("stream: %v", err) }
	done1, stop1, err := client.WsKlineServe("ETHBTC", "1m", handle, wrong)
	if err != nil {
		t.Fatal(err)
	}
	done2, stop2, err := client.WsCombinedKlineServe(map[string]string{"BTCUSDT": "1m", "ETHUSDT": "1h"}, handle, wrong)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Errorf("seen %v", seen)
	}
	close(stop1)
	close(stop2)
	<-done1
	<-done2
}

func TestBinance_Futures(t *testing.T) {
	t.Parallel()
	url, ours := exchange(t, venue.Config{})
	c := futures.NewClient("", "")
	c.BaseURL = url
	now := time.Now()
	from := now.Add(-24 * time.Hour)
	points := func(name market.SeriesName) []provider.Point {
		all, err := ours.Series(t.Context(), provider.SeriesQuery{Name: string(name), Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: market.Hour1, From: from.Unix(), To: now.Unix()})
		if err != nil {
			t.Fatal(name, err)
		}
		return all
	}
	same := func(name market.SeriesName, n int, at func(int) (ms int64, value string)) {
		byTime := map[int64]float64{}
		for _, p := range points(name) {
			byTime[p.T] = p.V
		}
		if n == 0 {
			t.Errorf("%s: nothing", name)
		}
		for k := range n {
			if ms, text := at(k); byTime[ms/1000] != float(t, text) {
				t.Errorf("%s at %d: %s, ours %v", name, ms, text, byTime[ms/1000])
			}
		}
	}
	rates, err := c.NewFundingRateService().Symbol("BTCUSDT").StartTime(from.UnixMilli()).EndTime(now.UnixMilli()).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(market.FundingRate, len(rates), func(k int) (int64, string) { return rates[k].FundingTime, rates[k].FundingRate })
	interest, err := c.NewOpenInterestStatisticsService().Symbol("BTCUSDT").Period("1h").StartTime(from.UnixMilli()).EndTime(now.UnixMilli()).Limit(500).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(market.OpenInterest, len(interest), func(k int) (int64, string) { return interest[k].Timestamp, interest[k].SumOpenInterestValue })
	ratios, err := c.NewLongShortRatioService().Symbol("BTCUSDT").Period("1h").StartTime(from.UnixMilli()).EndTime(now.UnixMilli()).Limit(500).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(market.LongAccounts, len(ratios), func(k int) (int64, string) { return ratios[k].Timestamp, ratios[k].LongAccount })
}
