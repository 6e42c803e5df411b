package feargreed

import "candela/internal/data/provider"

// Parse is what the fuzz test feeds.
func Parse(body []byte) ([]provider.Point, error) { return parse(body) }
