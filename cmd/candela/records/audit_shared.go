package records

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"candela/cmd/candela/cli"

	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

// The commands of the audit log where replicas share their state: they read its two streams, whether replicas run or not.

// sharedVerdict is the JSON output of verify.
type sharedVerdict struct {
	OK     bool           `json:"ok"`
	Events uint64         `json:"events"`
	Chains int            `json:"chains"`
	Loose  uint64         `json:"not_chained,omitempty"`
	Signed uint64         `json:"checkpoints,omitempty"`
	Key    string         `json:"key,omitempty"`
	Breaks []ledger.Break `json:"breaks,omitempty"`
	Owner  *ownerChain    `json:"owner,omitempty"`  // of orders and trading states
	Others *ownerChain    `json:"others,omitempty"` // of the same owner: alerts, logins and, of "", owners
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
	v := sharedVerdict{len(report.Breaks) == 0, report.Events, len(report.Chains) + len(report.Others), report.Loose, report.Checkpoints, report.Key, report.Breaks, nil, nil}
	if flags.owner != "" {
		v.Owner, v.Others = &ownerChain{string(flags.owner), report.Chains[flags.owner]}, &ownerChain{string(flags.owner), report.Others[flags.owner]}
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
	_, err := fmt.Fprintf(w, "%d events in %s, unbroken\n", v.Events, cli.Count(v.Chains, "chain"))
	if v.Signed > 0 {
		_, err = fmt.Fprintf(w, "%d signed checkpoints; the key is %s\n", v.Signed, v.Key)
	}
	if v.Owner != nil {
		const use = "Store it elsewhere and pass it to --expect later to detect a rewritten log."
		err = cmp.Or(v.Owner.print(w, " of orders", use), v.Others.print(w, " of all else", use))
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
	all := make([]eventLine, len(lines))
	for i := range lines {
		all[i] = lineOf(&lines[i].Event)
		all[i].Log, all[i].Message = lines[i].Log, lines[i].Message
	}
	return printEvents(w, all, flags.json, "LOG\tMESSAGE\tEVENT OF OWNER", func(e eventLine) string { return fmt.Sprintf("%s\t%d\t%d", e.Log, e.Message, e.Seq) })
}
