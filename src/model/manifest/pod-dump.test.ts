import { expect, test } from "vitest";
import { parseJson } from "../../lib/json-parser.ts";
import { type DecodedPod, defaultPod } from "../defaults/default-pod.ts";
import { textUid } from "./content-uid.ts";
import { decodeObject } from "./decode-object.ts";
import { dumpPod } from "./pod-dump.ts";

// What a kubelet v1.36.4 makes of these manifests.
test.each([
  [
    "d4a827023d26a23b46c5bda3d82e13ee",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "resources": {"limits": {"memory": "1.5Gi"}}}]}}',
  ],
  [
    "c388913893e21e55c1c9739a6539f832",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "resources": {"requests": {"cpu": 0.5}, "limits": {"cpu": 0.5}}}]}}',
  ],
  [
    "8c1da1bc4a51ab9d9cf3e9047213ec6e",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "resources": {"requests": {"cpu": "0.1m"}, "limits": {"cpu": "0.1m"}}}]}}',
  ],
  [
    "1fb1614d9a230125aba2bcb90ef3681a",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "resources": {"limits": {"memory": "3Ei"}}}]}}',
  ],
  [
    "e1d6ea6e77120070f4a4d7e7239ea32b",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}], "volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1.0"}}]}}',
  ],
  [
    "c870260fc3a7504c1f21e478c543a260",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1k"}}}]}]}}',
  ],
  [
    "f8c62b85c8398bbdb940d42f0296dfbb",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "resources": {"limits": {}}, "env": [], "args": [], "command": []}], "volumes": null, "hostNetwork": true, "hostPID": true}}',
  ],
  [
    "f0f15d11b63023e427cd877ba5d20f77",
    '{"metadata": {"name": "p", "creationTimestamp": null, "labels": {"component": "etcd", "tier": "control-plane"}, "annotations": {}}, "spec": {"containers": [{"name": "c", "image": "busybox:1"}]}, "status": {}}',
  ],
  [
    "bcab5529f955b0183dd7c3300f28f104",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "ports": [{"containerPort": 80, "protocol": "UDP", "name": "x"}], "livenessProbe": {"httpGet": {"port": "x", "path": "/healthz", "host": "127.0.0.1", "scheme": "HTTPS"}, "initialDelaySeconds": 10, "timeoutSeconds": 15, "failureThreshold": 8}, "startupProbe": {"grpc": {"port": 3}}, "readinessProbe": {"tcpSocket": {"port": 2379}}, "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, "capabilities": {"add": ["A"], "drop": ["ALL"]}, "privileged": false}}], "priorityClassName": "system-node-critical", "priority": 2000001000, "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, "runAsUser": 5, "supplementalGroups": [1, 2]}, "shareProcessNamespace": true, "hostUsers": false, "serviceAccount": "x"}}',
  ],
  [
    "f6d7bc9d7427f26dc3c1f58dfaba74e9",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1"}], "volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.name"}}]}}, {"configMap": {"name": "x"}}]}}]}}',
  ],
  [
    "6afe4cd1ac1b8eb63843ada5b5db91be",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1"}], "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5Gi"}}}}}}]}}',
  ],
  [
    "9b939f7bb540e5b3014cd33c529ae9bf",
    '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox:1", "resources": {"limits": {"cpu": "1", "memory": "64Mi"}}}], "resources": {"limits": {"cpu": "2"}}}}',
  ],
])("a pod has the UID %s that a kubelet gives it", (uid, manifest) => {
  const parsed = parseJson(manifest);
  if (!parsed.ok) throw new Error(parsed.error.message);
  const pod = decodeObject("Pod", parsed.value).value as DecodedPod;
  const text = dumpPod(defaultPod(pod), parsed.value);
  expect(textUid(`${text}host:nfile:/f`)).toBe(uid);
});
