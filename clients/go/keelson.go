// Package keelson starts a Kubernetes-compatible API server for tests, with time that moves, faults and snapshots. It needs the standard
// library alone; client-go and controller-runtime use the kubeconfig of the server.
//
//	server := keelson.Start(t, keelson.Apply("config/crd"))
//	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
//	server.Advance("24h")
package keelson

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// TB is the part of testing.TB that is used. Suites without one, such as those of Ginkgo, hand in GinkgoT().
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Server is a running server. It ends with its test, and with this process, however that ends.
type Server struct {
	// URL is https://HOST:PORT.
	URL string
	// Kubeconfig is the file with the kubeconfig of the administrator.
	Kubeconfig string
	// CA is the authority of the server's certificate, in PEM.
	CA []byte
	// Token is a bearer token of the administrator.
	Token string

	t      TB
	client *http.Client
}

// Option changes how a server is started.
type Option func(*options)

type options struct {
	flags   []string
	command []string
}

// Flags are flags of `keelson serve`, such as --nodes=0.
func Flags(flags ...string) Option { return func(o *options) { o.flags = append(o.flags, flags...) } }

// Apply names manifests that the server has from the start.
func Apply(paths ...string) Option {
	return func(o *options) {
		for _, path := range paths {
			o.flags = append(o.flags, "--apply="+path)
		}
	}
}

// Command is the command to start instead of the one that KEELSON names, or that is on the PATH.
func Command(command ...string) Option { return func(o *options) { o.command = command } }

