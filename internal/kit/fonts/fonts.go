// Package fonts finds the fonts of this machine for texts in scripts that the typeface of the pictures
// lacks: Arabic, Hebrew, Chinese, Japanese, Korean, the scripts of India, Thai and signs.
package fonts

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxFiles = 8      // kept open
	maxSeen  = 20_000 // entries of folders that are read
	maxDepth = 6
)

// wanted lists the beginnings of file names, in lower case, in the order in which fonts are asked for a
// character: those of many scripts first. Fonts of coloured pictures alone are of no use.
func wanted() []string {
	return []string{
		"dejavusans.", "segoeui.", "arial unicode", "arialuni.", "notosans-regular", "notosanscjk-regular", "notosanscjk", "notosanssc", "notosansjp", "notosanskr",
		"pingfang", "hiragino sans gb", "msyh.", "simsun", "malgun.", "meiryo.", "wqy-microhei", "wqy-zenhei", "droidsansfallback", "applesdgothicneo",
		"notosansarabic-regular", "notosanshebrew-regular", "notosansdevanagari-regular", "notosansthai-regular", "nirmala.", "leelawui.",
		"seguisym.", "notosanssymbols2", "notosanssymbols-", "symbola", "notoemoji-", "seguiemj.", "freesans.", "unifont",
	}
}

// folders lists where systems keep fonts, the user's own first.
func folders(home string) []string {
	var all []string
	if home != "" {
		for _, own := range []string{".local/share/fonts", ".fonts", "Library/Fonts", "AppData/Local/Microsoft/Windows/Fonts"} {
			all = append(all, filepath.Join(home, filepath.FromSlash(own)))
		}
	}
	return append(all, "/usr/local/share/fonts", "/usr/share/fonts", "/Library/Fonts", "/System/Library/Fonts", `C:\Windows\Fonts`)
}

// Open opens the fonts of this machine that help, best first; none is no error. The files stay open for
// the life of the process, because glyphs are read when a text needs them.
func Open() []io.ReaderAt {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // the fonts of the system remain
	}
	return open(folders(home))
}

func open(folders []string) []io.ReaderAt {
	var files []io.ReaderAt
	for _, path := range find(folders) {
		if f, err := os.Open(path); err == nil { //nolint:gosec // G304: in a folder of fonts
			files = append(files, f)
		}
	}
	return files
}

// find returns the best file of each wanted name.
func find(folders []string) []string {
	names := wanted()
	best := make([]string, len(names))
	seen := 0
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if seen++; seen > maxSeen {
				return fs.SkipAll
			}
			if err != nil || d.IsDir() {
				if err != nil || strings.Count(path[len(folder):], string(filepath.Separator)) >= maxDepth {
					return fs.SkipDir
				}
				return nil
			}
			name := strings.ToLower(d.Name())
			if !slices.Contains([]string{".ttf", ".otf", ".ttc", ".otc"}, filepath.Ext(name)) {
				return nil
			}
			if i := slices.IndexFunc(names, func(w string) bool { return strings.HasPrefix(name, w) }); i >= 0 {
				best[i] = cmp.Or(best[i], path)
			}
			return nil
		})
	}
	best = slices.DeleteFunc(best, func(path string) bool { return path == "" })
	return best[:min(len(best), maxFiles)]
}
