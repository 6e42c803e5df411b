package check

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImages_AreNamedByDigest looks at every image that the project builds on or
// starts: a tag may become another image, a digest may not. Its own image has none.
func TestImages_AreNamedByDigest(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`(?m)^(?:FROM|[ \t]*image:)[ \t]+(\S+)`)
	digest := regexp.MustCompile(`^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$`)
	found := 0
	for _, place := range []string{"deploy", ".github"} {
		err := filepath.WalkDir(filepath.Join(root, place), func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") && d.Name() != "Dockerfile" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range names.FindAllStringSubmatch(string(text), -1) {
				if match[1] == "candela" || match[1] == `"{{` && strings.Contains(string(text), `image: "{{ .Values.image.repository }}:`) {
					continue
				}
				if found++; !digest.MatchString(match[1]) {
					t.Errorf("%s: %s has no digest", path, match[1])
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 3 {
		t.Errorf("only %d images were found", found)
	}
}

// TestRelease_StatesWhereTheImageIsFrom: what is attested of the archives is attested
// of the image.
func TestRelease_StatesWhereTheImageIsFrom(t *testing.T) {
	t.Parallel()
	workflow, err := os.ReadFile(filepath.Join(root, ".github/workflows/release.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"dist/checksums.txt", "dist/digests.txt"} {
		if !regexp.MustCompile(`attest-build-provenance@\S+.*\n\s+with: \{subject-checksums: ` + regexp.QuoteMeta(file) + `\}`).Match(workflow) {
			t.Errorf("no provenance for what %s lists", file)
		}
	}
}
