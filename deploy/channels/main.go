// Command channels writes what other people's package channels carry of a release: packages
// for npm, wheels for Python, installers, and manifests for Homebrew, winget, scoop and the
// AUR. Their programs are those of the archives,
// whose hashes it compares first, and the same release gives the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	var in input
	flag.StringVar(&in.dist, "dist", "", "folder with the archives, their SBOMs and checksums.txt")
	flag.StringVar(&in.version, "version", "", "version without v")
	flag.StringVar(&in.repository, "repository", "", "OWNER/NAME of the repository that releases")
	flag.StringVar(&in.npm, "npm", "candela", "name of the npm package")
	flag.StringVar(&in.python, "python", "candela", "name of the Python package")
	flag.StringVar(&in.out, "out", "", "folder to write to")
	flag.Parse()
	if err := in.write(); err != nil {
		fmt.Fprintln(os.Stderr, "channels:", err)
		os.Exit(1)
	}
}

type input struct {
	dist, version, repository, npm, python, out string
}

func (in input) check() error {
	for name, rule := range map[string]struct{ value, form string }{
		"-version":    {in.version, `^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`},
		"-repository": {in.repository, `^[\w.-]+/[\w.-]+$`},
		"-npm":        {in.npm, `^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`},
		"-python":     {in.python, `^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`},
	} {
		if !regexp.MustCompile(rule.form).MatchString(rule.value) {
			return fmt.Errorf("%s %q: want the form %s", name, rule.value, rule.form)
		}
	}
	return nil
}

func (in input) write() error {
	if err := in.check(); err != nil {
		return err
	}
	sums, err := readSums(filepath.Join(in.dist, "checksums.txt"))
	if err != nil {
		return err
	}
	for _, p := range platforms() {
		b, err := in.read(p, sums)
		if err != nil {
			return err
		}
		if err := errors.Join(in.writeNPM(b), in.writeWheel(b)); err != nil {
			return err
		}
	}
	return errors.Join(in.writeLauncher(), in.writeForms(sums))
}

// put writes a file of the release.
func (in input) put(data []byte, path ...string) error {
	file := filepath.Join(append([]string{in.out}, path...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644) //nolint:gosec // G306: a release is for everyone to read
}
