package main

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"candela/deploy/naming"
)

// forms are the installers and manifests. A name that ends in .tmpl is that of a file with
// the hashes of the release in it.
//
//go:embed form
var forms embed.FS

// writeForms fills every form in, with the hashes of the archives.
func (in input) writeForms(sums map[string]string) error {
	owner, _, _ := strings.Cut(in.repository, "/")
	data := map[string]string{
		"Version": in.version, "Home": naming.Home(in.repository), "Owner": owner, "Summary": summary,
		"From": naming.Download(in.repository, in.version, ""), "AUR": strings.ReplaceAll(in.version, "-", "_"),
	}
	helpers := template.FuncMap{
		"archive": func(system, arch string) string { return platform{system: system, arch: arch}.archive(in.version) },
		"sum": func(system, arch string) (string, error) {
			name := platform{system: system, arch: arch}.archive(in.version)
			if sums[name] == "" {
				return "", fmt.Errorf("checksums.txt has no %s", name)
			}
			return sums[name], nil
		},
		"upper": strings.ToUpper,
	}
	return fs.WalkDir(forms, "form", func(path string, d fs.DirEntry, err error) error {
		to, isForm := strings.CutSuffix(strings.TrimPrefix(path, "form/"), ".tmpl")
		if err != nil || d.IsDir() || !isForm {
			return err
		}
		form, err := template.New(d.Name()).Funcs(helpers).Option("missingkey=error").ParseFS(forms, path)
		if err != nil {
			return err
		}
		var text strings.Builder
		if err := form.Execute(&text, data); err != nil {
			return err
		}
		return in.put([]byte(text.String()), strings.NewReplacer("OWNER", owner, "SRCINFO", ".SRCINFO").Replace(to))
	})
}
