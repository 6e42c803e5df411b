//go:build !unguarded

package cluster

// blind is set only in a build that exists to show that tests of replicas can fail.
const blind = false
