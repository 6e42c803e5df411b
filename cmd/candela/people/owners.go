// Package people has the commands about the owners of a server for many: who they are, what they use, and their plans.
package people

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/access/upstream"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store/ledger"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// Owners manages the owners of a server for many.
func Owners() cli.Runner {
	return cli.OneOf("owners", cli.Sub("list", ownerCommand(listOwners)), cli.Sub("show", ownerCommand(showOwner)),
		cli.Sub("suspend", ownerCommand(changeOwner("suspend"))), cli.Sub("resume", ownerCommand(changeOwner("resume"))),
		cli.Sub("plan", ownerCommand(setPlan)), cli.Sub("link", ownerCommand(linkOwner)), cli.Sub("export", ownerCommand(exportOwner)),
		cli.Sub("erase", ownerCommand(eraseOwner)), cli.Sub("usage", ownerCommand(ownerUsage)), cli.Sub("adopt", ownerCommand(adoptOwner)))
}

// ownerFlags are the flags and words of the commands about owners.
type ownerFlags struct {
	json, personal, yes bool

	state, plan, issuer, subject, to, since, until string

	id   principal.Owner
	word string
}

// ownerCommand parses the flags for a command about owners.
func ownerCommand(run func(context.Context, cli.Call, *config.Config, ownerFlags) error) cli.Runner {
	return func(ctx context.Context, in cli.Call) error {
		var f ownerFlags
		rest, err := cli.CutFlags(in.Args, map[string]*bool{"--json": &f.json, "--personal": &f.personal, "--yes": &f.yes}, []cli.Flag{
			cli.TextFlag("--state", &f.state, "active, suspended, erased"), cli.TextFlag("--plan", &f.plan, "the name of a plan"),
			cli.TextFlag("--issuer", &f.issuer, "the address of an identity provider"), cli.TextFlag("--subject", &f.subject, "the person's subject there"),
			cli.TextFlag("--to", &f.to, "a folder"), cli.TextFlag("--since", &f.since, dayText), cli.TextFlag("--until", &f.until, dayText),
		})
		if err != nil {
			return err
		}
		id, rest := cli.CutWord(rest)
		f.id = principal.Owner(id)
		f.word, rest = cli.CutWord(rest)
		cfg, err := in.Config(rest)
		if err != nil {
			return err
		}
		return run(ctx, in, cfg, f)
	}
}

func (f ownerFlags) needID() error {
	if f.id == "" {
		return fault.Missing("ID", "an ID that candela owners list shows")
	}
	return nil
}

func listOwners(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	table := tabwriter.NewWriter(in.Stdout, 0, 0, 2, ' ', 0)
	if !f.json {
		fmt.Fprintln(table, "ID\tSTATE\tPLAN\tFIRST SEEN\tLAST SEEN\tNAME")
	}
	for after := principal.Owner(""); ; {
		page, err := control.ListOwners(ctx, cfg.Home, after, f.state, f.plan)
		if err != nil {
			return err
		}
		for _, o := range page.Owners {
			after = o.ID
			name := ""
			if f.personal {
				name = o.Name + " " + o.Email
			} else {
				o.Name, o.Email, o.Subject = "", "", ""
			}
			if f.json {
				err = json.NewEncoder(in.Stdout).Encode(o)
			} else {
				_, err = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%q\n", o.ID, o.State, o.Plan, o.First.UTC().Format(time.DateTime), o.Last.UTC().Format(time.DateTime), name)
			}
			if err != nil {
				return err
			}
		}
		if !page.More {
			return table.Flush()
		}
	}
}

