// Package feargreed reads the crypto fear and greed index that alternative.me
// publishes: one number a day for the whole market, from 0 for extreme fear to 100
// for extreme greed. It has no bars.
package feargreed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	name   = "alternative.me"
	public = "https://api.alternative.me"
	day    = 86400
)

// Source reads the index. It is safe for concurrent use.
type Source struct {
	client *upstream.Client
	now    func() time.Time
}

// New returns a source that asks at base, or at the publisher when base is empty.
func New(hosts *upstream.Hosts, base string, now func() time.Time) *Source {
	// The publisher asks for no more than 60 requests a minute.
	return &Source{now: now, client: hosts.Client(upstream.Config{
		Venue: name, Base: cmp.Or(base, public), Limit: upstream.Limit{Weight: 50, Per: time.Minute},
	})}
}

// Name returns the publisher.
func (s *Source) Name() string { return name }

// SeriesNames lists the one series there is.
func (s *Source) SeriesNames() []string { return []string{string(market.FearGreed)} }

// Series returns the index, each value from the beginning of its day on. It knows
// no symbol.
func (s *Source) Series(ctx context.Context, q provider.SeriesQuery) ([]provider.Point, error) {
	if q.Name != string(market.FearGreed) {
		return nil, fault.Field("series", q.Name, "a series of "+name+": "+string(market.FearGreed))
	}
	days := max(0, s.now().Unix()-q.From)/day + 3
	request := upstream.Request{Path: "/fng/", Query: url.Values{"limit": {strconv.FormatInt(days, 10)}}, Subject: "fear and greed"}
	points, _, err := upstream.Get(ctx, s.client, request, parse)
	if err != nil {
		return nil, err
	}
	from := 0
	for from+1 < len(points) && points[from+1].T <= q.From {
		from++
	}
	to := from
	for to < len(points) && points[to].T <= q.To {
		to++
	}
	return points[from:to], nil
}

// parse reads {"data":[{"value":"40","timestamp":"1551157200",...},...]}, newest
// first. Numbers come as text, and have come as numbers.
func parse(body []byte) ([]provider.Point, error) {
	var points []provider.Point
	found := false
	j := strictjson.NewReader(body)
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			j.Failf("%q is no whole number", text)
		}
		return n
	}
	j.Object(func(key []byte) {
		if string(key) != "data" {
			return
		}
		found = true
		j.Array(func(i int) {
			value, at := int64(-1), int64(-1)
			j.Object(func(key []byte) {
				switch string(key) {
				case "value":
					value = number(j.Exact())
				case "timestamp":
					at = number(j.Exact())
				}
			})
			if j.OK() && (value < 0 || value > 100 || at < 0) {
				j.Failf("item %d has the value %d at %d", i, value, at)
			}
			points = append(points, provider.Point{T: at, V: float64(value)})
		})
	})
	if err := j.End(); err != nil {
		return nil, err
	}
	if !found {
		return nil, errors.New("no data in the answer")
	}
	slices.Reverse(points)
	for i := 1; i < len(points); i++ {
		if points[i].T <= points[i-1].T {
			return nil, fmt.Errorf("the days do not follow each other at %d", points[i].T)
		}
	}
	return points, nil
}
