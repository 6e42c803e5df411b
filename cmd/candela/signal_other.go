//go:build !unix

package main

import "os"

// haltSignals returns nil: there is no signal for it here.
func haltSignals() <-chan os.Signal { return nil }
