package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"candela/cmd/candela/cli"

	"candela/lib/fault"
	"candela/lib/pattern"
)

const (
	repository   = "example/candela" // deploy/address sets it
	checkTimeout = 10 * time.Second
)

func printVersion(ctx context.Context, in cli.Call) error {
	var asJSON bool
	check, from := false, "https://github.com/"+repository
	rest, err := cli.CutFlags(in.Args, map[string]*bool{"--check": &check, "--json": &asJSON}, []cli.Flag{cli.TextFlag("--from", &from, "the address of the repository")})
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fault.Field("version", strings.Join(rest, " "), "--check, to ask for the newest release, and --json")
	}
	if asJSON {
		return versionJSON(ctx, in, check, from)
	}
	if _, err := fmt.Fprintln(in.Stdout, "candela", in.Version); err != nil || !check {
		return err
	}
	newest, err := newestRelease(ctx, strings.TrimSuffix(from, "/"))
	if err != nil {
		return err
	}
	own, _, _ := strings.Cut(in.Version, " ")
	switch {
	case newest == "":
		_, err = fmt.Fprintf(in.Stdout, "%s has no release.\n", from)
	case !isRelease(own):
		_, err = fmt.Fprintf(in.Stdout, "The newest release is %s. This program was built from source and is not compared.\n", newest)
	case laterThan(newest, own):
		_, err = fmt.Fprintf(in.Stdout, "There is a newer release, %s: %s/releases/tag/%s. Read what changed, back up, then install it as you installed this one.\n", newest, from, newest)
	default:
		_, err = fmt.Fprintln(in.Stdout, "There is no newer release.")
	}
	return err
}

// versionJSON prints the version as JSON, and the newest release where it is asked for; "" is none.
func versionJSON(ctx context.Context, in cli.Call, check bool, from string) error {
	own, details, _ := strings.Cut(in.Version, " ")
	answer := map[string]string{"version": own, "details": details}
	if check {
		newest, err := newestRelease(ctx, strings.TrimSuffix(from, "/"))
		if err != nil {
			return err
		}
		answer["newest"] = newest
	}
	return cli.PrintJSON(in.Stdout, answer)
}

// newestRelease asks where the page of the newest release is, and sends nothing else.
func newestRelease(ctx context.Context, from string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, from+"/releases/latest", nil)
	if err != nil {
		return "", fault.Field("--from", from, "the address of a repository, such as https://github.com/"+repository)
	}
	request.Header.Set("User-Agent", "candela") // the version is not sent: nobody needs to know it
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for the newest release: %w; candela works without it", err)
	}
	_ = answer.Body.Close() // an answer to HEAD has none
	if answer.StatusCode == http.StatusNotFound {
		return "", errors.New("ask for the newest release: " + from + " does not exist or has no release; name another address with --from")
	}
	if tag := path.Base(answer.Header.Get("Location")); isRelease(tag) {
		return tag, nil
	}
	if answer.StatusCode >= http.StatusMultipleChoices && answer.StatusCode < http.StatusBadRequest {
		return "", nil // to the list of releases, which is empty
	}
	return "", fmt.Errorf("ask for the newest release: %s answered %s", from, answer.Status)
}

var releaseForm = pattern.Of(`^v(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-[0-9A-Za-z.-]{1,64})?$`)

func isRelease(version string) bool { return releaseForm().MatchString(version) }

// laterThan compares two versions. A candidate is earlier than its release; two candidates of the
// same release are not compared.
func laterThan(one, other string) bool {
	a, b := releaseForm().FindStringSubmatch(one), releaseForm().FindStringSubmatch(other)
	for i := 1; i <= 3; i++ {
		x, _ := strconv.Atoi(a[i]) // nine digits at most
		y, _ := strconv.Atoi(b[i])
		if x != y {
			return x > y
		}
	}
	return a[4] == "" && b[4] != ""
}
