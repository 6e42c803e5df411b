package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// Peers are the other replicas of a server.
type Peers interface {
	// Handle registers what answers the calls of a method from other replicas.
	Handle(method string, answer func(ctx context.Context, body []byte) ([]byte, error))
	// First calls a method at all of them and returns the first answer that is not empty, nil if there is none.
	First(ctx context.Context, method string, body []byte) ([]byte, error)
}

const (
	// methodReport is the call that reads a report of another replica.
	methodReport = "report"
	// peerWait is the most seconds that a replica waits for a run of another, less than a call between replicas may take.
	peerWait = 20
)

// reportCall is a call of get_report for another replica.
type reportCall struct {
	Caller                 principal.Caller
	ID, Part, Theme, After string
	Limit, Wait            int
}

// serveReports answers get_report for the other replicas: with nothing if there is no such report here.
func (c *charts) serveReports() {
	if c.peers == nil || c.research == nil {
		return
	}
	c.peers.Handle(methodReport, func(ctx context.Context, body []byte) ([]byte, error) {
		var call reportCall
		if err := json.Unmarshal(body, &call); err != nil {
			return nil, fmt.Errorf("decode call %s: %w", methodReport, err)
		}
		r := &reportArgs{paging: paging{limit: call.Limit, after: call.After}, id: call.ID, part: call.Part, theme: call.Theme, wait: call.Wait}
		result, found, err := c.readReport(ctx, call.Caller, r)
		if err != nil || !found {
			return nil, err
		}
		return json.Marshal(result)
	})
}

// peerReport reads a report of another replica.
func (c *charts) peerReport(ctx context.Context, caller principal.Caller, r *reportArgs) (result mcp.Result, found bool, err error) {
	if c.peers == nil {
		return result, false, nil
	}
	body, err := json.Marshal(reportCall{Caller: caller, ID: r.id, Part: r.part, Theme: r.theme, After: r.after, Limit: r.limit, Wait: min(r.wait, peerWait)})
	if err != nil {
		return result, false, err
	}
	answer, err := c.peers.First(ctx, methodReport, body)
	if err != nil || answer == nil {
		return result, false, err
	}
	return result, true, json.Unmarshal(answer, &result)
}
