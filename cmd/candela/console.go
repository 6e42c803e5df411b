package main

import (
	"context"
	"fmt"

	"candela/internal/operate/control"
)

// openConsole prints where the owner's console is and a passphrase that opens it.
func openConsole(ctx context.Context, in invocation) error {
	args, asJSON := cutJSON(in.args)
	in.args = args
	cfg, err := in.flags("console", "flags only")
	if err != nil {
		return err
	}
	c, err := control.OpenConsole(ctx, cfg.Home)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(in.Stdout, c)
	}
	_, err = fmt.Fprintf(in.Stdout, "Open %s and log in with this passphrase, which is good once, for a minute:\n\n    %s\n\n", c.URL, c.Passphrase)
	return err
}
