package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// Status is the policy in force and its file as it is now.
type Status struct {
	Path        string    `json:"path"`
	Fingerprint string    `json:"fingerprint,omitempty"` // of the policy in force; "" if no program runs
	Default     bool      `json:"default,omitempty"`     // there was no file when it was read
	Since       time.Time `json:"since,omitzero"`        // when it was read
	Differs     bool      `json:"differs,omitempty"`     // the file has another valid policy
	Problem     string    `json:"problem,omitempty"`     // why the file cannot be used
	Changes     []string  `json:"changes,omitempty"`     // what applying the file changed, or would change
}

// Text says in words which policy is in force, and what is wrong with its file now.
func (s Status) Text() (which, problem string) {
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

// Desk is what a policy is put in force at.
type Desk interface {
	SetPolicy(ctx context.Context, p guard.Policy) error
}

// Replicas are the other replicas of this one.
type Replicas interface {
	// CheckPolicy returns an error if the file of another replica has another policy.
	CheckPolicy(ctx context.Context, sum string) error
	// ApplyPolicy puts the policy in force at the other replicas.
	ApplyPolicy(ctx context.Context, sum string) error
	// AnnouncePolicy says which policy is in force here.
	AnnouncePolicy(ctx context.Context, sum string)
}

// InForce has the policy in force. It is safe for concurrent use once its fields are set.
type InForce struct {
	Source   Source
	Desks    func() (one, many Desk) // those of this process; nil for none
	Replicas Replicas                // nil on a single node
	Log      *slog.Logger
	// Record stores that a policy comes into force, before the first order under it; nil for nothing.
	Record func(ctx context.Context, p guard.Policy) error

	current  atomic.Pointer[File]
	starting sync.Mutex // held while a desk is made, or the policy is replaced
	applying sync.Mutex // held during an apply
}

// Load puts the policy of the file in force at the start.
func (p *InForce) Load() error {
	f, err := p.Source.Read()
	p.current.Store(&f)
	return err
}

// Now returns the policy in force.
func (p *InForce) Now() guard.Policy { return p.current.Load().Policy }

// Brief is the policy in force in one line.
func (p *InForce) Brief() string { return p.Now().Brief() }

// Status returns the policy in force and how its file is now.
func (p *InForce) Status() Status {
	now := p.current.Load()
	s := Status{Path: now.Path, Fingerprint: now.Sum, Default: !now.Found, Since: now.At.UTC()}
	f, err := p.Source.Read()
	switch {
	case err != nil:
		s.Problem = err.Error()
	case f.Sum != now.Sum:
		s.Differs, s.Changes = true, Changes(now.Policy, f.Policy)
	}
	return s
}

// Text says which policy is in force, and what is wrong with the file.
func (p *InForce) Text() (which, problem string) { return p.Status().Text() }

// Start makes a desk with the policy in force. No other is put in force before start has returned.
func (p *InForce) Start(start func(guard.Policy)) {
	p.starting.Lock()
	defer p.starting.Unlock()
	start(p.Now())
}

// Apply puts the policy of the file in force, here and at the other replicas.
func (p *InForce) Apply(ctx context.Context) (Status, error) {
	p.applying.Lock()
	defer p.applying.Unlock()
	next, err := p.Source.Read()
	if err != nil {
		return Status{}, fault.New(fault.Conflict, "policy_invalid", "%v. Nothing was changed.", err)
	}
	old := p.current.Load()
	if p.Replicas != nil {
		if err := p.Replicas.CheckPolicy(ctx, next.Sum); err != nil {
			return Status{}, err
		}
		err = p.Replicas.ApplyPolicy(ctx, next.Sum)
	}
	if err := errors.Join(err, p.set(ctx, old, &next)); err != nil {
		return Status{}, fault.New(fault.Conflict, "policy_not_applied", "The policy could not be put in force everywhere: %v. Run candela policy apply again.", err)
	}
	changes := Changes(old.Policy, next.Policy)
	p.Log.WarnContext(ctx, "policy applied", "fingerprint", next.Sum, "path", next.Path, "changes", changes)
	s := p.Status()
	s.Changes = changes
	return s, nil
}

// ApplyHere puts the file in force for another replica that applies the policy with a digest. If the file has
// another policy it changes nothing. It returns the digest of the file, or with an error in its text why the file
// cannot be read.
func (p *InForce) ApplyHere(ctx context.Context, sum string, apply bool) (inFile string, unreadable, err error) {
	next, unreadable := p.Source.Read()
	if unreadable != nil || !apply || next.Sum != sum {
		return next.Sum, unreadable, nil
	}
	if !p.applying.TryLock() {
		return next.Sum, nil, fault.New(fault.Conflict, "policy_not_applied", "A policy is being applied there.")
	}
	defer p.applying.Unlock()
	return next.Sum, nil, p.set(ctx, p.current.Load(), &next)
}

// set puts a policy in force at the desks of this process, and at those that start later.
// Where there is one desk and it does not take it, the old one stays in force.
func (p *InForce) set(ctx context.Context, old, next *File) error {
	if err := p.record(ctx, next); err != nil {
		return err
	}
	p.starting.Lock()
	p.current.Store(next)
	one, many := p.Desks()
	p.starting.Unlock()
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
			p.current.Store(old)
			err = errors.Join(err, p.record(ctx, old))
		}
	}
	if err == nil && p.Replicas != nil {
		p.Replicas.AnnouncePolicy(ctx, next.Sum)
	}
	return err
}

func (p *InForce) record(ctx context.Context, f *File) error {
	if p.Record == nil {
		return nil
	}
	return p.Record(ctx, f.Policy)
}

// Changes lists the limits and settings in which two policies differ.
func Changes(old, next guard.Policy) []string {
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
	all = append(all, changedConditions(old, next)...)
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

// changedConditions lists the owner's conditions that one of two policies has.
func changedConditions(old, next guard.Policy) []string {
	var all []string
	list := func(mark string, of, other []guard.OwnCondition) {
		for _, c := range of {
			if !slices.Contains(other, c) {
				name := "entry_condition"
				if !c.Symbol.IsZero() {
					name = c.Symbol.String() + " " + name
				}
				all = append(all, name+mark+c.Text)
			}
		}
	}
	before, after := guard.OwnConditions(old), guard.OwnConditions(next)
	list(": new, ", after, before)
	list(": no longer, ", before, after)
	return all
}
