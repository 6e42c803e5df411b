package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version is stamped by a release: -ldflags "-X main.version=v1.2.3".
// The linker writes it, nothing else does.
var version string

// buildVersion returns the version followed by what the toolchain recorded.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describeBuild(version, info)
}

// describeBuild writes, for example,
// "v1.2.3 (commit 0123456789ab, modified, 2026-01-02T03:04:05Z, go1.26.0 linux/amd64)".
func describeBuild(stamped string, info *debug.BuildInfo) string {
	recorded := make(map[string]string)
	for _, s := range info.Settings {
		recorded[s.Key] = s.Value
	}
	var facts []string
	if commit := recorded["vcs.revision"]; commit != "" {
		facts = append(facts, "commit "+commit[:min(12, len(commit))])
	}
	if recorded["vcs.modified"] == "true" {
		facts = append(facts, "modified")
	}
	if when := recorded["vcs.time"]; when != "" {
		facts = append(facts, when)
	}
	facts = append(facts, fmt.Sprintf("%s %s/%s", cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS, runtime.GOARCH))
	return fmt.Sprintf("%s (%s)", cmp.Or(stamped, info.Main.Version, "(devel)"), strings.Join(facts, ", "))
}
