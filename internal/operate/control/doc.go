// Package control is the Unix socket through which the owner's commands reach a running
// candela. It holds the server and one client function per command.
//
// File permissions decide who may connect: the directory is 0700 and the socket 0600. On
// Windows the access list of the directory keeps others out.
package control
