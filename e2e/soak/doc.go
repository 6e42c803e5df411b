// Package soak lets six clients and an owner use the program as it is built, over one
// node and over three replicas, while it is killed, halted, backed up and loses tokens,
// and holds what it says against a model of its own: of the account, of the protection of
// positions, of alerts and of what reaches whom. A violation is
// reported with the seed and the steps that led to it.
package soak
