// Package member tracks the live replicas by their heartbeats, assigns each shard an owner and
// calls it. A shard is work for one replica at a time: an instrument's alerts, or trading.
package member
