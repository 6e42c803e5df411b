// Package install writes candela into the configuration file of an MCP client,
// and takes it out again. It is pure: the text of a file goes in and the new text
// comes out; reading, copying and writing files is the caller's.
//
// What a user has in the file stays as it is, byte for byte: comments, order,
// indentation, line ends, keys that this package does not know. A file that the
// client could not read itself is refused, with the line and column at fault, and
// so is one in a form that cannot be changed without rewriting what is not ours.
// Every result is read back and compared with what was meant before it is handed
// out.
package install
