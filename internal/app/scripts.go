package app

import (
	"candela/internal/config"
	"candela/internal/kit/budget"
	"candela/internal/store/scripts"
	"candela/lib/pine"
)

// Bytes that scripts may hold: all of the process, of charts, back-tests, scans and alerts together, and those of one
// owner.
const (
	ScriptMemory      = 160 << 20
	OwnerScriptMemory = 96 << 20
)

// newScriptMemory returns the memory that all scripts share.
func newScriptMemory() *budget.Pool { return budget.NewPool(ScriptMemory, OwnerScriptMemory) }

// maxStreams bounds what is kept of the indicators of scans and previews, in bytes.
const maxStreams = 8 << 20

// openScripts returns the stored scripts of the state directory.
func openScripts(cfg *config.Config) *scripts.Shelf {
	return scripts.Open(cfg.Home, modeOf(cfg).scripts, pine.Compile)
}
