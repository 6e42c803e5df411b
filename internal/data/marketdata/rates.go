package marketdata

import (
	"context"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// Rates returns the funding rates of a perpetual future from the first bar of a set to its last, oldest first.
// There are none where no source has them.
func (s *Service) Rates(ctx context.Context, set *BarSet, r Request) ([]provider.Point, error) {
	source := s.sourceOf(market.FundingRate, set)
	if source == nil || set.Bars.Len() == 0 {
		return nil, nil
	}
	points, err := s.pointsOf(ctx, source, market.FundingRate, set, r)
	if err != nil {
		return nil, err
	}
	first, last := set.Bars.T[0], set.Bars.T[set.Bars.Len()-1]+r.Interval.Seconds()
	var found []provider.Point
	for _, p := range points {
		if p.T >= first && p.T < last {
			found = append(found, p)
		}
	}
	return found, nil
}
