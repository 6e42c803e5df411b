package binance

import (
	"context"
	"net/url"
	"strconv"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	fundingPeriod = 8 * 3600
	fundingPage   = 1000
	dataPage      = 500
	dataKept      = 30 * 86400 // how long the venue keeps the statistics
)

// source is where one of the series comes from.
type source struct {
	path, timeKey, valueKey string
	page                    int
	statistic               bool // has a period, and is kept for thirty days
}

func sources() map[market.SeriesName]source {
	return map[market.SeriesName]source{
		market.FundingRate:  {"/fapi/v1/fundingRate", "fundingTime", "fundingRate", fundingPage, false},
		market.OpenInterest: {"/futures/data/openInterestHist", "timestamp", "sumOpenInterestValue", dataPage, true},
		market.LongAccounts: {"/futures/data/globalLongShortAccountRatio", "timestamp", "longAccount", dataPage, true},
	}
}

// SeriesNames lists the series of the perpetual futures.
func (p *Provider) SeriesNames() []string {
	return []string{string(market.FundingRate), string(market.OpenInterest), string(market.LongAccounts)}
}

// Series returns a series of the perpetual future of a pair, for the pair and for the future.
func (p *Provider) Series(ctx context.Context, q provider.SeriesQuery) ([]provider.Point, error) {
	from, ok := sources()[market.SeriesName(q.Name)]
	if !ok {
		return nil, fault.Field("series", q.Name, "a series of binance: funding_rate open_interest long_accounts")
	}
	pair, _ := q.Symbol.Pair()
	spelled, err := Spell(market.Symbol{Venue: q.Symbol.Venue, Name: pair})
	if err != nil {
		return nil, err
	}
	query := url.Values{"symbol": {spelled}, "limit": {strconv.Itoa(from.page)}}
	start := q.From - fundingPeriod // the value in force at From is older
	if from.statistic {
		period := periodOf(q.Interval)
		query.Set("period", period.String())
		// The venue refuses more than thirty days, so a little less is requested.
		start = max(q.From-period.Seconds(), p.config.Now().Unix()-dataKept+period.Seconds())
	}
	query.Set("endTime", strconv.FormatInt(q.To*1000+999, 10))
	var all []provider.Point
	for start <= q.To {
		query.Set("startTime", strconv.FormatInt(max(start, 0)*1000, 10))
		request := upstream.Request{Path: from.path, Query: query, Subject: spelled}
		points, _, err := upstream.Get(ctx, p.statistics, request, func(body []byte) ([]provider.Point, error) {
			return parsePoints(body, from.timeKey, from.valueKey)
		})
		if err != nil {
			return nil, Explain(err, q.Symbol, spelled)
		}
		for _, one := range points {
			if len(all) == 0 || one.T > all[len(all)-1].T {
				all = append(all, one)
			}
		}
		if len(points) < from.page {
			break
		}
		start = points[len(points)-1].T + 1
	}
	return all, nil
}

// periodOf returns the longest period of the statistics that is no longer than
// the interval; the shortest there is for shorter ones.
func periodOf(i market.Interval) market.Interval {
	switch {
	case i < market.Minute5:
		return market.Minute5
	case i > market.Day1:
		return market.Day1
	}
	best := market.Minute5
	for _, period := range []market.Interval{market.Minute15, market.Minute30, market.Hour1, market.Hour2, market.Hour4, market.Hour6, market.Hour12, market.Day1} {
		if period <= i {
			best = period
		}
	}
	return best
}
