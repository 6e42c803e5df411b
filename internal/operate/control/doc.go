// Package control is the socket in the state directory by which a command of the
// owner reaches the program that runs there, with both of its ends: the Server that
// answers, and a function for everything that it can be asked.
//
// Who may open the socket is a matter of the file system: the directory is 0700 and
// the socket 0600. On Windows the access list of the directory keeps others out.
//
// It decides nothing. What a command does where no program answers is its caller's.
package control
