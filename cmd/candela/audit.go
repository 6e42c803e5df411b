package main

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
	"unicode"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/store/ledger"
)

// audit runs the commands about the audit log. They read the store in the state
// directory, beside a server that runs or without one.
func audit(ctx context.Context, in invocation) error {
	name := ""
	if len(in.args) > 0 {
		name, in.args = in.args[0], in.args[1:]
	}
	switch name {
	case "verify":
		return readLog(ctx, in, verifyLog)
	case "list":
		return readLog(ctx, in, listEvents)
	}
	return noSuchCommand("audit", []string{name}, "verify", "list")
}

// auditFlags are the flags of the commands that are no setting.
type auditFlags struct {
	json   bool
	last   int         // list: how many events
	seq    uint64      // verify: an event that must be there, 0 for none
	expect ledger.Hash // and its hash
}

// readLog reads the flags and opens the log for a command.
func readLog(ctx context.Context, in invocation, command func(context.Context, io.Writer, *ledger.Audit, auditFlags) error) error {
	flags, rest, err := parseAuditFlags(in.args)
	if err != nil {
		return err
	}
	cfg, err := app.LoadConfig(config.Input{Args: rest, Environ: in.environ, Inspect: true})
	if err != nil {
		return err
	}
	if cfg.NATS.URL != "" {
		return auditElsewhere(cfg)
	}
	log, err := ledger.OpenAudit(ctx, cfg.Home)
	if err != nil {
		return err
	}
	return errors.Join(command(ctx, in.Stdout, log, flags), log.Close())
}

// auditElsewhere says where to look when what was done is kept by NATS servers, which
// do not chain it: what a state directory has is another, older log.
func auditElsewhere(cfg *config.Config) error {
	return &fault.Error{
		Kind: fault.Unsupported, Code: "audit_elsewhere", Field: "nats-url",
		Message: fmt.Sprintf("with --nats-url what was done is in the streams %[1]s_ALERTS and %[1]s_ORDERS, each message with time, token and client, and not in a chained log: "+
			"read it with nats stream view, or stop all replicas, copy it with candela migrate --to local and read that. "+
			"For the log of state directory %[2]s leave --nats-url and CANDELA_NATS_URL away", cfg.NATS.Prefix, cfg.Home),
	}
}

const (
	lastAllowed   = "a number of events from 1 to 100000"
	expectAllowed = "NUMBER:HASH, as an earlier candela audit verify printed it"
)

// parseAuditFlags takes the flags of the audit commands out of the arguments and
// returns the others.
func parseAuditFlags(args []string) (auditFlags, []string, error) {
	flags := auditFlags{last: 50}
	var rest []string
	for len(args) > 0 {
		name, value, assigned := strings.Cut(args[0], "=")
		args = args[1:]
		if name != "--last" && name != "--expect" {
			if name == "--json" && !assigned {
				flags.json = true
				continue
			}
			rest = append(rest, name)
			if assigned {
				rest[len(rest)-1] += "=" + value
			}
			continue
		}
		if !assigned && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		if err := flags.set(name, value); err != nil {
			return flags, nil, err
		}
	}
	return flags, rest, nil
}

func (f *auditFlags) set(name, value string) error {
	if name == "--last" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 100_000 {
			return fault.Field("--last", value, lastAllowed)
		}
		f.last = n
		return nil
	}
	number, text, _ := strings.Cut(value, ":")
	seq, err := strconv.ParseUint(number, 10, 63)
	hash, bad := hex.DecodeString(text)
	if err != nil || bad != nil || seq == 0 || len(hash) != len(f.expect) {
		return fault.Field("--expect", value, expectAllowed)
	}
	f.seq, f.expect = seq, ledger.Hash(hash)
	return nil
}

// verdict is what verify tells a program.
type verdict struct {
	OK     bool           `json:"ok"`
	Events uint64         `json:"events"`
	Last   uint64         `json:"last"`
	Hash   ledger.Hash    `json:"hash"`
	Breaks []ledger.Break `json:"breaks,omitempty"`
}

func verifyLog(ctx context.Context, w io.Writer, log *ledger.Audit, flags auditFlags) error {
	report, err := log.Verify(ctx)
	if err != nil {
		return err
	}
	if flags.seq != 0 {
		found, err := log.Contains(ctx, flags.seq, flags.expect)
		if err != nil {
			return err
		}
		if !found {
			report.Breaks = append(report.Breaks, ledger.Break{Seq: flags.seq, What: "is not the one that was expected: the log was rewritten, or an older copy stands in its place"})
		}
	}
	ok := len(report.Breaks) == 0
	if flags.json {
		err = json.NewEncoder(w).Encode(verdict{ok, report.Events, report.Last, report.Hash, report.Breaks})
	} else {
		err = printReport(w, report)
	}
	if err == nil && !ok {
		err = &fault.Error{Kind: fault.Conflict, Code: "audit_broken", Message: "the audit log is not what was written"}
	}
	return err
}

func printReport(w io.Writer, report ledger.Report) error {
	for _, b := range report.Breaks {
		fmt.Fprintln(w, plain(b.String()))
	}
	if len(report.Breaks) > 0 {
		_, err := fmt.Fprintf(w, "%d events read\n", report.Events)
		return err
	}
	fmt.Fprintf(w, "%d events, unbroken\n", report.Events)
	if report.Events == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d:%s is the last; note it elsewhere, and --expect shows later that it still stands\n", report.Last, report.Hash)
	return err
}

// eventLine is an event as list tells it to a program.
type eventLine struct {
	Seq     uint64          `json:"seq"`
	At      time.Time       `json:"at"`
	Owner   string          `json:"owner"`
	Kind    string          `json:"kind"`
	Subject string          `json:"subject"`
	Token   string          `json:"token,omitempty"`
	Client  string          `json:"client,omitempty"`
	Body    json.RawMessage `json:"body"`
	Hash    ledger.Hash     `json:"hash"`
}

func listEvents(ctx context.Context, w io.Writer, log *ledger.Audit, flags auditFlags) error {
	events, err := log.Recent(ctx, flags.last)
	if err != nil {
		return err
	}
	if flags.json {
		lines := json.NewEncoder(w)
		for _, e := range events {
			if err := lines.Encode(eventLine{e.Seq, e.At, e.Owner, e.Kind, e.Subject, e.Actor, e.Client, body(e.Body), e.Hash}); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EVENT\tTIME\tOWNER\tKIND\tABOUT\tTOKEN\tCLIENT (AS IT CALLS ITSELF)\tWHAT")
	for _, e := range events {
		token := shortToken(e.Actor)
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%q\t%s\n", e.Seq, e.At.Format(time.DateTime), plain(e.Owner), plain(e.Kind), plain(e.Subject), plain(token), e.Client, plain(string(e.Body)))
	}
	return table.Flush()
}

// body returns an event's body as JSON, also one that somebody has broken.
func body(text []byte) json.RawMessage {
	if json.Valid(text) {
		return text
	}
	quoted, _ := json.Marshal(string(text)) // a string always can be
	return quoted
}

// plain writes out what would move the cursor or turn the text around on a
// terminal: clients choose some of it.
func plain(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// shortToken is what stands for a token, as far as it is needed to tell tokens apart.
func shortToken(key string) string { return key[:min(12, len(key))] }
