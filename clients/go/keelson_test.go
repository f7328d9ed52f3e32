package keelson_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	keelson "example.com/keelson-testing"
)

type object = map[string]any

func mapsOf(namespace string) string { return "/api/v1/namespaces/" + namespace + "/configmaps" }

func reasonOf(err error) string {
	var failure *keelson.Error
	if errors.As(err, &failure) {
		return failure.Reason
	}
	return ""
}

func TestKeelson(t *testing.T) {
	server := keelson.Start(t, keelson.Flags("--nodes=0"))

	t.Run("a fault strikes as often as it should", func(t *testing.T) {
		namespace := server.Namespace(t)
		server.AddFault(t, keelson.Fault{"verb": "create", "resource": "configmaps", "namespace": namespace, "status": 503, "times": 1})
		body := object{"metadata": object{"name": "a"}}
		if err := server.Send("POST", mapsOf(namespace), body, nil); reasonOf(err) != "ServiceUnavailable" {
			t.Fatalf("the first create: %v", err)
		}
		if err := server.Send("POST", mapsOf(namespace), body, nil); err != nil {
			t.Fatal(err)
		}
		if faults := server.Faults(); len(faults) != 1 || faults[0].Hits != 1 {
			t.Fatalf("%v", faults)
		}
	})

	t.Run("faults are gone with their test", func(t *testing.T) {
		if faults := server.Faults(); len(faults) != 0 {
			t.Fatalf("%v", faults)
		}
	})

	t.Run("time moves", func(t *testing.T) {
		before := server.Freeze()
		if passed := server.Advance("36h").Sub(before); passed != 36*time.Hour {
			t.Fatalf("%v passed", passed)
		}
		if !server.Resume().Before(time.Now().Add(37 * time.Hour)) {
			t.Fatal("it went too far")
		}
	})

	t.Run("a snapshot brings a state back, and a reset the first one", func(t *testing.T) {
		const path = "/api/v1/namespaces/default/configmaps"
		if err := server.Send("POST", path, object{"metadata": object{"name": "kept"}}, nil); err != nil {
			t.Fatal(err)
		}
		kept := server.Snapshot()
		if err := server.Send("DELETE", path+"/kept", nil, nil); err != nil {
			t.Fatal(err)
		}
		server.Restore(kept)
		server.Settled()
		if err := server.Send("GET", path+"/kept", nil, nil); err != nil {
			t.Fatal(err)
		}
		server.Reset()
		if err := server.Send("GET", path+"/kept", nil, nil); reasonOf(err) != "NotFound" {
			t.Fatalf("after the reset: %v", err)
		}
	})

	t.Run("requests and changes are recorded", func(t *testing.T) {
		server.Reset()
		namespace := server.Namespace(t)
		if err := server.Send("POST", mapsOf(namespace), object{"metadata": object{"name": "a"}}, nil); err != nil {
			t.Fatal(err)
		}
		sent := server.Requests("verb=create", "resource=configmaps")
		if len(sent) != 1 || sent[0].Status != 201 || sent[0].Resource.Namespace != namespace {
			t.Fatalf("%v", sent)
		}
		found := false
		for _, change := range server.Changes() {
			found = found || change.Type == "added" && change.Kind == "ConfigMap" && change.Namespace == namespace && change.Name == "a"
		}
		if !found {
			t.Fatalf("%v", server.Changes())
		}
	})

	t.Run("clients have a kubeconfig", func(t *testing.T) {
		text, err := os.ReadFile(server.Kubeconfig)
		if err != nil || !strings.Contains(string(text), server.URL) {
			t.Fatalf("%v %s", err, text)
		}
	})
}

func TestEnvtestPrograms(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	folder, err := keelson.Envtest("--controllers=all", "--dir="+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("KUBEBUILDER_ASSETS") != folder {
		t.Fatal("the variable is not set")
	}
	version, err := exec.Command(filepath.Join(folder, "kube-apiserver"), "--version").Output()
	if err != nil || !strings.HasPrefix(string(version), "Kubernetes v1.37.") {
		t.Fatalf("%v %s", err, version)
	}
}
