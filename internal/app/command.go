package app

import (
	"context"
	"io"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/operate/backup"
	"candela/internal/operate/commands"
	"candela/internal/operate/control"
	"candela/internal/operate/status"
	"candela/internal/serve/httpd"
	"candela/internal/serve/tool"
	"candela/internal/store/replica/conn"
	"candela/internal/store/scripts"
	"candela/internal/trading/desk"
	"candela/lib/pine"
	"candela/lib/ta"
)

// Commands returns the owner's commands. What a connection to NATS logs goes to log.
func Commands(cfg *config.Config, log io.Writer) *commands.Set {
	mode := modeOf(cfg)
	at := commands.Installation{
		Home: cfg.Home, Stores: stores(), Accounts: accountNames(), ManyOwners: mode.many,
		Index: func() *alert.Index { return storedIndex(cfg.Home) },
	}
	if !mode.shared {
		return commands.NewLocal(at)
	}
	return commands.NewShared(at, conn.ConfigOf(cfg), mode.capacity(maxTokens), cfg.Log.CommandLogger(log))
}

// MarkRestored halts the accounts in the store of a directory that comes from a backup, and returns the reason.
// Owners who were erased since are erased in it again, and returned.
func MarkRestored(ctx context.Context, dir string, erased []principal.Owner, now time.Time) (string, []principal.Owner, error) {
	return backup.MarkRestored(ctx, stores(), accountNames(), dir, erased, now)
}

// CopyStreams returns what copies the streams of replicas into a backup, nil for one node.
func CopyStreams(cfg *config.Config, log io.Writer) func(ctx context.Context, room string) ([]string, error) {
	if !cfg.Shared() {
		return nil
	}
	return func(ctx context.Context, room string) ([]string, error) {
		return backup.CopyStreams(ctx, conn.ConfigOf(cfg), cfg.Log.CommandLogger(log), room)
	}
}

// RestoreStreams makes the streams of a backup at the servers of replicas, as backup.RestoreStreams does.
func RestoreStreams(ctx context.Context, cfg *config.Config, from string, erased []principal.Owner, log io.Writer) (names []string, why string, again []principal.Owner, err error) {
	return backup.RestoreStreams(ctx, from, conn.ConfigOf(cfg), cfg.Log.CommandLogger(log), accountNames(), erased, time.Now())
}

// storedIndex returns an empty index of alerts with the indicators and scripts of a state directory.
func storedIndex(home string) *alert.Index {
	return alert.NewIndexOf(ta.Library{Scripts: scripts.Open(home, scripts.Unshared, pine.Compile)})
}

// ownAlerts is what a node does with alerts.
type ownAlerts interface {
	tool.Alerts
	ResumeAlert(ctx context.Context, caller principal.Caller, id string) error
}

// alertCommands returns what the control socket does with alerts, nil without a trading side.
func (t *trading) alertCommands(rt Runtime) control.Alerts {
	if t == nil {
		return nil
	}
	return commands.OwnerAlerts{Alerts: t.alerts, ManyOwners: rt.mode().many, NotEvaluated: t.engine.NotEvaluated}
}

// tradeCommands returns what the control socket says about trades, nil without a trading side.
func (t *trading) tradeCommands(rt Runtime) control.Trades {
	if t == nil {
		return nil
	}
	return commands.OwnerTrades{Desk: t.orders, Account: rt.account(), ManyOwners: rt.mode().many}
}

// statusOf returns the status function of the control socket, nil without a trading side.
// server is nil without HTTP.
func (t *trading) statusOf(rt Runtime, server func() httpd.Stats) func(context.Context) (control.Status, error) {
	if t == nil {
		return nil
	}
	now := status.Running{
		Account: rt.account(), Replica: t.tradingReplica, Receivers: t.sinkStatus, Policy: t.policies.Status, Engine: t.engine.Status, NoVenue: t.engine.NoVenue,
		Alerts: t.alerts, Orders: t.orders, Trading: t.status, ManyOwners: rt.mode().many,
	}
	if server != nil {
		now.Limits = func() (all []control.LimitStatus) {
			for _, b := range server().Budgets {
				all = append(all, control.LimitStatus(b))
			}
			return all
		}
	}
	return now.Status
}

// tradingReplica returns the name of the replica that trades, "" on a single node and for none.
func (t *trading) tradingReplica() string {
	if t.replicas == nil {
		return ""
	}
	return t.replicas.Trades()
}

// sinkStatus returns how the receivers of alerts are.
func (t *trading) sinkStatus() []sink.Status {
	all := make([]sink.Status, len(t.senders))
	for i, s := range t.senders {
		all[i] = s.Status()
	}
	return all
}

// loaded returns the status of a desk once its account is loaded. It reports false when
// ctx ends first.
func loaded(ctx context.Context, status func() desk.Status) (desk.Status, bool) {
	for {
		if now := status(); now.Broker != "" {
			return now, true
		}
		if retry.Sleep(ctx, 20*time.Millisecond) != nil {
			return desk.Status{}, false
		}
	}
}
