// Command notices writes the licences of everything that is linked into candela, on
// any of its platforms, into one file that every package carries. With -check it
// compares the file instead.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	check := flag.Bool("check", false, "compare, and write nothing")
	flag.Parse()
	if err := run(context.Background(), *root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

const fileName = "THIRD_PARTY_NOTICES.txt"

func run(ctx context.Context, root string, check bool) error {
	modules, err := linked(ctx, root)
	if err != nil {
		return err
	}
	text, err := write(modules)
	if err != nil {
		return err
	}
	path := filepath.Join(root, fileName)
	if !check {
		return os.WriteFile(path, text, 0o644) //nolint:gosec // G306: it is published
	}
	have, err := os.ReadFile(path) //nolint:gosec // G304: in the repository
	if err != nil {
		return err
	}
	if !bytes.Equal(have, text) {
		return fmt.Errorf("%s is not of the modules that are linked: (cd deploy && go run ./notices)", fileName)
	}
	return nil
}

// module is a module of go list and the folders of its linked packages.
type module struct {
	Path, Version, Dir string
	Main               bool
	linked             []string
}

// linked returns the modules whose packages are in the binary of some platform, and
// the standard library.
func linked(ctx context.Context, root string) ([]*module, error) {
	found := map[string]*module{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			if err := list(ctx, root, system, arch, found); err != nil {
				return nil, err
			}
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSpace(string(goroot))
	modules := []*module{{Path: "the Go standard library and runtime", Dir: dir, linked: []string{dir}}}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		modules = append(modules, found[path])
	}
	// The chart library is no Go module; its notice is beside the place that web/bring puts it.
	library := filepath.Join(root, "internal", "serve", "webchart", "lib")
	return append(modules, &module{Path: "lightweight-charts", Version: "(npm)", Dir: library}), nil
}

func list(ctx context.Context, root, system, arch string, found map[string]*module) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,Module", "./cmd/candela")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s/%s: %w", system, arch, err)
	}
	packages := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			Dir    string
			Module *module
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		if found[p.Module.Path] == nil {
			found[p.Module.Path] = p.Module
		}
		m := found[p.Module.Path]
		m.linked = append(m.linked, p.Dir)
	}
}

// write puts one chapter per text, with every module that has it.
func write(modules []*module) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "candela is licensed under the Apache License 2.0, see LICENSE.\n"+
		"Its binaries contain parts of the modules below, each under its own licence.\n"+
		"Written by: (cd deploy && go run ./notices)\n\n")
	owners := map[string][]string{}
	var texts []string
	for _, m := range modules {
		name := strings.TrimSpace(m.Path + " " + m.Version)
		fmt.Fprintf(&b, "  %s\n", name)
		files, err := m.licences()
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no licence file", name)
		}
		for _, text := range files {
			if owners[text] == nil {
				texts = append(texts, text)
			}
			owners[text] = append(owners[text], name)
		}
	}
	rule := strings.Repeat("=", 80)
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(owners[text], "\n"), rule, text)
	}
	return b.Bytes(), nil
}

// licences returns the licence and notice files between the root of a module and its
// linked packages: a folder may carry code or fonts of others.
func (m *module) licences() ([]string, error) {
	name := regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)([-._].*)?$`)
	var texts []string
	for _, dir := range m.folders() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() || !name.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			text, err := read(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts, nil
}

// folders returns the root of a module and every folder on the way from it to a
// linked package, in order.
func (m *module) folders() []string {
	all := []string{m.Dir}
	for _, dir := range m.linked {
		for ; len(dir) > len(m.Dir); dir = filepath.Dir(dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func read(path string) (string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // G304: in the module cache
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	return strings.TrimRight(text, " \n"), err
}
