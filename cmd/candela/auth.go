package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/access/oauth"
	"candela/internal/app"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/lib/fault"
)

// auth manages the owner's passphrase and clients. approve, list and revoke need a server that
// runs in the state directory.
func auth() cli.Runner {
	return cli.OneOf("auth", cli.Sub("hash-password", hashPassword), cli.Sub("list", listClients),
		cli.Sub("revoke", revokeClient), cli.Sub("revoke-all", revokeAll), cli.Sub("approve", approveClient))
}

// hashPassword prints the hash of a passphrase, for a file or a variable.
func hashPassword(ctx context.Context, in cli.Call) error {
	if len(in.Args) > 0 {
		return fault.Field("auth hash-password", strings.Join(in.Args, " "), "no arguments; the passphrase comes on stdin, because other users can read a command line")
	}
	passphrase, err := readPassphrase(ctx, in.Stdin, in.Stderr)
	if err != nil {
		return err
	}
	hash, err := oauth.HashPassphrase(passphrase, oauth.DefaultCost())
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Code: "refused", Message: "the passphrase on stdin: " + err.Error()}
	}
	_, err = fmt.Fprintln(in.Stdout, hash)
	return err
}

// approveClient prints a one-time passphrase. Only the owner can open the control
// socket, so it works also while too many wrong guesses have locked the page.
func approveClient(ctx context.Context, in cli.Call) error {
	cfg, err := in.Flags("auth approve", "flags only; the client is shown and approved on the page")
	if err != nil {
		return err
	}
	pass, err := control.NewPass(ctx, cfg.Home)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(in.Stdout, pass); err != nil {
		return err
	}
	_, err = fmt.Fprintln(in.Stderr, "Enter this instead of your passphrase on the sign-in page. It is valid once, for one minute, even while the page refuses further attempts.")
	return err
}

func listClients(ctx context.Context, in cli.Call) error {
	rest, asJSON := cli.CutJSON(in.Args)
	owner, rest, err := ownerFlag(rest)
	if err != nil {
		return err
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	clients, err := control.Clients(ctx, cfg.Home, owner)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(in.Stdout, clients)
	}
	table := cli.Table(in.Stdout)
	fmt.Fprintln(table, "ID\tOWNER\tAPPROVED\tEXPIRES\tSURVIVES A RESTART\tSCOPE\tIN THE AUDIT LOG\tCLIENT (AS IT CALLS ITSELF)")
	for _, c := range clients {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%q\n", c.ID, c.Owner, c.Approved.UTC().Format(time.DateTime), c.Expires.UTC().Format(time.DateTime), yesNo(c.Survives), c.Scope, cli.ShortToken(c.Token), c.Name)
	}
	if err := table.Flush(); err != nil || !cfg.Shared() || len(clients) == 0 {
		return err
	}
	_, err = fmt.Fprintln(in.Stdout, "Logins survive a restart of replicas. The NATS servers keep them in memory: a restart of all of them ends every login.")
	return err
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// revokeClient revokes the clients that are named, or with --owner all clients and browser logins of an owner.
func revokeClient(ctx context.Context, in cli.Call) error {
	owner, rest, err := ownerFlag(in.Args)
	if err != nil {
		return err
	}
	ids, rest := cli.CutWords(rest)
	switch {
	case owner != "" && len(ids) > 0:
		return fault.Field("auth revoke", ids[0], "IDs that candela auth list shows, or --owner ID for all clients of an owner")
	case owner == "" && len(ids) == 0:
		return fault.Missing("ID", "an ID that candela auth list shows, or --owner ID")
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	if owner != "" {
		return revokeClientsOf(ctx, in, cfg.Home, owner)
	}
	return cli.Each(ctx, ids, func(ctx context.Context, id string) error {
		if err := control.Revoke(ctx, cfg.Home, id); err != nil {
			return err
		}
		_, err := fmt.Fprintf(in.Stdout, "Revoked client %s.\n", id)
		return err
	})
}

func revokeClientsOf(ctx context.Context, in cli.Call, home string, owner principal.Owner) error {
	ended, err := control.RevokeOwner(ctx, home, owner)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Revoked %s and ended %s of owner %s.\n", cli.Count(ended.Clients, "client"), cli.Count(ended.Browsers, "browser login"), owner)
	return err
}

// revokeAll ends all logins. With replicas, none needs to run here.
func revokeAll(ctx context.Context, in cli.Call) error {
	cfg, err := in.Flags("auth revoke-all", "flags only; candela auth revoke ID revokes one client")
	if err != nil {
		return err
	}
	ended, err := app.Commands(cfg, in.Stderr).RevokeAll(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Revoked %s (%s). All registrations and browser sessions have ended.\n", cli.Count(ended.Clients, "client"), ended.Where)
	return err
}
