// Package records has the commands about what a server records: trades, receipts and the audit log.
package records

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
	"candela/lib/fault"
)

// Audit runs the commands of the audit log. They read the store, whether a server runs or not.
func Audit() cli.Runner {
	return cli.OneOf("audit", cli.Sub("verify", readLog(verifyLog, verifyShared)), cli.Sub("list", readLog(listEvents, listShared)))
}

// auditFlags are the commands' own flags.
type auditFlags struct {
	json   bool
	last   int             // list: how many events
	seq    uint64          // verify: an event that must be there, 0 for none
	expect ledger.Hash     // and its hash
	owner  principal.Owner // verify: of many, whose chain; "" for none
	home   string
}

// readLog parses the flags and opens the log for a command.
func readLog(command func(context.Context, io.Writer, *ledger.Audit, auditFlags) error, shared func(context.Context, io.Writer, *config.Config, auditFlags) error) cli.Runner {
	return func(ctx context.Context, in cli.Call) error {
		flags := auditFlags{last: 50}
		rest, err := cli.CutFlags(in.Args, map[string]*bool{"--json": &flags.json}, []cli.Flag{cli.ValueFlag("--last", flags.setLast), cli.ValueFlag("--expect", flags.setExpected), cli.ValueFlag("--owner", flags.setOwner)})
		if err != nil {
			return err
		}
		cfg, err := in.Config(rest)
		if err != nil {
			return err
		}
		if cfg.Shared() {
			return shared(ctx, in.Stdout, cfg, flags)
		}
		log, err := ledger.OpenAudit(ctx, cfg.Home)
		if err != nil {
			return err
		}
		flags.home = cfg.Home
		return errors.Join(command(ctx, in.Stdout, log, flags), log.Close())
	}
}

func (f *auditFlags) setLast(value string) (err error) {
	if f.last, err = strconv.Atoi(value); err != nil || f.last < 1 || f.last > 100_000 {
		return fault.Field("--last", value, "a number of events from 1 to 100000")
	}
	return nil
}

func (f *auditFlags) setExpected(value string) error {
	number, text, _ := strings.Cut(value, ":")
	seq, err := strconv.ParseUint(number, 10, 63)
	hash, bad := hex.DecodeString(text)
	if err != nil || bad != nil || seq == 0 || len(hash) != len(f.expect) {
		return fault.Field("--expect", value, "NUMBER:HASH, as an earlier candela audit verify printed it")
	}
	f.seq, f.expect = seq, ledger.Hash(hash)
	return nil
}

func (f *auditFlags) setOwner(value string) error {
	if f.owner = principal.Owner(value); value == "" {
		return fault.Field("--owner", value, "the id of an owner, as candela owners list shows it")
	}
	return nil
}

// verdict is the JSON output of verify.
type verdict struct {
	OK     bool           `json:"ok"`
	Events uint64         `json:"events"`
	Last   uint64         `json:"last"`
	Hash   ledger.Hash    `json:"hash"`
	Signed uint64         `json:"checkpoints,omitempty"`
	Key    string         `json:"key,omitempty"`
	Breaks []ledger.Break `json:"breaks,omitempty"`
	Owner  *ownerChain    `json:"owner,omitempty"`
}

// ownerChain is the chain of one owner.
type ownerChain struct {
	ID string `json:"id"`
	ledger.Chain
}

// print says where a chain ends, and what that is good for.
func (c *ownerChain) print(w io.Writer, of, use string) (err error) {
	if c.Events == 0 {
		_, err = fmt.Fprintf(w, "Owner %s: no events%s in this log. candela audit list names owners as the log does.\n", cli.Plain(c.ID), of)
	} else {
		_, err = fmt.Fprintf(w, "Owner %s: chain%s %d:%s. %s\n", cli.Plain(c.ID), of, c.Events, c.Hash, use)
	}
	return err
}

// chainOf reads the chain of the owner that the flags name, nil for none, and adds a break if it
// lacks what is expected.
func chainOf(ctx context.Context, log *ledger.Audit, flags auditFlags, report *ledger.Report) (*ownerChain, error) {
	if flags.owner == "" {
		return nil, nil //nolint:nilnil // no owner was named
	}
	now, found, err := log.Chain(ctx, flags.owner, ledger.Chain{Events: flags.seq, Hash: flags.expect})
	if !found {
		report.Breaks = append(report.Breaks, ledger.Break{What: fmt.Sprintf("the chain of owner %s does not have the expected link %d: the log was rewritten or replaced by an older copy", flags.owner, flags.seq)})
	}
	return &ownerChain{string(flags.owner), now}, err
}

