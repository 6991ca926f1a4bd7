"""The manifests in deploy/ say the same as the Dockerfile, as Streamlit's configuration and as each other."""

import re
import tomllib

import pytest
import yaml

from tests.browser.served import ROOT

HEALTH = "/_stcore/health"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PORT = int(re.search(r"^EXPOSE (\d+)$", DOCKERFILE, re.M)[1])
USER = int(re.search(r"^USER (\d+)$", DOCKERFILE, re.M)[1])
NGINX = (ROOT / "deploy/nginx.conf").read_text()
COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
KUBERNETES = {one["kind"]: one for one in yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text())}
POD = KUBERNETES["Deployment"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
REPLICAS = [COMPOSE["services"][name] for name in ("first", "second")]


def nginx_headers() -> dict[str, str]:
    found = re.findall(r'add_header (\S+) ("[^"]*"|\S+) always;', NGINX)
    return {name: value.strip('"').replace("${FRAME_ANCESTORS}", "'none'") for name, value in found}


def test_the_dockerfile_is_of_one_mind():
    assert f"--uid {USER} " in DOCKERFILE and f"--server.port={PORT}" in DOCKERFILE
    assert f"localhost:{PORT}{HEALTH}" in DOCKERFILE
    assert "./chart_component" in (ROOT / "requirements.txt").read_text()
    assert DOCKERFILE.index("COPY chart_component") < DOCKERFILE.index("RUN pip install"), "a path in requirements.txt"


@pytest.mark.parametrize("replica", REPLICAS, ids=["first", "second"])
def test_compose_runs_each_replica_as_the_image_is_made(replica):
    assert replica["user"] == f"{USER}:{USER}" and replica["read_only"] and replica["cap_drop"] == ["ALL"]
    assert replica["security_opt"] == ["no-new-privileges:true"] and replica["tmpfs"][0].startswith("/tmp:")
    assert f"localhost:{PORT}{HEALTH}" in " ".join(replica["healthcheck"]["test"])
    assert {"cpus", "memory"} <= replica["deploy"]["resources"]["limits"].keys()


def test_kubernetes_runs_the_image_as_it_is_made():
    assert POD["securityContext"]["runAsNonRoot"] and POD["securityContext"]["runAsUser"] == USER
    assert CONTAINER["ports"] == [{"name": "http", "containerPort": PORT}]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert CONTAINER[probe]["httpGet"] == {"path": HEALTH, "port": "http"}
    guarded = CONTAINER["securityContext"]
    assert guarded["readOnlyRootFilesystem"] and not guarded["allowPrivilegeEscalation"]
    assert [mount["mountPath"] for mount in CONTAINER["volumeMounts"]] == ["/tmp"]
    assert {"cpu", "memory"} <= CONTAINER["resources"]["limits"].keys()


def test_a_rolling_update_and_a_drained_node_leave_a_replica():
    spec = KUBERNETES["Deployment"]["spec"]
    assert spec["replicas"] >= 2 and spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert 1 <= KUBERNETES["PodDisruptionBudget"]["spec"]["minAvailable"] < spec["replicas"]


def test_every_selector_finds_the_pods():
    labels = KUBERNETES["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert KUBERNETES["Service"]["spec"]["selector"] == labels
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert KUBERNETES[kind]["spec"]["selector"]["matchLabels"] == labels
    assert KUBERNETES["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    rule = KUBERNETES["Ingress"]["spec"]["rules"][0]
    assert rule["host"] == CONTAINER["env"][0]["value"], "the host that Streamlit lets in"
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == KUBERNETES["Service"]["metadata"]["name"]


def test_nginx_sends_to_the_replicas_of_compose_and_has_every_variable():
    given = COMPOSE["services"]["nginx"]["environment"]
    addresses = [f"{replica['networks']['inside']['ipv4_address']}:{PORT}" for replica in REPLICAS]
    assert [given["FIRST"], given["SECOND"]] == addresses
    assert set(re.findall(r"\$\{(\w+)\}", NGINX)) == given.keys() - {"NGINX_ENVSUBST_FILTER"}


def test_a_body_may_be_as_large_as_streamlit_takes_it():
    megabytes = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["server"]["maxUploadSize"]
    assert f"client_max_body_size {megabytes}m;" in NGINX
    assert KUBERNETES["Ingress"]["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"] == (
        f"{megabytes}m"
    )


def test_nginx_and_the_ingress_send_the_same_headers():
    expected = nginx_headers()
    expected.pop("Set-Cookie")
    assert KUBERNETES["ConfigMap"]["data"] == expected
