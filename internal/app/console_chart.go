package app

import (
	"context"
	"encoding/json"
	"fmt"

	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/lib/fault"
)

// consoleCharts draws the console's charts with the tool that agents call, so that both see
// the same.
type consoleCharts struct{ tools *tool.Registry }

// Chart returns the JSON or the picture of generate_chart.
func (c consoleCharts) Chart(ctx context.Context, caller principal.Caller, arguments json.RawMessage) ([]byte, error) {
	result, err := c.tools.Call(ctx, caller, "generate_chart", arguments)
	if err != nil {
		return nil, fmt.Errorf("draw the chart: %w", err)
	}
	content := result.Content[0]
	switch {
	case result.IsError:
		var failed struct{ Code, Message string }
		if err := json.Unmarshal(content.Text, &failed); err != nil {
			return nil, fmt.Errorf("read the error of the chart: %w", err)
		}
		return nil, fault.New(result.Kind, failed.Code, "%s", failed.Message)
	case content.MIME != "":
		return content.Image, nil
	}
	return content.Text, nil
}
