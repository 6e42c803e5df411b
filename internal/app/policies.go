package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// policyFile is a policy as it was read.
type policyFile struct {
	guard.Policy
	path  string
	found bool   // else these are the defaults
	sum   string // as PolicySum
	at    time.Time
}

// policyFile reads the order policy. A configured file must exist, and a policy for live
// trading must list the allowed symbols.
func (rt Runtime) policyFile() (policyFile, error) {
	f := policyFile{path: rt.Config.Trading.Policy, at: time.Now()}
	var err error
	f.Policy, f.found, err = ReadPolicy(f.path)
	if err == nil && !f.found && f.path != filepath.Join(rt.Config.Home, statedir.PolicyName) {
		err = &PolicyError{f.path, fs.ErrNotExist}
	}
	if err == nil && rt.Config.Trading.Live {
		if lock := f.Live(); lock != nil {
			err = &PolicyError{f.path, lock}
		}
	}
	if err == nil {
		f.sum, err = PolicySum(f.Policy)
	}
	return f, err
}

// policies has the policy in force. It is safe for concurrent use.
type policies struct {
	current  atomic.Pointer[policyFile]
	file     func() (policyFile, error) // reads it again
	starting sync.Mutex                 // held while a desk is made, or the policy is replaced
	applying sync.Mutex                 // held during an apply
}

// read puts the policy of the file in force at the start.
func (p *policies) read(rt Runtime) error {
	p.file = rt.policyFile
	f, err := p.file()
	p.current.Store(&f)
	return err
}

func (p *policies) now() *policyFile { return p.current.Load() }

// brief is the policy in force in one line.
func (p *policies) brief() string { return p.now().Brief() }

// status returns the policy in force and how its file is now.
func (p *policies) status() control.PolicyStatus {
	now := p.now()
	s := control.PolicyStatus{Path: now.path, Fingerprint: now.sum, Default: !now.found, Since: now.at.UTC()}
	f, err := p.file()
	switch {
	case err != nil:
		s.Problem = err.Error()
	case f.sum != now.sum:
		s.Differs, s.Changes = true, policyChanges(now.Policy, f.Policy)
	}
	return s
}

// text says which policy is in force, and what is wrong with the file.
func (p *policies) text() (which, problem string) {
	s := p.status()
	return PolicyText(s)
}

// PolicyText says in words which policy is in force, and what is wrong with its file now.
func PolicyText(s control.PolicyStatus) (which, problem string) {
	if s.Fingerprint != "" {
		from := "read from " + s.Path
		if s.Default {
			from = "the defaults, because " + s.Path + " did not exist"
		}
		which = fmt.Sprintf("The policy %s is in force, %s at %s.", s.Fingerprint, from, s.Since.Format(time.RFC3339))
	}
	switch {
	case s.Problem != "" && s.Fingerprint == "":
		problem = s.Problem + ". The next start with --trade would be refused."
	case s.Problem != "":
		problem = s.Problem + ". The file does not take effect, and the next start would be refused."
	case s.Differs:
		problem = s.Path + " is valid and differs from the policy in force. candela policy apply puts it in force."
	}
	return which, problem
}

// PolicyInFile returns how the policy file of a configuration is, where no program runs.
func PolicyInFile(cfg *config.Config) control.PolicyStatus {
	s := control.PolicyStatus{Path: cfg.Trading.Policy}
	if _, err := (Runtime{Config: cfg}).policyFile(); err != nil {
		s.Problem = err.Error()
	}
	return s
}

// policyChanges lists the limits and settings in which two policies differ.
func policyChanges(old, next guard.Policy) []string {
	var all []string
	add := func(name, before, after string) {
		if before != after {
			all = append(all, fmt.Sprintf("%s: %s, was %s", name, cmp.Or(after, "none"), cmp.Or(before, "none")))
		}
	}
	rules := guard.Rules(next)
	for i, r := range guard.Rules(old) {
		add(r.Name, r.Limit, rules[i].Limit)
	}
	settings := guard.Settings(next)
	for i, s := range guard.Settings(old) {
		add(s.Name, s.Value, settings[i].Value)
	}
	add("approval", old.Approval.Explain(), next.Approval.Explain())
	before, after := make(map[string]string), make(map[string]string)
	for _, x := range guard.Exceptions(old) {
		before[x.Symbol.String()+" "+x.Rule] = x.Limit
	}
	for _, x := range guard.Exceptions(next) {
		name := x.Symbol.String() + " " + x.Rule
		after[name] = x.Limit
		add(name, before[name], x.Limit)
	}
	for _, x := range guard.Exceptions(old) {
		if name := x.Symbol.String() + " " + x.Rule; after[name] == "" {
			add(name, x.Limit, "")
		}
	}
	return all
}

// newDesk returns a desk with the policy in force.
func (t *trading) newDesk(cfg desk.Config) *desk.Desk {
	t.policies.starting.Lock()
	defer t.policies.starting.Unlock()
	cfg.Policy = t.policies.now().Policy
	d := desk.New(cfg)
	t.desk.Store(d)
	return d
}

// applyPolicy returns what puts the policy of the file in force, nil without a trading side.
func (t *trading) applyPolicy(rt Runtime) func(context.Context) (control.PolicyStatus, error) {
	if t == nil {
		return nil
	}
	return func(ctx context.Context) (control.PolicyStatus, error) {
		t.policies.applying.Lock()
		defer t.policies.applying.Unlock()
		next, err := t.policies.file()
		if err != nil {
			return control.PolicyStatus{}, fault.New(fault.Conflict, "policy_invalid", "%v. Nothing was changed.", err)
		}
		old := t.policies.now()
		if t.replicas != nil {
			if err := t.replicas.checkPolicy(ctx, next.sum); err != nil {
				return control.PolicyStatus{}, err
			}
			err = t.replicas.applyPolicy(ctx, next.sum)
		}
		if err := errors.Join(err, t.setPolicy(ctx, old, &next)); err != nil {
			return control.PolicyStatus{}, fault.New(fault.Conflict, "policy_not_applied", "The policy could not be put in force everywhere: %v. Run candela policy apply again.", err)
		}
		changes := policyChanges(old.Policy, next.Policy)
		rt.Log.WarnContext(ctx, "policy applied", "fingerprint", next.sum, "path", next.path, "changes", changes)
		s := t.policies.status()
		s.Changes = changes
		return s, nil
	}
}

// setPolicy puts a policy in force at the desks of this process, and at those that start later.
// Where there is one desk and it does not take it, the old one stays in force.
func (t *trading) setPolicy(ctx context.Context, old, next *policyFile) error {
	t.policies.starting.Lock()
	t.policies.current.Store(next)
	one, many := t.desk.Load(), t.accounts.Load()
	t.policies.starting.Unlock()
	var err error
	if many != nil {
		err = many.SetPolicy(ctx, next.Policy)
	}
	if one != nil {
		err = one.SetPolicy(ctx, next.Policy)
		if f := fault.Of(err); f != nil && f.Code == desk.CodeStopping {
			err = nil // the next one gets it
		}
		if err != nil {
			t.policies.current.Store(old)
		}
	}
	if err == nil && t.replicas != nil {
		t.replicas.announce(ctx, next.sum)
	}
	return err
}
