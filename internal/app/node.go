package app

import (
	"context"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/serve/admin"
	"candela/internal/serve/console"
	"candela/internal/store"
	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/work/drawings"
)

// node holds the parts that differ between candela on one machine and a replica of
// several. openLocal and openReplica return one; no other code asks which it is.
type node struct {
	// logins returns the store of codes and tokens and the check of the owner's
	// passphrase.
	logins func() (oauth.Store, oauth.OwnerAuth, error)
	// keepLogins maintains the logins that are stored in the state directory, or ends them
	// where none are to be stored.
	keepLogins lifecycle.Work
	// survives reports whether a restart of this node leaves a token live; nil: none.
	survives func(oauth.Token) bool
	// trading builds the trading side on t, which has its bars. It is called under
	// --trade only.
	trading func(t *trading) (side, error)

	// confirm asks whether a caller's login is in force where all replicas write it; nil on a
	// single node, which knows.
	confirm func(ctx context.Context, by principal.Caller) error

	reconnect time.Duration         // after which clients of a stopped server reconnect; 0 for their own choice
	cluster   *admin.Cluster        // nil on a single node
	owners    func() owners.Records // of the trading side, once it is built; nil without one
	inForce   func() string         // the policy in one line, once the trading side is built
	signInUp  func() bool           // the identity provider answers; nil for one owner
	peers     *member.Group         // the other replicas; nil on a single node, and without trading
	last      []lifecycle.Part      // started after the transports, stopped before them
	close     func()
}

// side is the trading side of a node.
type side struct {
	inbox  notify.Inbox
	alerts ownAlerts
	orders account
	// running returns the desk that runs in this process, nil while another replica has it.
	running func() runningDesk
	// status returns the state of the account and the halt files that hold it, wherever it
	// is traded, and reports false when that is not known before ctx ends.
	status func(ctx context.Context) (desk.Status, []string, bool)

	cursors  sink.Store
	kept     drawings.Store
	journals store.Journals // of strategies; nil for replicas
	// askStrategies answers a call to the strategies of an owner that run with the desk; nil where they run beside it.
	askStrategies askStrategies
	// exclusive limits work to one replica at a time.
	exclusive func(name string, run lifecycle.Work) lifecycle.Work
	stats     func() (store.Stats, bool) // nil for replicas
	// audit adds an event to the audit log.
	audit func(ctx context.Context, caller principal.Caller, kind, about string, body []byte) error
	// history returns the reader of the audit log, nil while it is not open; nil for replicas.
	history  func() *ledger.Audit
	events   console.Audit // the audit log for the console
	receipts *receipt.Receipts

	// owners returns the records of owners, nil while the store is not open; nil for one owner
	// of many replicas.
	owners func() owners.Records
	// standing makes the standing of an owner take effect here after it was written; nil for
	// replicas, which all learn of it from the store.
	standing func(ctx context.Context, owner principal.Owner, now owners.Standing) error
	// replicas are the others; nil on a single node.
	replicas *deskproxy.Policies

	// limits are those of owners; nil for one owner.
	limits *owners.Limits
	plans  *owners.Plans // reloads them; nil likewise

	first []lifecycle.Part // before the sinks and the engine: the inbox and what it needs
	rest  []lifecycle.Part // after the engine: what assigns alerts to it, and the desk
}

// openNode returns a local node, or a replica connected to the servers that all share.
func (rt Runtime) openNode(ctx context.Context) (*node, error) {
	serves := rt.Config.Mode() == config.ModeServe
	if serves && (rt.mode().shared || rt.Config.Trade) {
		if err := statedir.MarkReplica(rt.Config.Home, rt.mode().shared); err != nil {
			return nil, err
		}
	}
	if serves && rt.mode().shared {
		return rt.openReplica(ctx)
	}
	return rt.openLocal(ctx)
}

// records returns the records of owners, nil while there are none.
func (n *node) records() owners.Records {
	if n.owners == nil {
		return nil
	}
	return n.owners()
}

// inboxPart runs the inbox after prepare has filled it.
func inboxPart(inbox notify.Inbox, prepare func(context.Context) error) lifecycle.Part {
	return lifecycle.Part{Name: "notifications", Run: func(ctx, _ context.Context, ready func()) error {
		if err := prepare(ctx); err != nil {
			return err
		}
		ready()
		return inbox.Run(ctx)
	}}
}
