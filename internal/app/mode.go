package app

import (
	"log/slog"
	"path/filepath"
	"time"

	"candela/internal/access/metering"
	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/access/upstream"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/store/scripts"
	"candela/internal/store/statedir"
)

// mode is what follows from two questions about an installation: where is it stored (in the state directory of one
// machine, or at NATS by all replicas), and whose is it (one owner's, or that of many). modeOf asks them; other
// code reads the answers.
type mode struct {
	shared, many bool

	capacity func(tokens int) oauth.Capacity // of the store of logins, where one owner has so many tokens
	// subscriptions bounds those of one owner, and all those of all replicas; 0 is the limit for one owner.
	ownerSubscriptions, allSubscriptions int
	// alertList is where a replica saves the list of alerts for the next start, plans the file of plans, and usage
	// the file of what owners use; "" for none.
	alertList, plans, usage string

	scripts scripts.Sharing
	// passphrase returns the owner who approves clients; newProvider the identity provider, nil for one owner.
	passphrase  func(rt Runtime) (*oauth.Passphrase, error)
	newProvider func(cfg *config.Config, log *slog.Logger) (*upstream.Provider, error)
}

func modeOf(cfg *config.Config) mode {
	m := mode{shared: cfg.Shared(), many: cfg.ManyOwners()}
	if m.many {
		m.setMany(cfg.Home)
	} else {
		m.setOne()
	}
	if m.shared {
		m.scripts = scripts.Replicas
	}
	return m
}

func (m *mode) setOne() {
	m.capacity, m.scripts, m.passphrase = oauth.OneOwner, scripts.Unshared, newOwner
	m.newProvider = func(*config.Config, *slog.Logger) (*upstream.Provider, error) { return nil, nil } //nolint:nilnil // one owner needs none
}

func (m *mode) setMany(home string) {
	most := oauth.ManyOwners()
	m.capacity = func(int) oauth.Capacity { return most }                    // each has a share, and none ends what another has
	m.ownerSubscriptions, m.allSubscriptions = most.OwnerTokens, most.Tokens // each token has one
	m.alertList, m.plans, m.usage = filepath.Join(home, statedir.AlertsName), filepath.Join(home, statedir.PlansName), filepath.Join(home, statedir.UsageName)
	m.scripts, m.newProvider = scripts.ManyOwners, newProvider
	m.passphrase = func(rt Runtime) (*oauth.Passphrase, error) {
		return oauth.NewProviderOwner(rt.Config.Owners.Issuer, rt.Config.Owners.ClientID), nil
	}
}

// readPlans returns the limits of owners, nil for one owner.
func (m *mode) readPlans(standing func(owner principal.Owner) owners.Standing) (*owners.Limits, error) {
	if m.plans == "" {
		return nil, nil //nolint:nilnil // one owner has no plan
	}
	plans, err := plan.Read(m.plans)
	l := &owners.Limits{Plans: &plan.InForce{}, Standing: standing}
	l.Plans.Set(plans)
	return l, err
}

// newPlans returns what reloads the plans of owners, nil for one owner.
func (m *mode) newPlans(log *slog.Logger, limits *owners.Limits) *owners.Plans {
	if limits == nil {
		return nil
	}
	return &owners.Plans{File: m.plans, InForce: limits.Plans, Log: log}
}

// newMeter returns what counts the use of owners, nil for one owner.
func (m *mode) newMeter(log *slog.Logger) *metering.Meter {
	if m.usage == "" {
		return nil
	}
	return metering.New(m.usage, time.Now, log)
}
