package deskproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"candela/internal/store/replica/member"
	"candela/internal/trading/policy"
	"candela/lib/fault"
)

// methodPolicy is the call that puts the policy of a replica's file in force there.
const methodPolicy = "policy"

type policyCall struct {
	Sum   string `json:"sum"`
	Apply bool   `json:"apply,omitempty"` // else it only says what the file has
}

type policyReply struct {
	Sum     string `json:"sum,omitempty"` // of the file
	Problem string `json:"problem,omitempty"`
}

// Policies puts a policy in force at all replicas. Each reads its own file, so that the next start
// has the same. It implements policy.Replicas.
type Policies struct{ members *member.Group }

// NewPolicies returns the policies of the group, and serves the calls of the other replicas about the one in force
// here.
func NewPolicies(members *member.Group, here *policy.InForce) *Policies {
	g := &Policies{members}
	here.Replicas = g
	members.Handle(methodPolicy, func(ctx context.Context, body []byte) ([]byte, error) {
		var c policyCall
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, fmt.Errorf("decode call %s: %w", methodPolicy, err)
		}
		sum, unreadable, err := here.ApplyHere(ctx, c.Sum, c.Apply)
		if err != nil {
			return nil, err
		}
		reply := policyReply{Sum: sum}
		if unreadable != nil {
			reply = policyReply{Problem: unreadable.Error()}
		}
		return json.Marshal(reply)
	})
	return g
}

// CheckPolicy implements policy.Replicas.
func (g *Policies) CheckPolicy(ctx context.Context, sum string) error {
	if err := g.ask(ctx, policyCall{Sum: sum}); err != nil {
		return fault.New(fault.Conflict, "policy_not_applied", "%v. Nothing was changed. Copy policy.toml to every replica and run candela policy apply again.", err)
	}
	return nil
}

// ApplyPolicy implements policy.Replicas.
func (g *Policies) ApplyPolicy(ctx context.Context, sum string) error {
	return g.ask(ctx, policyCall{Sum: sum, Apply: true})
}

// AnnouncePolicy implements policy.Replicas.
func (g *Policies) AnnouncePolicy(ctx context.Context, sum string) { g.members.SetPolicy(ctx, sum) }

// ask calls all other replicas and returns an error that names those whose file differs or that did not
// answer.
func (g *Policies) ask(ctx context.Context, c policyCall) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range g.members.Peers() {
		if p.Account != g.members.Account() {
			continue
		}
		var reply policyReply
		answer, err := g.members.CallReplica(ctx, p.ID, methodPolicy, body)
		if err == nil {
			err = json.Unmarshal(answer, &reply)
		}
		switch {
		case errors.Is(err, member.ErrNotShardOwner): // nobody took the call
			errs = append(errs, fmt.Errorf("replica %s does not answer; a killed one is forgotten after 30 s", p.Name))
		case err != nil:
			errs = append(errs, fmt.Errorf("replica %s: %w", p.Name, err))
		case reply.Problem != "":
			errs = append(errs, fmt.Errorf("replica %s: %s", p.Name, reply.Problem))
		case reply.Sum != c.Sum:
			errs = append(errs, fmt.Errorf("the file of replica %s has the policy %s, and the file here %s", p.Name, reply.Sum, c.Sum))
		}
	}
	return errors.Join(errs...)
}

// Trades returns the name of the replica that trades, "" for none.
func (g *Policies) Trades() string { return g.members.OwnerName(TradingShard) }
