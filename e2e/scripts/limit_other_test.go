//go:build !linux

package scripts

import "testing"

func limitMemory(*testing.T, int, uint64) {}
