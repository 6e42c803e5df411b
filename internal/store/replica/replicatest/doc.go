// Package replicatest helps to test replicas: shared servers, connections with faults, a proxy
// that cuts a connection, and functions that open stores. Its own tests cover several stores:
// hostile and restarting servers, unreadable data, and the permissions of a replica.
package replicatest
