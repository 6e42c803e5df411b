// Package check holds what a release is made of against its own loaders and against
// the program: the configuration of goreleaser, the manifest of bundles, workflows.
// It has tests alone.
package check
