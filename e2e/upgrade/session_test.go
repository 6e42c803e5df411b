package upgrade

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// session is a client of a program over stdio.
type session struct {
	t       *testing.T
	program *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	log     bytes.Buffer
	last    int
	scripts bool // it has tools for stored scripts
}

// start runs a program on a state directory, with the fake venue as Binance.
func start(t *testing.T, binary, home, venue string) *session {
	t.Helper()
	s := &session{t: t, program: exec.CommandContext(t.Context(), binary, "--mcp", "--trade", "--home", home)}
	s.program.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "CANDELA_BINANCE_URL=" + venue}
	// An early program does not know the setting, and refuses it.
	if help, err := exec.CommandContext(t.Context(), binary, "--help").CombinedOutput(); err == nil && bytes.Contains(help, []byte("--toolsets")) {
		s.program.Env, s.scripts = append(s.program.Env, "CANDELA_TOOLSETS=all"), true
	}
	s.program.Stderr = &s.log
	in, err := s.program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.program.Start(); err != nil {
		t.Fatal(err)
	}
	s.in, s.out = in, bufio.NewScanner(out)
	s.out.Buffer(nil, 1<<22)
	s.request("initialize", `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"upgrade","version":"1"}}`)
	s.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *session) write(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatalf("%v\n%s", err, s.log.String())
	}
}

func (s *session) request(method, params string) json.RawMessage {
	s.t.Helper()
	s.last++
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.last, method, params))
	for s.out.Scan() {
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(s.out.Bytes(), &answer); err != nil {
			s.t.Fatal(err)
		}
		if answer.ID != s.last {
			continue
		}
		if answer.Error != nil {
			s.t.Fatalf("%s %s: %s", method, params, answer.Error)
		}
		return answer.Result
	}
	_ = s.program.Wait() // its log says why
	s.t.Fatalf("the program ended: %s", s.log.String())
	return nil
}

// call returns the text of a tool's answer.
func (s *session) call(tool, arguments string) string {
	s.t.Helper()
	text, failed := s.try(tool, arguments)
	if failed {
		s.t.Fatalf("%s %s: %s", tool, arguments, text)
	}
	return text
}

func (s *session) try(tool, arguments string) (text string, failed bool) {
	s.t.Helper()
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	raw := s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) == 0 {
		s.t.Fatalf("%s, %v", raw, err)
	}
	return result.Content[0].Text, result.IsError
}

// end closes the input, as a client does that ends.
func (s *session) end() {
	s.t.Helper()
	if err := s.in.Close(); err != nil {
		s.t.Error(err)
	}
	for s.out.Scan() { // until the program closes its side
		continue
	}
	if err := s.program.Wait(); err != nil {
		s.t.Errorf("%v\n%s", err, s.log.String())
	}
}
