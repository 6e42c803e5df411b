package source

import (
	"context"

	"candela/internal/data/marketdata"
	"candela/internal/kit/principal"
	"candela/internal/work/charting"
	"candela/lib/market"
	"candela/lib/ta"
)

// Charts makes the console's charts as generate_chart does, so that the owner sees what agents see.
type Charts struct {
	Charting *charting.Charting
	Library  ta.Library
	Symbols  marketdata.Namer // to suggest one in place of an unknown one
}

// Indicators resolves the names of indicators.
func (c Charts) Indicators(names []string) ([]charting.NamedIndicator, error) {
	return charting.Named(c.Library, names)
}

// Chart returns the picture of a chart, or its JSON.
func (c Charts) Chart(ctx context.Context, caller principal.Caller, q charting.Drawn) ([]byte, error) {
	made, err := c.Charting.Make(ctx, caller, q)
	answer := made.Picture
	if answer == nil {
		answer = made.JSON
	}
	if err == nil && len(answer) > charting.MaxAnswer {
		err = charting.TooLarge("generate_chart", len(answer))
	}
	if err != nil {
		return nil, marketdata.Explain(ctx, c.Symbols, err)
	}
	return answer, nil
}

// Bars returns the bars of a chart.
func (c Charts) Bars(ctx context.Context, caller principal.Caller, q charting.Request) (*market.Bars, error) {
	shown, err := c.Charting.Chart(ctx, caller, q)
	if err != nil {
		return nil, err
	}
	return shown.Bars, nil
}
