package records

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

// The commands of the audit log where replicas share their state: they read the order stream, whether replicas run or not.

// sharedVerdict is the JSON output of verify.
type sharedVerdict struct {
	OK     bool           `json:"ok"`
	Events uint64         `json:"events"`
	Owners int            `json:"owners"`
	Loose  uint64         `json:"not_chained,omitempty"`
	Signed uint64         `json:"checkpoints,omitempty"`
	Key    string         `json:"key,omitempty"`
	Breaks []ledger.Break `json:"breaks,omitempty"`
	Owner  *ownerChain    `json:"owner,omitempty"`
}

func verifyShared(ctx context.Context, w io.Writer, cfg *config.Config, flags auditFlags) error {
	if flags.seq != 0 && flags.owner == "" {
		return fault.Missing("--owner", "the owner whose chain has the expected link: with replicas each owner has a chain")
	}
	c, err := conn.Connect(ctx, conn.ConfigOf(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer c.Close()
	expected := make(map[principal.Owner]chain.Chain)
	if flags.seq != 0 {
		expected[flags.owner] = chain.Chain{Events: flags.seq, Hash: flags.expect}
	}
	report, err := audit.Verify(ctx, c, expected)
	if err != nil {
		return err
	}
	v := sharedVerdict{len(report.Breaks) == 0, report.Events, len(report.Chains), report.Loose, report.Checkpoints, report.Key, report.Breaks, nil}
	if flags.owner != "" {
		v.Owner = &ownerChain{string(flags.owner), report.Chains[flags.owner]}
	}
	if flags.json {
		err = json.NewEncoder(w).Encode(v)
	} else {
		err = v.print(w)
	}
	if err == nil && !v.OK {
		err = &fault.Error{Kind: fault.Conflict, Code: "audit_broken", Message: "the audit log was changed"}
	}
	return err
}

func (v sharedVerdict) print(w io.Writer) error {
	for _, b := range v.Breaks {
		fmt.Fprintln(w, cli.Plain(b.String()))
	}
	if v.Loose > 0 {
		fmt.Fprintf(w, "%d events not chained: an older version wrote them\n", v.Loose)
	}
	if !v.OK {
		_, err := fmt.Fprintf(w, "%d events read\n", v.Events)
		return err
	}
	_, err := fmt.Fprintf(w, "%d events of orders and trading states in %s, unbroken\n", v.Events, cli.Count(v.Owners, "chain"))
	if v.Signed > 0 {
		_, err = fmt.Fprintf(w, "%d signed checkpoints; the key is %s\n", v.Signed, v.Key)
	}
	if v.Owner != nil {
		_, err = fmt.Fprintf(w, "Owner %s: chain %d:%s. Store it elsewhere and pass it to --expect later to detect a rewritten log.\n", cli.Plain(v.Owner.ID), v.Owner.Events, v.Owner.Hash)
	}
	return err
}

func listShared(ctx context.Context, w io.Writer, cfg *config.Config, flags auditFlags) error {
	c, err := conn.Connect(ctx, conn.ConfigOf(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer c.Close()
	lines, err := audit.Recent(ctx, c, flags.last)
	if err != nil {
		return err
	}
	if flags.json {
		out := json.NewEncoder(w)
		for _, e := range lines {
			if err := out.Encode(eventLine{e.Seq, e.At, e.Owner, e.Kind, e.Subject, e.Actor, e.Client, body(e.Body), e.Hash}); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MESSAGE\tEVENT OF OWNER\tTIME\tOWNER\tKIND\tABOUT\tTOKEN\tCLIENT (AS IT CALLS ITSELF)\tWHAT")
	for _, e := range lines {
		fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%q\t%s\n", e.Message, e.Seq, e.At.Format(time.DateTime), cli.Plain(string(e.Owner)), cli.Plain(e.Kind), cli.Plain(e.Subject), cli.Plain(cli.ShortToken(e.Actor)), e.Client, cli.Plain(string(e.Body)))
	}
	return table.Flush()
}