// Start runs a server in memory until the test ends.
func Start(t TB, given ...Option) *Server {
	t.Helper()
	o := options{command: command()}
	for _, option := range given {
		option(&o)
	}
	folder, err := os.MkdirTemp("", "keelson-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	token, tokens := randomToken(t), filepath.Join(folder, "tokens.csv")
	check(t, os.WriteFile(tokens, []byte(token+",keelson-testing,1,\"system:masters\"\n"), 0o600))
	args := append(append([]string{}, o.command[1:]...), "serve", "--store=memory", "--secure-port=0", "--output=json",
		"--exit-with-parent", "--test-endpoints", "--data-dir="+folder, "--token-auth-file="+tokens)
	process := exec.Command(o.command[0], append(args, o.flags...)...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	check(t, err)
	check(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt)
		_ = process.Wait()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatalf("keelson did not start; see its messages above")
	}
	var ready struct{ URL, Kubeconfig, CA string }
	check(t, json.Unmarshal(line, &ready))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ready.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &Server{URL: ready.URL, Kubeconfig: ready.Kubeconfig, CA: []byte(ready.CA), Token: token, t: t, client: &http.Client{Transport: transport}}
}

// Envtest returns a folder with kube-apiserver, etcd and kubectl for envtest, and sets KUBEBUILDER_ASSETS to it for this process. Flags are
// those of `keelson envtest`: --controllers=all, --nodes=1. Call it before testEnv.Start().
func Envtest(flags ...string) (string, error) {
	own := command()
	process := exec.Command(own[0], append(append(append([]string{}, own[1:]...), "envtest"), flags...)...)
	process.Stderr = os.Stderr
	output, err := process.Output()
	if err != nil {
		return "", fmt.Errorf("keelson envtest: %w", err)
	}
	folder := strings.TrimSpace(string(output))
	return folder, os.Setenv("KUBEBUILDER_ASSETS", folder)
}

// Error is a response with an error.
type Error struct {
	Request string
	// Status is that of HTTP.
	Status int
	// Reason is that of the API, such as NotFound.
	Reason  string
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %d %s", e.Request, e.Status, e.Message) }

// Send sends a request as administrator, with a body and into a result that are coded as JSON; both may be nil. An error of the API is an *Error.
func (s *Server) Send(method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, s.URL+path, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 400 {
		failure := &Error{Request: method + " " + path, Status: response.StatusCode, Message: string(text)}
		var status struct{ Kind, Reason, Message string }
		if json.Unmarshal(text, &status) == nil && status.Kind == "Status" {
			failure.Reason, failure.Message = status.Reason, status.Message
		}
		return failure
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// Reset restores the state after the start, and removes faults.
func (s *Server) Reset() { s.t.Helper(); s.must("POST", "/keelson/v1/reset", nil, nil) }

// Snapshot keeps the current state in memory, and returns its name.
func (s *Server) Snapshot() string {
	s.t.Helper()
	var made struct{ Name string }
	s.must("POST", "/keelson/v1/snapshots", struct{}{}, &made)
	return made.Name
}

// Restore restores a snapshot, in milliseconds. Revisions go on, and watches see the changes.
func (s *Server) Restore(snapshot string) {
	s.t.Helper()
	s.must("POST", "/keelson/v1/snapshots/"+url.PathEscape(snapshot)+"/restore", nil, nil)
}

// Settled waits until the server's own controllers have nothing left to do.
func (s *Server) Settled() {
	s.t.Helper()
	s.must("GET", "/keelson/v1/settled?timeoutSeconds=60", nil, nil)
}

// Request is one that a client has sent.
type Request struct {
	Time                      time.Time
	User, UserAgent           string
	Method, Verb, Path, Query string
	Status                    int
	Resource                  struct{ Group, Version, Resource, Subresource, Namespace, Name string }
}

// Requests is what clients have sent since the start or the last reset. A filter is such as "verb=update" or "userAgent=my-controller".
func (s *Server) Requests(filters ...string) []Request {
	s.t.Helper()
	query := url.Values{}
	for _, filter := range filters {
		name, value, _ := strings.Cut(filter, "=")
		query.Set(name, value)
	}
	var report struct{ Requests []Request }
	s.must("GET", "/keelson/v1/requests?"+query.Encode(), nil, &report)
	return report.Requests
}

// Change is one of an object.
type Change struct {
	At                                      time.Time
	Type, APIVersion, Kind, Namespace, Name string
	Revision                                string
	Object, Previous                        map[string]any
}

// Changes is what has changed since the start or the last reset.
func (s *Server) Changes() []Change {
	s.t.Helper()
	var report struct{ Changes []Change }
	s.must("GET", "/keelson/v1/changes", nil, &report)
	return report.Changes
}

// Now is the time of the server.
func (s *Server) Now() time.Time { s.t.Helper(); return s.clock("GET", nil) }

// Advance moves the time of the server by a duration such as 24h. Whatever is due on the way happens in order and at its time.
func (s *Server) Advance(duration string) time.Time {
	s.t.Helper()
	return s.clock("POST", map[string]any{"advance": duration})
}

// Freeze stops the time of the server, until Resume; Advance still moves it.
func (s *Server) Freeze() time.Time {
	s.t.Helper()
	return s.clock("POST", map[string]any{"frozen": true})
}

// Resume lets the time of the server go on.
func (s *Server) Resume() time.Time {
	s.t.Helper()
	return s.clock("POST", map[string]any{"frozen": false})
}

// Fault says which requests fail, how often and how: docs/testing-controllers.md of Keelson has the fields.
type Fault map[string]any

// FaultReport is a fault with the number of requests that it selected and struck.
type FaultReport struct {
	ID         string
	Fault      Fault
	Seen, Hits int
}

// AddFault makes requests fail; it is gone after the test. It returns its id.
func (s *Server) AddFault(t TB, fault Fault) string {
	t.Helper()
	var added struct{ ID string }
	check(t, s.Send("POST", "/keelson/v1/faults", fault, &added))
	t.Cleanup(func() { _ = s.Send("DELETE", "/keelson/v1/faults/"+url.PathEscape(added.ID), nil, nil) })
	return added.ID
}

// Faults reports on all faults.
func (s *Server) Faults() []FaultReport {
	s.t.Helper()
	var report struct{ Faults []FaultReport }
	s.must("GET", "/keelson/v1/faults", nil, &report)
	return report.Faults
}

// Namespace makes a namespace for a test, which is deleted after it.
func (s *Server) Namespace(t TB) string {
	t.Helper()
	var made struct{ Metadata struct{ Name string } }
	body := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "test-"}}
	check(t, s.Send("POST", "/api/v1/namespaces", body, &made))
	t.Cleanup(func() { _ = s.Send("DELETE", "/api/v1/namespaces/"+made.Metadata.Name, nil, nil) })
	return made.Metadata.Name
}

func (s *Server) clock(method string, body any) time.Time {
	s.t.Helper()
	var clock struct{ Time time.Time }
	s.must(method, "/keelson/v1/clock", body, &clock)
	return clock.Time
}

func (s *Server) must(method, path string, body, into any) {
	s.t.Helper()
	check(s.t, s.Send(method, path, body, into))
}

// command is the one that KEELSON names, or that on the PATH, or that of npm.
func command() []string {
	if named := strings.Fields(os.Getenv("KEELSON")); len(named) > 0 {
		return named
	}
	if path, err := exec.LookPath("keelson"); err == nil {
		return []string{path}
	}
	return []string{"npx", "keelson"}
}

func randomToken(t TB) string {
	t.Helper()
	bytes := make([]byte, 16)
	_, err := rand.Read(bytes)
	check(t, err)
	return hex.EncodeToString(bytes)
}

func check(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}
