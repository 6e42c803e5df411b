package archtest

import (
	"slices"
	"strings"
	"testing"
)

// TestLibraryIsPure holds what makes the library one: it imports nothing of the server, does no
// I/O and logs nothing. That it starts no goroutine follows from [goroutineOwners].
func TestLibraryIsPure(t *testing.T) {
	t.Parallel()
	impure := []string{"database/sql", "log", "net", "os", "syscall", "unsafe"}
	found := 0
	for _, p := range listPackages(t) {
		name := shortName(p.ImportPath)
		if !strings.HasPrefix(name, "lib/") || testOnly(name) {
			continue
		}
		found++
		for _, to := range p.Imports {
			inside := strings.HasPrefix(to, modulePath+"/lib/")
			switch {
			case strings.HasPrefix(to, modulePath+"/") && !inside:
				t.Errorf("%s imports %s, which is part of the server", name, shortName(to))
			case slices.ContainsFunc(impure, func(root string) bool { return to == root || strings.HasPrefix(to, root+"/") }):
				t.Errorf("%s imports %s: the library computes from what it is given", name, to)
			case !inside && strings.Contains(to, ".") && !slices.Contains(libraryImports(), to):
				t.Errorf("%s imports %s: programs with the library would depend on it too", name, to)
			}
		}
	}
	if found == 0 {
		t.Error("no package of the library was found: nothing was checked")
	}
}

// libraryImports are the packages of others that the library uses: the font of pictures and its
// reader, and the clock of a thread, for which the standard library has no function.
func libraryImports() []string {
	return []string{
		"eliasnaur.com/font/roboto/robotomedium", "eliasnaur.com/font/roboto/robotoregular",
		"golang.org/x/image/font/sfnt", "golang.org/x/image/math/fixed", "golang.org/x/sys/unix",
	}
}
