package mcptest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// Hostile returns a random body on one line: a message of any revision with parts that may
// be wrong, a batch of them, or no message at all.
func Hostile(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	one := func() string {
		version := pick(`"2026-07-28"`, `"2025-03-26"`, `"2099-01-01"`, `""`, `7`, `null`, `{}`)
		meta := pick(`{}`, `7`, `null`, fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":%s,"io.modelcontextprotocol/clientCapabilities":{}}`, version))
		params := pick(`{}`, `[]`, `"x"`, `null`,
			fmt.Sprintf(`{"_meta":%s,"name":"%s","arguments":%s}`, meta, pick("echo", "fail", "nope", ""), pick(`{}`, `[]`, `null`, `{"a":{"b":[1]}}`)),
			fmt.Sprintf(`{"protocolVersion":%s,"capabilities":%s,"_meta":%s}`, version, pick(`{}`, `7`), meta),
			fmt.Sprintf(`{"uri":"candela://x","cursor":%s,"_meta":%s,"inputResponses":{},"requestState":"x"}`, pick(`"x"`, `7`), meta))
		method := pick(`"initialize"`, `"server/discover"`, `"subscriptions/listen"`, `"ping"`, `"tools/list"`, `"tools/call"`, `"tools/call"`, `"resources/list"`,
			`"resources/read"`, `"resources/subscribe"`, `"prompts/list"`, `"prompts/get"`, `"logging/setLevel"`, `"completion/complete"`, `"elicitation/create"`, `"sampling/createMessage"`,
			`"notifications/initialized"`, `"notifications/cancelled"`, `"rpc.x"`, `"x"`, `""`, `7`, `null`)
		id := pick(`1`, `"a"`, `null`, `{}`, `-1.5`, `""`)
		members := []string{`"jsonrpc":` + pick(`"2.0"`, `"2.0"`, `"2.0"`, `"1.0"`, `2`), `"id":` + id, `"method":` + method, `"params":` + params}
		if r.IntN(6) == 0 {
			members = append(members[:1], members[2:]...)
		}
		if r.IntN(12) == 0 {
			members = append(members, pick(`"result":{}`, `"error":{"code":1,"message":"x"}`, `"method":"ping"`))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	switch r.IntN(12) {
	case 0:
		return "[" + one() + "," + pick(one(), "7", "[]", "null") + "]"
	case 1:
		whole := one()
		return whole[:r.IntN(len(whole))]
	case 2:
		return pick("[]", "{}", "null", "7", `"x"`, "\x00", "\xff", strings.Repeat("[", 200), `{"a":`+strings.Repeat(`{"a":`, 100))
	}
	return one()
}

// newerCode matches the error codes that only servers of newer revisions send.
var newerCode = regexp.MustCompile(`"code":\s*-320(2[0-9]|[3-9][0-9])\b`)

// NewerCode returns the part of an answer with an error code from -32020 to -32099, by which
// a client would take the server for one of a newer revision, or "".
func NewerCode(answer []byte) string { return string(newerCode.Find(answer)) }
