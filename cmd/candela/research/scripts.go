package research

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"candela/cmd/candela/cli"

	"candela/internal/store/scripts"
	"candela/internal/store/statedir"
	"candela/lib/fault"
	"candela/lib/pine"
)

// openShelf opens the stored scripts of the configured state directory.
func openShelf(in cli.Call, args []string) (*scripts.Shelf, error) {
	cfg, err := in.Config(args)
	if err != nil {
		return nil, err
	}
	if err := statedir.Open(cfg.Home); err != nil {
		return nil, err
	}
	sharing := scripts.Unshared // the operator's command works with many owners, too
	if cfg.Shared() || statedir.IsReplica(cfg.Home) {
		sharing = scripts.Replicas
	}
	return scripts.Open(cfg.Home, sharing, pine.Compile), nil
}

// listScripts prints the stored scripts.
func listScripts(_ context.Context, in cli.Call) error {
	args, asJSON := cli.CutJSON(in.Args)
	s, err := openShelf(in, args)
	if err != nil {
		return err
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	if asJSON {
		type script struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Bytes   int    `json:"bytes"`
		}
		out := make([]script, 0, len(all))
		for _, e := range all {
			out = append(out, script{e.Name, e.Version, e.Bytes})
		}
		return cli.PrintJSON(in.Stdout, out)
	}
	if len(all) == 0 {
		fmt.Fprintln(in.Stdout, "No scripts are stored. Add one with candela script add FILE.")
		return nil
	}
	table := cli.Table(in.Stdout)
	fmt.Fprintln(table, "NAME\tVERSION\tBYTES")
	for _, e := range all {
		fmt.Fprintf(table, "%s\t%s\t%d\n", e.Name, e.Version, e.Bytes)
	}
	return table.Flush()
}

// addScript stores a script under the name of its file. A file user.library.number.pine is
// a library.
func addScript(_ context.Context, in cli.Call) error {
	library, args, err := cutLibrary(in.Args)
	if err != nil {
		return err
	}
	path, args := cli.CutWord(args)
	if path == "" {
		return fault.Missing("script add", "a FILE such as my_cross.pine")
	}
	source, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("read script: %w", err)
	}
	s, err := openShelf(in, args)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".pine")
	switch {
	case library != "":
		name = library
	case strings.Count(name, ".") == 2:
		name = strings.ReplaceAll(name, ".", "/")
	}
	if _, err := s.Save(name, string(source)); err != nil {
		return err
	}
	fmt.Fprintf(in.Stdout, "Stored %s.\n", name)
	return nil
}

// libraryFlag names the library that a file is.
const libraryFlag = "--library"

// cutLibrary takes --library USER/NAME/VERSION out of the arguments; the name is empty without it.
func cutLibrary(args []string) (name string, rest []string, err error) {
	i := slices.IndexFunc(args, func(a string) bool { return a == libraryFlag || strings.HasPrefix(a, libraryFlag+"=") })
	if i < 0 {
		return "", args, nil
	}
	name, given := strings.CutPrefix(args[i], libraryFlag+"=")
	end := i + 1
	if !given {
		if name = ""; end < len(args) {
			name, end = args[end], end+1
		}
	}
	if strings.Count(name, "/") != 2 {
		return "", nil, fault.Field(libraryFlag, name, "USER/NAME/VERSION, as an import names it")
	}
	return name, slices.Concat(args[:i], args[end:]), nil
}

// removeScript removes a stored script.
func removeScript(_ context.Context, in cli.Call) error {
	name, args := cli.CutWord(in.Args)
	if name == "" {
		return fault.Missing("script remove", "the NAME of a stored script")
	}
	s, err := openShelf(in, args)
	if err != nil {
		return err
	}
	if err := s.Delete(name); err != nil {
		return err
	}
	fmt.Fprintf(in.Stdout, "Removed %s. Alerts on it keep the version they were set with.\n", name)
	return nil
}
