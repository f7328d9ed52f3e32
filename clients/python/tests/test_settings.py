"""An example: a job that is retried, a conflict on demand, and a cron job of tomorrow."""
from datetime import timedelta

import pytest

from keelson_testing import ApiError


def maps(namespace):
    return f"/api/v1/namespaces/{namespace}/configmaps"


def count_up(server, namespace):
    """The code under test: adds one to a counter, and tries again if another was faster."""
    for _ in range(3):
        counter = server.send("GET", f"{maps(namespace)}/counter")
        counter["data"] = {"count": str(int(counter["data"]["count"]) + 1)}
        try:
            return server.send("PUT", f"{maps(namespace)}/counter", counter)
        except ApiError as error:
            if error.reason != "Conflict":
                raise
    raise RuntimeError("three conflicts")


def test_a_conflict_is_tried_again(keelson, namespace, faults):
    keelson.send("POST", maps(namespace), {"metadata": {"name": "counter"}, "data": {"count": "0"}})
    faults.add(verb="update", resource="configmaps", namespace=namespace, status=409, times=1)
    assert count_up(keelson, namespace)["data"] == {"count": "1"}
    assert [fault["hits"] for fault in faults.report()] == [1]


def test_faults_are_gone_in_the_next_test(faults):
    assert faults.report() == []


def test_a_cron_job_of_tomorrow_runs_now(keelson, namespace, keelson_clock):
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/report"}]}}}}}
    before = keelson_clock.freeze()
    keelson.send("POST", f"/apis/batch/v1/namespaces/{namespace}/cronjobs", {"metadata": {"name": "nightly"}, "spec": spec})
    keelson.settled()
    assert keelson_clock.advance("24h") - before == timedelta(hours=24)
    jobs = keelson.send("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs")["items"]
    assert [job["metadata"]["ownerReferences"][0]["name"] for job in jobs] == ["nightly"]


def test_a_snapshot_brings_a_state_back(keelson, namespace):
    keelson.send("POST", maps(namespace), {"metadata": {"name": "a"}})
    kept = keelson.snapshot()
    keelson.send("DELETE", f"{maps(namespace)}/a")
    with pytest.raises(ApiError, match='configmaps "a" not found') as failure:
        keelson.send("GET", f"{maps(namespace)}/a")
    assert (failure.value.status, failure.value.reason) == (404, "NotFound")
    keelson.restore(kept)
    assert keelson.wait_for(f"{maps(namespace)}/a")["metadata"]["namespace"] == namespace


def test_requests_and_changes_are_recorded(keelson, namespace):
    made = keelson.send("POST", maps(namespace), {"metadata": {"name": "a"}})
    with pytest.raises(ApiError):
        keelson.send("GET", f"{maps(namespace)}/none")
    sent = keelson.requests(namespace=namespace, resource="configmaps")
    assert [(each["verb"], each["status"]) for each in sent] == [("create", 201), ("get", 404)]
    revision = made["metadata"]["resourceVersion"]
    assert [(each["type"], each["name"]) for each in keelson.changes() if each["revision"] == revision] == [("added", "a")]
    assert all(int(each["revision"]) > int(revision) for each in keelson.changes(after=revision))
    keelson.reset()
    assert keelson.requests() == [] and keelson.changes() == []


def test_other_clients_use_the_kubeconfig(keelson):
    with open(keelson.kubeconfig, encoding="utf-8") as file:
        assert keelson.url in file.read()
