// Package replicatest helps tests of replicas: servers that the tests of a package share,
// connections with faults, a proxy that cuts a connection, and short ways to open stores.
// Its own tests cover several stores at once: servers that are hostile, restart or hold
// data that cannot be read, and the permissions that a replica needs.
package replicatest
