package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
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

// policyGroup puts a policy in force at all replicas. Each reads its own file, so that the next start
// has the same.
type policyGroup struct{ members *member.Group }

// policies returns the group, and serves the calls of the other replicas.
func (r *replicaNode) policies(t *trading) *policyGroup {
	r.members.Handle(methodPolicy, func(ctx context.Context, body []byte) ([]byte, error) {
		var c policyCall
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, fmt.Errorf("decode call %s: %w", methodPolicy, err)
		}
		next, err := t.policies.file()
		reply := policyReply{Sum: next.sum}
		if err != nil {
			reply = policyReply{Problem: err.Error()}
		}
		if c.Apply && err == nil && next.sum == c.Sum {
			if !t.policies.applying.TryLock() {
				return nil, fault.New(fault.Conflict, "policy_not_applied", "A policy is being applied there.")
			}
			defer t.policies.applying.Unlock()
			if err := t.setPolicy(ctx, t.policies.now(), &next); err != nil {
				return nil, err
			}
		}
		return json.Marshal(reply)
	})
	return &policyGroup{r.members}
}

// checkPolicy returns an error if the file of another replica has another policy.
func (g *policyGroup) checkPolicy(ctx context.Context, sum string) error {
	if err := g.ask(ctx, policyCall{Sum: sum}); err != nil {
		return fault.New(fault.Conflict, "policy_not_applied", "%v. Nothing was changed. Copy policy.toml to every replica and run candela policy apply again.", err)
	}
	return nil
}

// applyPolicy puts the policy in force at the other replicas.
func (g *policyGroup) applyPolicy(ctx context.Context, sum string) error {
	return g.ask(ctx, policyCall{Sum: sum, Apply: true})
}

func (g *policyGroup) announce(ctx context.Context, sum string) { g.members.SetPolicy(ctx, sum) }

// ask calls all other replicas and returns an error that names those whose file differs or that did not
// answer.
func (g *policyGroup) ask(ctx context.Context, c policyCall) error {
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

// trades returns the name of the replica that trades, "" on a single node and for none.
func (g *policyGroup) trades() string {
	if g == nil {
		return ""
	}
	return g.members.OwnerName(deskproxy.TradingShard)
}
