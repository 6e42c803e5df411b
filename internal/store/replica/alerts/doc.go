// Package alerts stores alerts, notifications, cursors and watermarks for all replicas, and
// hands each instrument's alerts to the engine of its shard owner.
package alerts