func verifyLog(ctx context.Context, w io.Writer, log *ledger.Audit, flags auditFlags) error {
	report, err := log.Verify(ctx)
	if err != nil {
		return err
	}
	one, err := chainOf(ctx, log, flags, &report)
	if err != nil {
		return err
	}
	if flags.seq != 0 && one == nil {
		found, err := log.Contains(ctx, flags.seq, flags.expect)
		if err != nil {
			return err
		}
		if !found {
			report.Breaks = append(report.Breaks, ledger.Break{Seq: flags.seq, What: "is not the expected one: the log was rewritten or replaced by an older copy"})
		}
	}
	checkKey(flags.home, &report)
	ok := len(report.Breaks) == 0
	if flags.json {
		err = json.NewEncoder(w).Encode(verdict{ok, report.Events, report.Last, report.Hash, report.Checkpoints, report.Key, report.Breaks, one})
	} else {
		err = printReport(w, report)
	}
	if err == nil && ok && one != nil && !flags.json {
		err = one.print(w, "", "The manifest of candela owners export has the same.")
	}
	if err == nil && !ok {
		err = &fault.Error{Kind: fault.Conflict, Code: "audit_broken", Message: "the audit log was changed"}
	}
	return err
}

// checkKey compares the key that the log names last with the one that signs.
func checkKey(home string, report *ledger.Report) {
	key, err := receipt.ReadKey(home)
	if err == nil && !key.IsZero() && report.Key != "" && report.Key != key.ID() {
		report.Breaks = append(report.Breaks, ledger.Break{What: fmt.Sprintf("the log names key %s last, and %s has key %s: the log was rewritten or replaced by an older copy, or the key was", report.Key, receipt.KeyName, key)})
	}
}

func printReport(w io.Writer, report ledger.Report) error {
	for _, b := range report.Breaks {
		fmt.Fprintln(w, cli.Plain(b.String()))
	}
	if len(report.Breaks) > 0 {
		_, err := fmt.Fprintf(w, "%d events read\n", report.Events)
		return err
	}
	fmt.Fprintf(w, "%d events, unbroken\n", report.Events)
	if report.Checkpoints > 0 {
		fmt.Fprintf(w, "%d signed checkpoints; the last key is %s\n", report.Checkpoints, report.Key)
	}
	if report.Events == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "Last event: %d:%s. Store it elsewhere and pass it to --expect later to detect a rewritten log.\n", report.Last, report.Hash)
	return err
}

// eventLine is the JSON output of list for one event.
type eventLine struct {
	Seq     uint64          `json:"seq"`
	At      time.Time       `json:"at"`
	Owner   principal.Owner `json:"owner"`
	Kind    string          `json:"kind"`
	Subject string          `json:"subject"`
	Token   string          `json:"token,omitempty"`
	Client  string          `json:"client,omitempty"`
	Body    json.RawMessage `json:"body"`
	Hash    ledger.Hash     `json:"hash"`
	Log     string          `json:"log,omitempty"`     // with replicas: orders or others
	Message uint64          `json:"message,omitempty"` // the same: of that stream
}

func listEvents(ctx context.Context, w io.Writer, log *ledger.Audit, flags auditFlags) error {
	events, err := log.Recent(ctx, flags.last)
	if err != nil {
		return err
	}
	lines := make([]eventLine, len(events))
	for i := range events {
		lines[i] = lineOf(&events[i])
	}
	return printEvents(w, lines, flags.json, "EVENT", func(e eventLine) string { return strconv.FormatUint(e.Seq, 10) })
}

func lineOf(e *ledger.Event) eventLine {
	return eventLine{Seq: e.Seq, At: e.At, Owner: e.Owner, Kind: e.Kind, Subject: e.Subject, Token: e.Actor, Client: e.Client, Body: body(e.Body), Hash: e.Hash}
}

// printEvents prints events as JSON lines or as a table, whose first columns name an event.
func printEvents(w io.Writer, lines []eventLine, asJSON bool, columns string, name func(eventLine) string) error {
	if asJSON {
		out := json.NewEncoder(w)
		for _, e := range lines {
			if err := out.Encode(e); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, columns+"\tTIME\tOWNER\tKIND\tABOUT\tTOKEN\tCLIENT (AS IT CALLS ITSELF)\tWHAT")
	for _, e := range lines {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%q\t%s\n", name(e), e.At.Format(time.DateTime), cli.Plain(string(e.Owner)), cli.Plain(e.Kind), cli.Plain(e.Subject), cli.Plain(cli.ShortToken(e.Token)), e.Client, cli.Plain(shortBody(e.Body)))
	}
	return table.Flush()
}

// shortBody returns the beginning of an event's body. The JSON lines have all of it.
func shortBody(text []byte) string {
	const most = 200
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + "…"
}

// body returns an event's body as JSON, even one that is no longer valid JSON.
func body(text []byte) json.RawMessage {
	if json.Valid(text) {
		return text
	}
	quoted, _ := json.Marshal(string(text)) // a string always can be
	return quoted
}
