// Package strictjson reads and writes JSON without ambiguity. Check rejects any text
// that two decoders could read differently, such as one with duplicate keys; Reader
// reads the numbers and keys of a document without allocating.
package strictjson
