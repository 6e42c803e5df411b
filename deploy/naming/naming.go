// Package naming has the names and versions under which channels know a release.
package naming

import (
	"regexp"
	"strings"
)

// Server is the name of the program in the MCP Registry. Packages and the image carry it, by
// which the registry sees that they belong to the same owner.
func Server(repository string) string {
	owner, _, _ := strings.Cut(repository, "/")
	return "io.github." + owner + "/candela"
}

// Home is the address of the repository.
func Home(repository string) string { return "https://github.com/" + repository }

// Download is the address of a file of the release.
func Download(repository, version, file string) string {
	return Home(repository) + "/releases/download/v" + version + "/" + file
}

// Image is the image of the release.
func Image(repository, version string) string {
	owner, _, _ := strings.Cut(repository, "/")
	return "ghcr.io/" + strings.ToLower(owner) + "/candela:" + version
}

// Python returns a version as Python writes it (PEP 440). What is neither a release nor a
// candidate becomes a local version, which PyPI refuses.
func Python(version string) string {
	if m := regexp.MustCompile(`^([\d.]+)-(alpha|beta|rc)\.?(\d+)$`).FindStringSubmatch(version); m != nil {
		return m[1] + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[2]] + m[3]
	}
	release, rest, other := strings.Cut(version, "-")
	if !other {
		return release
	}
	return release + ".dev0+" + strings.ToLower(strings.ReplaceAll(rest, "-", "."))
}