func showOwner(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	if err := f.needID(); err != nil {
		return err
	}
	one, err := control.ShowOwner(ctx, cfg.Home, f.id)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(in.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(one)
}

func changeOwner(change string) func(context.Context, cli.Call, *config.Config, ownerFlags) error {
	return func(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
		if err := f.needID(); err != nil {
			return err
		}
		return changed(ctx, in, cfg, f.id, change, nil)
	}
}

func changed(ctx context.Context, in cli.Call, cfg *config.Config, id principal.Owner, change string, values url.Values) error {
	o, err := control.ChangeOwner(ctx, cfg.Home, id, change, values)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Owner %s is %s.\n", o.ID, o.State)
	return err
}

func setPlan(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	if err := f.needID(); err != nil {
		return err
	}
	if f.word == "" {
		return fault.Missing("NAME", "the name of a plan")
	}
	return changed(ctx, in, cfg, f.id, "plan", url.Values{"plan": {f.word}})
}

func linkOwner(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	if err := f.needID(); err != nil {
		return err
	}
	if f.issuer == "" || f.subject == "" {
		return fault.Missing("--issuer and --subject", "the identity that shall be this owner")
	}
	return changed(ctx, in, cfg, f.id, "link", url.Values{"issuer": {f.issuer}, "subject": {f.subject}})
}

// exportOwner writes a file for each table and a manifest with their hashes.
func exportOwner(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	if err := f.needID(); err != nil {
		return err
	}
	if f.to == "" {
		return fault.Missing("--to FOLDER", "a folder that does not exist yet")
	}
	text, err := control.ExportOwner(ctx, cfg.Home, f.id)
	if err != nil {
		return err
	}
	if err := os.Mkdir(f.to, 0o700); err != nil {
		return fault.Field("--to", f.to, "a folder that does not exist yet: "+err.Error())
	}
	files := map[string][]byte{}
	for line := range bytes.Lines(text) {
		table, row, _ := bytes.Cut(line, []byte(" "))
		files[string(table)+".jsonl"] = append(files[string(table)+".jsonl"], row...)
	}
	sums := map[string]string{}
	for name, rows := range files {
		sum := sha256.Sum256(rows)
		sums[name] = hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(f.to, name), rows, 0o600); err != nil {
			return err
		}
	}
	about := map[string]any{"owner": f.id, "exported": time.Now().UTC(), "sha256": sums}
	for _, name := range []string{"audit", "audit_orders"} { // the second with replicas
		rows, there := files[name+".jsonl"]
		if about[name], err = exportedChain(rows); err != nil {
			return err
		}
		if !there && name != "audit" {
			delete(about, name)
		}
	}
	manifest, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.to, "manifest.json"), manifest, 0o600); err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Wrote %s of owner %s to %s.\n", cli.Count(len(files)+1, "file"), f.id, f.to)
	return err
}

// exportedChain returns the chain of exported audit events.
func exportedChain(rows []byte) (chain ledger.Chain, err error) {
	for line := range bytes.Lines(rows) {
		var e struct {
			Hash string `json:"hash"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return chain, fmt.Errorf("exported audit event: %w", err)
		}
		if e.Hash == "" {
			continue // an older version wrote it without a chain
		}
		hash, err := hex.DecodeString(e.Hash)
		if err != nil || len(hash) != len(chain.Hash) {
			return chain, fmt.Errorf("exported audit event has the hash %q", e.Hash)
		}
		chain.Add(ledger.Hash(hash))
	}
	return chain, nil
}

func eraseOwner(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	if err := f.needID(); err != nil {
		return err
	}
	if !f.yes {
		one, err := control.ShowOwner(ctx, cfg.Home, f.id)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Stdout, "Owner %s is %s and has %s. Export first if the data may be needed. Add --yes to erase the owner; nothing was changed.\n", one.ID, one.State, cli.Count(one.Alerts, "alert"))
		return err
	}
	proof, err := control.EraseOwner(ctx, cfg.Home, f.id)
	if err != nil {
		return err
	}
	return json.NewEncoder(in.Stdout).Encode(proof)
}

// adoptOwner gives the alerts and notifications of the one owner to a person. No server may run.
func adoptOwner(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	if f.issuer == "" || f.subject == "" {
		return fault.Missing("--issuer and --subject", "the identity of the person who had this installation alone")
	}
	to := owners.Owner{ID: upstream.OwnerID(f.issuer, f.subject), Issuer: f.issuer, Subject: f.subject}
	if !f.yes {
		_, err := fmt.Fprintf(in.Stdout, "What the one owner has would belong to owner %s. Make a backup and add --yes; nothing was changed.\n", to.ID)
		return err
	}
	lock, err := statedir.LockServer(cfg.Home)
	if err != nil {
		return err
	}
	defer lock.Release()
	kept, err := ledger.Open(ctx, cfg.Home, time.Now)
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close() }()
	moved, err := kept.Adopt(ctx, oauth.SoleOwner, to)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Owner %s has %s and %s. Start with --owners oidc and sign in.\n", to.ID, cli.Count(int(moved["alerts"]), "alert"), cli.Count(int(moved["entries"]), "notification"))
	return err
}
