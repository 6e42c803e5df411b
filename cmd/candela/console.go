package main

import (
	"context"
	"fmt"

	"candela/cmd/candela/cli"

	"candela/internal/operate/control"
)

// openConsole prints where the owner's console is and a passphrase that opens it.
func openConsole(ctx context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	in.Args = args
	cfg, err := in.Flags("console", "flags only")
	if err != nil {
		return err
	}
	c, err := control.OpenConsole(ctx, cfg.Home)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(in.Stdout, c)
	}
	_, err = fmt.Fprintf(in.Stdout, "Open %s and log in with this passphrase, which is good once, for a minute:\n\n    %s\n\n", c.URL, c.Passphrase)
	return err
}
