// Command packages makes the archive, the deb and the rpm of a program as the release does: from the entries of
// .goreleaser.yaml, with goreleaser's own packers. The same program, version and time give the same bytes.
//
// usage: packages -config ../.goreleaser.yaml -binary FILE -os linux -arch amd64 -version 1.2.3 -time 2026-01-02T03:04:05Z -out FOLDER
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/goreleaser/v2/pkg/archive"
	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// job is what is packed.
type job struct {
	config, binary, os, arch, version, out string
	at                                     time.Time
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var j job
	var at string
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	flags.StringVar(&j.config, "config", "", "the configuration of goreleaser")
	flags.StringVar(&j.binary, "binary", "", "the program")
	flags.StringVar(&j.os, "os", "linux", "its system")
	flags.StringVar(&j.arch, "arch", "amd64", "its processor")
	flags.StringVar(&j.version, "version", "", "its version")
	flags.StringVar(&at, "time", "", "the time of the commit")
	flags.StringVar(&j.out, "out", "", "the folder for the packages")
	err := flags.Parse(args)
	if err == nil && (j.config == "" || j.binary == "" || j.version == "" || j.out == "") {
		err = errors.New("-config, -binary, -version, -time and -out are needed")
	}
	if err == nil {
		j.at, err = time.Parse(time.RFC3339, at)
	}
	if err != nil {
		return err
	}
	return j.pack()
}

// pack makes a package of each format of each entry.
func (j job) pack() error {
	project, err := config.Load(j.config)
	if err != nil {
		return err
	}
	for _, a := range project.Archives {
		if err := j.archive(a); err != nil {
			return err
		}
	}
	for _, n := range project.NFPMs {
		if j.os != "linux" {
			break
		}
		for _, format := range n.Formats {
			if err := j.one(n, format); err != nil {
				return fmt.Errorf("%s: %w", format, err)
			}
		}
	}
	return nil
}

// archive makes an archive of the program and the files beside it.
func (j job) archive(a config.Archive) error {
	format, program := a.Formats[0], "candela"
	for _, o := range a.FormatOverrides {
		if o.Goos == j.os {
			format = o.Formats[0]
		}
	}
	if j.os == "windows" {
		program += ".exe"
	}
	out, err := os.Create(filepath.Join(j.out, fmt.Sprintf("candela_%s_%s_%s.%s", j.version, j.os, j.arch, format)))
	if err != nil {
		return err
	}
	to, err := archive.New(out, format)
	if err != nil {
		return err
	}
	for _, f := range a.Files { // goreleaser sorts them, and has the program last
		f.Destination, f.Source, f.Info.ParsedMTime = f.Source, filepath.Join(filepath.Dir(j.config), f.Source), j.at
		err = errors.Join(err, to.Add(f))
	}
	info := a.BuildsInfo
	info.ParsedMTime = j.at
	return errors.Join(err, to.Add(config.File{Source: j.binary, Destination: program, Info: info}), to.Close(), out.Close())
}

func (j job) one(n config.NFPM, format string) error {
	packer, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	root := filepath.Dir(j.config)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: n.PackageName, Arch: j.arch, Platform: "linux", Version: j.version, Section: n.Section, Priority: n.Priority,
		Maintainer: j.filled(n.Maintainer), Description: n.Description, Homepage: j.filled(n.Homepage), License: n.License, MTime: j.at,
		Overridables: nfpm.Overridables{
			Scripts: nfpm.Scripts{PostInstall: filepath.Join(root, n.Scripts.PostInstall), PreRemove: filepath.Join(root, n.Scripts.PreRemove)},
			RPM:     nfpm.RPM{BuildHost: cmp.Or(n.RPM.BuildHost, "localhost")},
		},
	})
	for _, c := range n.Contents {
		at := files.ContentFileInfo{Mode: c.FileInfo.Mode, MTime: j.at}
		content := &files.Content{Destination: c.Destination, Type: c.Type, FileInfo: &at}
		if c.Source != "" {
			content.Source = filepath.Join(root, c.Source)
		}
		info.Contents = append(info.Contents, content)
	}
	program := filepath.Join(n.Bindir, n.PackageName)
	info.Contents = append(info.Contents, &files.Content{Source: j.binary, Destination: program, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: j.at}})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(j.out, fmt.Sprintf("%s_%s_linux_%s.%s", n.PackageName, j.version, j.arch, format)))
	if err != nil {
		return err
	}
	return errors.Join(packer.Package(info, out), out.Close())
}

// filled replaces what goreleaser takes from its environment.
func (j job) filled(text string) string {
	return strings.NewReplacer("{{ .Env.OWNER }}", "example", "{{ .Version }}", j.version).Replace(text)
}
