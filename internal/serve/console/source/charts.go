package source

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/work/charting"
	"candela/lib/market"
	"candela/lib/ta"
)

// Charts makes the console's charts as generate_chart does, so that the owner sees what agents see.
type Charts struct {
	Charting *charting.Charting
	Library  ta.Library
	Symbols  tool.Symbols // to suggest one in place of an unknown one
}

// Indicators resolves the names of indicators.
func (c Charts) Indicators(names []string) ([]charting.NamedIndicator, error) {
	return tool.Indicators(c.Library, names)
}

// Chart returns the JSON or the picture of a chart.
func (c Charts) Chart(ctx context.Context, caller principal.Caller, q charting.Drawn, format string) ([]byte, error) {
	made, err := tool.MakeChart(ctx, c.Charting, caller, q, format)
	if err != nil {
		return nil, tool.PublicError(ctx, c.Symbols, err)
	}
	return made, nil
}

// Bars returns the bars of a chart.
func (c Charts) Bars(ctx context.Context, caller principal.Caller, q charting.Request) (*market.Bars, error) {
	shown, err := c.Charting.Chart(ctx, caller, q)
	if err != nil {
		return nil, err
	}
	return shown.Bars, nil
}
