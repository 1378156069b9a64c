// Texts of a pod or an image that a runtime could take for settings or for the agent's own marks.
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureImages } from "../../src/drivers/containerd/local-images.ts";
import { readMachine } from "../../src/drivers/linux/read-machine.ts";
import { busyboxArchive } from "../../tools/images/busybox-image.ts";
import { podManifest, shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { isReady, waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

const image = "docker.io/library/labelled:1";
const otherUid = "00000000-0000-0000-0000-000000000000";
/** Names by which runtimes, their shims and the agent know things. */
const claims = {
  "io.kubernetes.pod.uid": otherUid,
  "io.kubernetes.pod.name": "other",
  "io.kubernetes.pod.namespace": "kube-system",
  "io.kubernetes.container.name": "other",
  "io.cri-containerd.kind": "sandbox",
  "containerd.io/restart.status": "running",
  "containerd.io/restart.loguri": "binary:///bin/touch?/tmp/berth-loguri",
  "io.containerd.runc.v2.group": "host",
};
const annotations = {
  "io.kubernetes.container.hash": "0",
  "io.kubernetes.container.restartCount": "77",
  "io.kubernetes.container.terminationMessagePath": "/etc/shadow",
  "io.kubernetes.cri-o.TrySkipVolumeSELinuxLabel": "true",
  "io.kubernetes.cri-o.Devices": "/dev/sda:/dev/sda:rwm",
  "org.systemd.property.ExecStartPre": "'/bin/touch /tmp/berth-property'",
  "org.systemd.property.CollectMode": "x\nExecStop=/bin/touch /tmp/berth-property",
  "cdi.k8s.io/devices": "vendor.com/device=all",
  "example.com/text": "line\nother+kernel.core_pattern=|/bin/sh",
};

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(151);
  const target = {
    images: world.runtime,
    ctr: readMachine().tools.ctr ?? "ctr",
    socket: world.containerdSocket,
  };
  const config = { Cmd: ["sh"], Labels: { ...claims, ...annotations } };
  const build = () => busyboxArchive({ names: [image], files: [], config });
  await ensureImages(target, [{ name: image, build }], AbortSignal.timeout(60_000));
  const pod = JSON.parse(
    podManifest("hostile", { containers: [shell("main", untilStopped, { image })] }),
  ) as { readonly metadata: object };
  const labels = { "io.kubernetes.pod.uid": otherUid, "io.kubernetes.container.name": "other" };
  const metadata = { ...pod.metadata, annotations, labels };
  world.write("hostile.json", JSON.stringify({ ...pod, metadata }));
});
afterAll(() => world.close());

test("annotations of a pod reach its sandbox as they are, and no container", async () => {
  const pod = await waitForPod(world.client, world.podName("hostile"), isReady);
  const { uid } = pod.metadata;
  const signal = AbortSignal.timeout(60_000);
  const filter = { labelSelector: { "io.kubernetes.pod.uid": uid } };
  const [sandbox] = await world.runtime.listPodSandboxes(filter, signal);
  const given = sandbox?.annotations ?? {};
  expect(given).toMatchObject(annotations);
  const added = Object.keys(given).filter((key) => !Object.hasOwn(annotations, key));
  expect(added.toSorted()).toEqual([
    "kubernetes.io/config.hash",
    "kubernetes.io/config.seen",
    "kubernetes.io/config.source",
  ]);
  const [container] = await world.runtime.listContainers(filter, signal);
  const names = Object.keys(container?.annotations ?? {});
  expect(names.filter((name) => !name.startsWith("io.kubernetes."))).toEqual([]);
  expect(names.filter((name) => name.startsWith("io.kubernetes.cri"))).toEqual([]);
  expect(container?.annotations).toMatchObject({
    "io.kubernetes.container.restartCount": "0",
    "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
  });
  expect(container?.annotations?.["io.kubernetes.container.hash"]).not.toBe("0");
});

test("labels of a pod and of an image are not taken for the agent's own", async () => {
  const { metadata } = await waitForPod(world.client, world.podName("hostile"), isReady);
  const signal = AbortSignal.timeout(60_000);
  const own = {
    "io.kubernetes.pod.name": world.podName("hostile"),
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.uid": metadata.uid,
  };
  const sandboxes = await world.runtime.listPodSandboxes({}, signal);
  expect(sandboxes.map(({ labels }) => labels)).toEqual([
    { ...own, "io.kubernetes.container.name": "other" },
  ]);
  const containers = await world.runtime.listContainers({}, signal);
  expect(containers.map(({ labels }) => labels)).toEqual([
    { ...own, "io.kubernetes.container.name": "main" },
  ]);
});

test("nothing that they name was run, given or set", async () => {
  const { metadata } = await waitForPod(world.client, world.podName("hostile"), isReady);
  expect(existsSync("/tmp/berth-property")).toBe(false);
  expect(existsSync("/tmp/berth-loguri")).toBe(false);
  expect(readFileSync("/proc/sys/kernel/core_pattern", "utf8")).not.toContain("|/bin/sh");
  const { stdout } = await world.berth("exec", "hostile", "--", "ls", "/dev");
  expect(stdout.split("\n")).not.toContain("sda");
  const { main = "" } = await world.containerIds(metadata.uid);
  expect(world.pidOf(metadata.uid, main)).toBeGreaterThan(1);
});
