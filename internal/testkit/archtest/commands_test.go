package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/internal/app"
	"candela/internal/config"
)

// block is a fenced block of commands.
type block struct {
	page  string
	line  int // of the fence
	mark  string
	lines []string
}

// shells are the languages of blocks that hold commands.
var shells = []string{"sh", "bash", "shell", "console"}

// commandBlocks lists the blocks of commands of all pages, and complains of those
// that do not say how they are tested.
func commandBlocks(t *testing.T) []block {
	t.Helper()
	var all []block
	walk(t, func(name string, data []byte) {
		if path.Ext(name) != ".md" || strings.Contains(name, "testdata/") {
			return
		}
		var open *block
		fenced := false
		for i, line := range strings.Split(string(data), "\n") {
			info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case fence && fenced:
				fenced = false
				if open != nil {
					all = append(all, *open)
				}
				open = nil
			case fence:
				fenced = true
				words := strings.Fields(info)
				if len(words) == 0 || !slices.Contains(shells, words[0]) {
					continue
				}
				if len(words) != 2 || !slices.Contains([]string{"run", "ci", "outside"}, words[1]) {
					t.Errorf("%s:%d: commands under ```%s do not say how they are tested: write ```sh run, ```sh ci or ```sh outside; docs/README.md says what each means", name, i+1, info)
					continue
				}
				open = &block{page: name, line: i + 1, mark: words[1]}
			case open != nil:
				open.lines = append(open.lines, strings.TrimSpace(line))
			}
		}
	})
	return all
}

// TestCommands_AreTestedOrMarked looks at every command of the documentation. Those
// marked run are run by e2e/docs and e2e/newuser; here all are held to what there is.
func TestCommands_AreTestedOrMarked(t *testing.T) {
	t.Parallel()
	blocks := commandBlocks(t)
	if len(blocks) < 20 {
		t.Errorf("only %d blocks of commands were found", len(blocks))
	}
	known := knownFlags(t)
	for _, b := range blocks {
		for _, line := range b.lines {
			line, _, _ = strings.Cut(line, " #")
			words := strings.Fields(strings.NewReplacer(`"`, "").Replace(line))
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			for i, word := range words {
				if path.Base(word) == "candela" && (i == 0 || !strings.HasPrefix(words[i-1], "-")) && !strings.HasPrefix(word, ".") && word != "./cmd/candela" {
					known.check(t, b, words[i+1:])
				}
			}
			if b.mark == "ci" {
				checkCI(t, b, words)
			}
		}
	}
}

// vocabulary is what can be said to candela.
type vocabulary struct {
	commands []string
	flags    []string
	source   string // of cmd/candela, for flags of single commands
}

func knownFlags(t *testing.T) vocabulary {
	t.Helper()
	v := vocabulary{flags: []string{"--help", "--version"}}
	for _, s := range config.Settings(app.Parts()) {
		v.flags = append(v.flags, s.Flag())
	}
	walk(t, func(name string, data []byte) {
		if strings.HasPrefix(name, "cmd/candela/") && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			v.source += string(data)
		}
	})
	for _, m := range regexp.MustCompile(`(?m)^\t\t\{"[A-Z][a-z ]+", "([a-z-]+)", "`).FindAllStringSubmatch(v.source, -1) {
		v.commands = append(v.commands, m[1])
	}
	if !slices.Contains(v.commands, "backup") {
		t.Fatal("the commands were not found in cmd/candela/command.go")
	}
	return v
}

func (v vocabulary) check(t *testing.T, b block, words []string) {
	t.Helper()
	command := ""
	for i, word := range words {
		if slices.Contains([]string{"--", "|", "&&", "||", ";", "&", ">", "<"}, word) {
			return
		}
		switch name, _, _ := strings.Cut(word, "="); {
		case i == 0 && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word):
			command = word
			if !slices.Contains(v.commands, word) {
				t.Errorf("%s:%d: there is no command candela %s", b.page, b.line, word)
			}
		case strings.HasPrefix(name, "--") && !slices.Contains(v.flags, name) && (command == "" || !strings.Contains(v.source, name) && !strings.Contains(v.source, `"`+name[2:]+`"`)):
			t.Errorf("%s:%d: candela has no flag %s", b.page, b.line, name)
		}
	}
}

// checkCI looks up what a check of this repository names.
func checkCI(t *testing.T, b block, words []string) {
	t.Helper()
	for strings.Contains(words[0], "=") { // variables
		words = words[1:]
	}
	switch {
	case words[0] == "go" && words[1] == "test":
		checkGoTest(t, b, words[2:])
	case words[0] == "go" && words[1] == "build":
	default:
		if _, err := os.Stat(filepath.Join(root, words[0])); err != nil && words[0] != ".bin/golangci-lint" {
			t.Errorf("%s:%d: %s is no check of this repository: mark it run or outside", b.page, b.line, words[0])
		}
	}
}

func checkGoTest(t *testing.T, b block, words []string) {
	t.Helper()
	var source strings.Builder
	for _, word := range words {
		if !strings.HasPrefix(word, "./") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, strings.TrimSuffix(word, "/..."), "*.go"))
		if err != nil || len(files) == 0 && !strings.HasSuffix(word, "...") {
			t.Errorf("%s:%d: there is no package %s", b.page, b.line, word)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(data)
		}
	}
	for i, word := range words {
		switch {
		case slices.Contains([]string{"-run", "-bench", "-fuzz"}, word):
			pattern := strings.Trim(words[i+1], "'")
			kind := map[string]string{"-run": "Test", "-bench": "Benchmark", "-fuzz": "Fuzz"}[word]
			if !matchesAny(pattern, kind, source.String()) && pattern != "^$" {
				t.Errorf("%s:%d: %s %s matches nothing there", b.page, b.line, word, pattern)
			}
		case strings.HasPrefix(word, "-") && !slices.Contains([]string{"-benchtime", "-count", "-v", "-race", "-update", "-timeout"}, word) &&
			!strings.Contains(source.String(), `("`+word[1:]+`",`):
			t.Errorf("%s:%d: no test there has a flag %s", b.page, b.line, word)
		}
	}
}

// matchesAny reports whether a pattern selects a function of a kind.
func matchesAny(pattern, kind, source string) bool {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	for _, m := range regexp.MustCompile(`(?m)^func (`+kind+`\w*)\(`).FindAllStringSubmatch(source, -1) {
		if re.MatchString(m[1]) {
			return true
		}
	}
	return false
}
