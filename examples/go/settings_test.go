// Package settings shows a server of its own for a test, with the standard library alone. KEELSON names the command; "npx keelson" unless told.
package settings

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type server struct {
	url    string
	client *http.Client
}

// start runs a server in memory until the test ends.
func start(t *testing.T) *server {
	t.Helper()
	folder := t.TempDir()
	tokens := filepath.Join(folder, "tokens.csv")
	if err := os.WriteFile(tokens, []byte("secret,tester,1,\"system:masters\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := os.Getenv("KEELSON")
	if command == "" {
		command = "npx keelson"
	}
	args := append(strings.Fields(command), "serve", "--store=memory", "--secure-port=0", "--output=json",
		"--exit-with-parent", "--nodes=0", "--data-dir="+folder, "--token-auth-file="+tokens)
	process := exec.Command(args[0], args[1:]...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt)
		_ = process.Wait()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ URL, CA string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ready.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	return &server{url: ready.URL, client: &http.Client{Transport: transport}}
}

// send returns the status and the decoded answer.
func (s *server) send(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(method, s.url+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer secret")
	request.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var decoded map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, decoded
}

func TestASecondCreateConflicts(t *testing.T) {
	server := start(t)
	body := map[string]any{"metadata": map[string]any{"name": "hello"}, "data": map[string]any{"who": "world"}}
	const maps = "/api/v1/namespaces/default/configmaps"
	if status, _ := server.send(t, "POST", maps, body); status != 201 {
		t.Fatalf("the first create was answered with %d", status)
	}
	if status, answer := server.send(t, "POST", maps, body); status != 409 || answer["reason"] != "AlreadyExists" {
		t.Fatalf("the second create was answered with %d %v", status, answer["reason"])
	}
}
