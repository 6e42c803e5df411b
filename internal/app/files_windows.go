package app

import "math"

// fileLimit is none: Windows bounds handles by memory.
func fileLimit() (uint64, error) { return math.MaxUint64, nil }
