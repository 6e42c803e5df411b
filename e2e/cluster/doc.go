// Package cluster runs three NATS servers and three replicas of the program as they
// are built, with clients, a balancer and a fake venue, and lets all that can happen
// to machines and links happen to them. It is judged by the venue's own prices and by
// a client of NATS that has no code in common with the program.
package cluster
