package app

import (
	"candela/internal/analysis/pine"
	"candela/internal/config"
	"candela/internal/store/scripts"
)

// openScripts returns the stored scripts of the state directory.
func openScripts(cfg *config.Config) *scripts.Shelf {
	sharing := scripts.Unshared
	switch {
	case cfg.NATS.URL != "":
		sharing = scripts.Replicas
	case cfg.ManyOwners():
		sharing = scripts.ManyOwners
	}
	return scripts.Open(cfg.Home, sharing, pine.Compile)
}
