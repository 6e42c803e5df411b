package app

import (
	"context"

	"candela/internal/access/oauth"
	"candela/internal/kit/run"
	"candela/internal/serve/mcp"
	"candela/internal/serve/task"
	"candela/internal/serve/tool"
	"candela/internal/store/replica/member"
)

// taskMethod is the method by which a replica asks another about a task.
const taskMethod = "tasks"

// newTasks returns the tasks of the clients of a toolset.
func (rt Runtime) newTasks(limit *run.Limit, t *trading) *task.Tasks {
	cfg := task.Config{Wait: rt.taskWait, Limit: limit}
	if t != nil {
		cfg.Orders, cfg.Render = t.orders, tool.OrderResult
	}
	if rt.node.peers == nil {
		return task.New(cfg)
	}
	cfg.Peers = taskPeers{rt.node.peers}
	tasks := task.New(cfg)
	rt.node.peers.Handle(taskMethod, tasks.Answer)
	return tasks
}

// taskPeers are the replicas that have tasks.
type taskPeers struct{ *member.Group }

// Ask asks a replica about a task. Those of one that is gone have ended with it.
func (p taskPeers) Ask(ctx context.Context, replica string, call []byte) ([]byte, error) {
	if !p.Live(replica) {
		return nil, mcp.ErrNoTask
	}
	return p.CallReplica(ctx, replica, taskMethod, call)
}

// approvals adds where the owner decides about orders, for clients that can open a page, if there is one.
func (rt Runtime) approvals(cfg mcp.Config, logins *oauth.Server) mcp.Config {
	if rt.Config.Trade && rt.Config.HTTP.Console && logins != nil {
		cfg.Approvals, cfg.Secret = rt.Config.HTTP.BaseURL+"/console/approvals", logins.StateKey
	}
	return cfg
}
