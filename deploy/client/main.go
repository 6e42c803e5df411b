// Command client connects to a program that was just installed, as an agent's client does: with an SDK of the
// protocol, over the program's standard streams. It lists the tools and draws a chart.
//
// usage: client COMMAND [ARGUMENT...]
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is how long an emulated or busy machine may take.
const patience = 5 * time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("usage: client COMMAND [ARGUMENT...]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	program := exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // what the caller names; the session ends it
	var log bytes.Buffer
	program.Stderr = &log
	client := mcp.NewClient(&mcp.Implementation{Name: "try", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: program, TerminateDuration: patience}, nil)
	if err != nil {
		return fmt.Errorf("connect: %w\n%s", err, log.String())
	}
	says, err := use(ctx, session)
	if closed := session.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log.String())
	}
	_, err = fmt.Fprintln(os.Stdout, says)
	return err
}

// use calls what every installation has.
func use(ctx context.Context, session *mcp.ClientSession) (string, error) {
	server := session.InitializeResult().ServerInfo
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	drawn, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "generate_chart", Arguments: map[string]any{"indicators": []string{"RSI"}}})
	if err != nil {
		return "", err
	}
	size := 0
	for _, c := range drawn.Content {
		if picture, ok := c.(*mcp.ImageContent); ok {
			if _, err := png.Decode(bytes.NewReader(picture.Data)); err != nil {
				return "", err
			}
			size = len(picture.Data)
		}
	}
	if drawn.IsError || size == 0 {
		return "", fmt.Errorf("no picture: %+v", drawn.Content)
	}
	return fmt.Sprintf("%s %s, %d tools, a chart of %d bytes", server.Name, server.Version, len(tools.Tools), size), nil
}
