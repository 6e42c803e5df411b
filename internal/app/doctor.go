package app

import (
	"context"
	"errors"
	"log/slog"

	"candela/internal/config"
	"candela/internal/operate/doctor"
	"candela/internal/store/replica/conn"
)

// RunDoctor examines the installation that flags, variables and file describe.
func RunDoctor(ctx context.Context, in config.Input, deps Deps, o doctor.Options) {
	in.Inspect, in.Parts = true, partsOf(deps.Venues, deps.Brokers) // flags of every mode are accepted
	o.Load = func() (*config.Config, error) { return config.Load(in) }
	o.Venues, o.Brokers = deps.Venues, deps.Brokers
	o.Policy = checkPolicy
	o.ConnectNATS = func(ctx context.Context, cfg *config.Config) error {
		conn, err := conn.Connect(ctx, conn.ConfigOf(cfg.NATS), slog.New(slog.DiscardHandler))
		if err == nil {
			conn.Close()
		}
		return err
	}
	doctor.Run(ctx, o)
}

// checkPolicy reads the order policy, under --trade with the locks before trading with
// real money.
func checkPolicy(cfg *config.Config) (found bool, problems []error) {
	_, found, err := ReadPolicy(cfg.Trading.Policy)
	if err == nil && cfg.Trade {
		_, err = Runtime{Config: cfg}.policy()
	}
	if bad, ok := errors.AsType[*PolicyError](err); ok {
		return found, bad.Problems()
	}
	return found, nil
}
