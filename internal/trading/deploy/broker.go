package deploy

import (
	"context"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Broker is where deployments of a stage trade.
type Broker struct {
	Desk    Desk
	Account string // its name: a deployment trades only on the account that it was started on
	Money   bool   // real money: deployments come here from paper, through the gates
	// Capabilities returns what the broker holds of a symbol, or why it does not trade it.
	Capabilities func(ctx context.Context, s market.Symbol) (order.Capabilities, error)
}
