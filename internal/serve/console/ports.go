package console

import (
	"context"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/internal/work/charting"
	"candela/lib/market"
)

// Ports is what the console reads and does. A nil port hides what needs it.
type Ports struct {
	Account Account
	Alerts  Alerts
	Clients Clients
	Audit   Audit
	Health  func() []Part
	Day     func() []desk.Sample // P&L of this UTC day, one a minute
	Prices  Prices
	Policy  func() guard.Policy // in force
	// PolicyText says which policy that is and where it was read, and what is wrong with the file
	// now, "" for nothing.
	PolicyText func() (which, problem string)
	Receivers  func() []Receiver // of messages to the owner
	Firings    func() []Firing   // of alerts in the last seven days, newest first
	// Closed returns the positions that were closed in the last seven days.
	Closed  func() []order.NoticeRecord
	History History
	// Receipts makes receipts of orders; nil for none.
	Receipts   Receipts
	Charts     Charts
	Drawings   Drawings
	Market     Market
	Scripts    Scripts
	Reports    Reports
	Strategies Strategies

	NotEvaluated func(*alert.Alert) string // why nothing evaluates an alert, "" if it is evaluated
}

// Market has what pages draw and name besides charts.
type Market interface {
	// Closes returns the closes of a symbol since a time, oldest first, a few hundred at most.
	Closes(ctx context.Context, s market.Symbol, since time.Time) ([]float64, error)
	// Day returns the close of the trading day before the last one, and that of the last one so
	// far.
	Day(ctx context.Context, s market.Symbol) (before, last float64, err error)
	// Currency returns the currency of a symbol's prices, "" if it is unknown.
	Currency(ctx context.Context, s market.Symbol) string
	// Known returns symbols to choose from.
	Known(ctx context.Context) []Known
}

// Known is a symbol to choose from.
type Known struct {
	Use  string // as clients write it
	Name string // such as Bitcoin
}

// Charts makes charts.
type Charts interface {
	// Indicators resolves the names of indicators.
	Indicators(names []string) ([]charting.NamedIndicator, error)
	// Chart returns what generate_chart returns: a PNG, or JSON.
	Chart(ctx context.Context, caller principal.Caller, q charting.Drawn) ([]byte, error)
	// Bars returns the bars of a chart of a symbol.
	Bars(ctx context.Context, caller principal.Caller, q charting.Request) (*market.Bars, error)
}

// Prices are the prices that the engine follows.
type Prices interface {
	LastQuote(s market.Symbol) (order.Quote, bool)
	Quote(ctx context.Context, s market.Symbol) (order.Quote, error)
}

// Receiver is where messages to the owner go.
type Receiver struct {
	Name      string
	Delivered uint64
	Problem   string // why the last attempt failed, "" after a delivery

	// Took returns how long after the firing with this number it was delivered, false if that
	// is unknown.
	Took func(seq uint64) (time.Duration, bool)
	// Test sends a test message and returns what the receiver answered, and whether it accepted.
	Test func(ctx context.Context) (answer string, accepted bool)
}

// Firing is an alert that fired.
type Firing struct {
	alert.Fired
	Seq uint64
}

// History joins orders with the alerts that they answered.
type History interface {
	// Cause returns the id of the alert that an order answered and when it fired, "" if there
	// is none.
	Cause(ctx context.Context, orderID string) (alertID string, at time.Time, err error)
	// Setter returns the client that set an alert and when, "" if that is unknown.
	Setter(ctx context.Context, alertID string) (client string, at time.Time, err error)
	// Answers returns the ids of the orders that followed a firing.
	Answers(ctx context.Context, alertID string) ([]string, error)
}

// Receipts makes receipts of orders.
type Receipts interface {
	// Receipt returns the receipt of an order, as its file has it.
	Receipt(ctx context.Context, caller principal.Caller, id string) ([]byte, error)
}

// Account is the trading account.
type Account interface {
	// Status returns the state of the account, the halt files that hold it, and false while
	// it is unknown.
	Status(ctx context.Context) (desk.Status, []string, bool)

	Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error)
	OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error)
	Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error)
	Account(ctx context.Context, caller principal.Caller) (guard.Account, error)
	Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error)
	Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error)
	// Place places an order as it does for any client.
	Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Placed, error)

	Pending(ctx context.Context) ([]order.Order, error)
	Review(ctx context.Context, id string) (guard.Review, error)
	Approve(ctx context.Context, id, by string) (order.Order, error)
	Refuse(ctx context.Context, id, by, reason string) (order.Order, error)

	Halt(ctx context.Context, by, reason string) (guard.State, error)
	Resume(ctx context.Context, by string) (guard.State, error)
}

// Alerts are the owner's alerts.
type Alerts interface {
	Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error)
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
	Cancel(ctx context.Context, caller principal.Caller, alertID string) error
	ResumeAlert(ctx context.Context, caller principal.Caller, alertID string) error // of one that is set aside
}

// byConsole is the author of what the owner does here, in the audit log and in orders.
const byConsole = "the console"

// caller is the owner at the console. No token stands behind it.
func (v *visit) caller() principal.Caller { return callerOf(v.session.Subject) }

func callerOf(subject principal.Owner) principal.Caller {
	return principal.Caller{Subject: subject, Key: principal.ConsoleKey, Client: "console", Scope: principal.Trade}
}
