package app

import "candela/internal/picture/chart"

// Wired returns what this build can do. A new mode is a line here.
func Wired() Services {
	return Services{
		MCP:     speakMCP,
		Serve:   serveMCP,
		Venues:  Venues(),
		Brokers: Brokers(),
		Draw:    chart.NewRenderer(),
	}
}
