// Package people has the commands about the owners of a server for many: who they are, what they use, and their plans.
package people

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// Owners manages the owners of a server for many.
func Owners() cli.Runner {
	return cli.OneOf("owners", cli.Sub("list", ofAll(listOwners)), cli.Sub("show", ofEach(showOwner)),
		cli.Sub("suspend", changeOwners(hosting.Suspend)), cli.Sub("resume", changeOwners(hosting.Resume)),
		cli.Sub("plan", changeOwners(hosting.SetPlan)), cli.Sub("link", ownerCommand(linkOwner)), cli.Sub("export", ownerCommand(exportOwners)),
		cli.Sub("erase", changeOwners(hosting.Erase)), cli.Sub("usage", ownerCommand(ownerUsage)), cli.Sub("adopt", ofAll(adoptOwner)))
}

// ownerFlags are the flags and words of the commands about owners.
type ownerFlags struct {
	json, personal, yes bool

	state, plan, file, issuer, subject, to, since, until string

	ids []principal.Owner
}

// ownerCommand parses the flags for a command about owners.
func ownerCommand(run func(context.Context, cli.Call, *config.Config, ownerFlags) error) cli.Runner {
	return func(ctx context.Context, in cli.Call) error {
		var f ownerFlags
		rest, err := cli.CutFlags(in.Args, map[string]*bool{"--json": &f.json, "--personal": &f.personal, "--yes": &f.yes}, []cli.Flag{
			cli.TextFlag("--state", &f.state, "active, suspended, erased"), cli.TextFlag("--plan", &f.plan, "the name of a plan"),
			cli.TextFlag("--file", &f.file, "a file with an ID on each line, or - for the standard input"),
			cli.TextFlag("--issuer", &f.issuer, "the address of an identity provider"), cli.TextFlag("--subject", &f.subject, "the person's subject there"),
			cli.TextFlag("--to", &f.to, "a folder"), cli.TextFlag("--since", &f.since, dayText), cli.TextFlag("--until", &f.until, dayText),
		})
		if err != nil {
			return err
		}
		words, rest := cli.CutWords(rest)
		for _, word := range words {
			f.ids = append(f.ids, principal.Owner(word))
		}
		cfg, err := in.Config(rest)
		if err != nil {
			return err
		}
		return run(ctx, in, cfg, f)
	}
}

// ofEach runs a command for each owner that is named.
func ofEach(run func(context.Context, cli.Call, *config.Config, ownerFlags, principal.Owner) error) cli.Runner {
	return ownerCommand(func(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
		if len(f.ids) == 0 {
			return fault.Missing("ID", "an ID that candela owners list shows")
		}
		return cli.Each(ctx, f.ids, func(ctx context.Context, id principal.Owner) error { return run(ctx, in, cfg, f, id) })
	})
}

// ofAll runs a command that takes no ID.
func ofAll(run func(context.Context, cli.Call, *config.Config, ownerFlags) error) cli.Runner {
	return ownerCommand(func(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
		if len(f.ids) > 0 {
			return fault.Field("owners", string(f.ids[0]), "flags only")
		}
		return run(ctx, in, cfg, f)
	})
}

func listOwners(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	table := cli.Table(in.Stdout)
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

func showOwner(ctx context.Context, in cli.Call, cfg *config.Config, _ ownerFlags, id principal.Owner) error {
	one, err := control.ShowOwner(ctx, cfg.Home, id)
	if err != nil {
		return err
	}
	return cli.PrintJSON(in.Stdout, one)
}

func linkOwner(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	if len(f.ids) != 1 {
		return fault.Missing("ID", "one ID that candela owners list shows")
	}
	if f.issuer == "" || f.subject == "" {
		return fault.Missing("--issuer and --subject", "the identity that shall be this owner")
	}
	o, err := control.LinkOwner(ctx, cfg.Home, caller(), f.ids[0], f.issuer, f.subject)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "That identity signs in as owner %s from now on.\n", o.ID)
	return err
}

// exportOwners exports one owner into a folder, or several into folders of their own in it.
func exportOwners(ctx context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	choice, err := f.choice(in.Stdin)
	if err != nil {
		return err
	}
	if f.to == "" {
		return fault.Missing("--to FOLDER", "a folder that does not exist yet")
	}
	ids := choice.IDs
	if len(ids) == 0 {
		if ids, err = control.ChosenOwners(ctx, cfg.Home, choice); err != nil {
			return err
		}
	}
	if alone := len(choice.IDs) == 1; alone {
		return exportOwner(ctx, in, cfg, ids[0], f.to)
	}
	if err := os.Mkdir(f.to, 0o700); err != nil {
		return fault.Field("--to", f.to, "a folder that does not exist yet: "+err.Error())
	}
	return cli.Each(ctx, ids, func(ctx context.Context, id principal.Owner) error {
		return exportOwner(ctx, in, cfg, id, filepath.Join(f.to, string(id)))
	})
}

// exportOwner writes a file for each table and a manifest with their hashes.
func exportOwner(ctx context.Context, in cli.Call, cfg *config.Config, id principal.Owner, to string) error {
	text, err := control.ExportOwner(ctx, cfg.Home, id)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return fault.Field("--to", to, "a folder that does not exist yet: "+err.Error())
	}
	files := map[string][]byte{}
	for line := range bytes.Lines(text) {
		table, row, _ := bytes.Cut(line, []byte(" "))
		files[string(table)+".jsonl"] = append(files[string(table)+".jsonl"], row...)
	}
	about := map[string]any{"owner": id, "exported": time.Now().UTC()}
	if about["sha256"], err = writeTables(to, files); err != nil {
		return err
	}
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
	if err := os.WriteFile(filepath.Join(to, "manifest.json"), manifest, 0o600); err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Wrote %s of owner %s to %s.\n", cli.Count(len(files)+1, "file"), id, to)
	return err
}

// writeTables writes a file for each table and returns their hashes.
func writeTables(to string, files map[string][]byte) (map[string]string, error) {
	sums := map[string]string{}
	for name, rows := range files {
		sum := sha256.Sum256(rows)
		sums[name] = hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(to, name), rows, 0o600); err != nil {
			return nil, err
		}
	}
	return sums, nil
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
