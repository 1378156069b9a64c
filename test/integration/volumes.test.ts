import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Container, PodSpec, Volume } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("volumes, seen from inside a container", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(40);
  });
  afterAll(() => world.close());

  const ready = (name: string): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReady);

  const inside = async (name: string, script: string): Promise<string> => {
    const result = await world.berth("exec", name, "-c", "main", "--", "sh", "-c", script);
    return `${result.stdout}${result.stderr}`.trim();
  };

  /** A pod whose only container mounts every volume at /<name>. */
  const writePod = (name: string, volumes: readonly Volume[], more: Partial<Container> = {}) => {
    const volumeMounts = volumes.map((volume) => ({
      name: volume.name,
      mountPath: `/${volume.name}`,
    }));
    const main = shell("main", untilStopped, { volumeMounts, ...more });
    world.write(`${name}.json`, podManifest(name, { containers: [main], volumes }));
  };

  const writeObject = (kind: string, name: string, fields: object): void => {
    const object = { apiVersion: "v1", kind, metadata: { name }, ...fields };
    world.write(`${kind.toLowerCase()}-${name}.json`, JSON.stringify(object));
  };

  test("an empty dir is shared by the containers of a pod, and one in memory is bounded", async () => {
    const volumes = [
      { name: "disk", emptyDir: {} },
      { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    ];
    const volumeMounts = [
      { name: "disk", mountPath: "/disk" },
      { name: "memory", mountPath: "/memory" },
    ];
    const containers = [
      shell("main", untilStopped, { volumeMounts }),
      shell("other", `echo hello > /disk/file; ${untilStopped}`, { volumeMounts }),
    ];
    world.write("empty.json", podManifest("empty", { containers, volumes }));
    await ready("empty");
    expect(await inside("empty", "until cat /disk/file; do :; done 2>/dev/null")).toBe("hello");
    expect(await inside("empty", "stat -c %a /disk /memory")).toBe("777\n1777");
    expect(await inside("empty", "df -k /memory | tail -1 | awk '{print $1, $2}'")).toBe(
      "tmpfs 1024",
    );
  });

  test("a host path is there as its type says, and cannot be written when it is read-only", async () => {
    const folder = join(world.folder, "host");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "file"), "from the node");
    const volumes = [
      { name: "folder", hostPath: { path: folder, type: "Directory" } },
      { name: "file", hostPath: { path: join(folder, "file"), type: "File" } },
      { name: "made", hostPath: { path: join(folder, "made"), type: "DirectoryOrCreate" } },
      { name: "null", hostPath: { path: "/dev/null", type: "CharDevice" } },
    ];
    const volumeMounts = [
      { name: "folder", mountPath: "/folder", readOnly: true },
      { name: "file", mountPath: "/file" },
      { name: "made", mountPath: "/made" },
      { name: "null", mountPath: "/null" },
    ];
    writePod("host", volumes, { volumeMounts });
    await ready("host");
    expect(await inside("host", "cat /folder/file; echo; cat /file")).toBe(
      "from the node\nfrom the node",
    );
    expect(await inside("host", "touch /folder/x")).toContain("Read-only file system");
    expect(await inside("host", "echo back > /made/file; stat -c %F /null")).toBe(
      "character special file",
    );
    expect(readFileSync(join(folder, "made/file"), "utf8")).toBe("back\n");
  });

  test("a pod waits for its config map and secret, has their files, and sees them change", async () => {
    writePod("configured", [
      { name: "config", configMap: { name: "settings", defaultMode: 0o640 } },
      { name: "secret", secret: { secretName: "key", items: [{ key: "token", path: "a/token" }] } },
      {
        name: "all",
        projected: {
          sources: [
            { configMap: { name: "settings", items: [{ key: "color", path: "colour" }] } },
            { secret: { name: "key" } },
            {
              downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] },
            },
          ],
        },
      },
    ]);
    const waiting = await waitForPod(world.client, world.podName("configured"), () => true);
    const found = await untilEvent(world, "configured", 'configmap "settings" not found');
    expect(found).toContain('MountVolume.SetUp failed for volume "config"');
    expect(isReady(waiting)).toBe(false);

    writeObject("ConfigMap", "settings", { data: { color: "red" } });
    writeObject("Secret", "key", { stringData: { token: "s3cret" } });
    const pod = await ready("configured");
    expect(pod.metadata.uid).toBe(waiting.metadata.uid);
    const shown = "cat /config/color; echo; cat /secret/a/token; echo; cat /all/colour /all/token";
    expect(await inside("configured", shown)).toBe("red\ns3cret\nreds3cret");
    expect(await inside("configured", "cat /all/name")).toBe(world.podName("configured"));
    expect(await inside("configured", "stat -Lc %a /config/color /secret/a/token")).toBe(
      "640\n644",
    );
    expect(await inside("configured", "touch /config/x")).toContain("Read-only file system");
    expect(await inside("configured", "stat -fc %T /secret")).toBe("tmpfs");

    writeObject("ConfigMap", "settings", { data: { color: "blue" } });
    const changed =
      "until grep -q blue /config/color && grep -q blue /all/colour; do sleep 0.1; done";
    expect(await inside("configured", changed)).toBe("");
    expect((await ready("configured")).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test("a sub path shows one file or folder of a volume, by variables too", async () => {
    writeObject("ConfigMap", "files", { data: { "app.conf": "one", other: "two" } });
    const volumes = [
      { name: "config", configMap: { name: "files" } },
      { name: "disk", emptyDir: {} },
    ];
    const volumeMounts = [
      { name: "config", mountPath: "/etc/app.conf", subPath: "app.conf" },
      { name: "disk", mountPath: "/logs", subPathExpr: "logs/$(NAME)" },
      { name: "disk", mountPath: "/disk" },
    ];
    const env = [{ name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }];
    writePod("parts", volumes, { volumeMounts, env });
    const pod = await ready("parts");
    expect(
      await inside("parts", "cat /etc/app.conf; echo; touch /logs/x; find /disk -type f"),
    ).toBe(`one\n/disk/logs/${world.podName("parts")}/x`);
    world.remove("parts.json");
    await waitUntilGone(world.client, pod.metadata.uid);
    expect(await world.tracesLeft([pod.metadata.uid])).toEqual([]);
  });

  test("the pod's group owns its volumes", async () => {
    writeObject("ConfigMap", "owned", { data: { key: "value" } });
    const volumes: readonly Volume[] = [
      { name: "disk", emptyDir: {} },
      { name: "config", configMap: { name: "owned", defaultMode: 0o400 } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    const spec: Partial<PodSpec> = {
      containers: [shell("main", untilStopped, { volumeMounts })],
      volumes,
      securityContext: { fsGroup: 4321, runAsUser: 1234, runAsGroup: 1234 },
    };
    world.write("owned.json", podManifest("owned", spec));
    await ready("owned");
    expect(await inside("owned", "id -G; touch /disk/x; stat -c '%u %g' /disk/x")).toBe(
      "1234 4321\n1234 4321",
    );
    expect(await inside("owned", "cat /config/key; echo; stat -Lc '%a %g' /config/key")).toBe(
      "value\n440 4321",
    );
  });

  test("a variable is read from a file that an init container wrote", async () => {
    const volumes = [{ name: "shared", emptyDir: {} }];
    const volumeMounts = [{ name: "shared", mountPath: "/shared" }];
    const fileKeyRef = { volumeName: "shared", path: "made.env", key: "COLOR" };
    const spec: Partial<PodSpec> = {
      initContainers: [
        shell("make", "echo \"COLOR='green'\" > /shared/made.env", { volumeMounts }),
      ],
      containers: [
        shell("main", untilStopped, { env: [{ name: "COLOR", valueFrom: { fileKeyRef } }] }),
      ],
      volumes,
    };
    world.write("from-file.json", podManifest("from-file", spec));
    await ready("from-file");
    expect(await inside("from-file", "echo $COLOR")).toBe("green");
  });

  test("a volume that this node cannot do is refused by its field", async () => {
    writePod("refused", [
      { name: "disk", emptyDir: {} },
      { name: "share", cephfs: { monitors: ["files.example"] } },
    ]);
    expect(await untilEvent(world, "refused", "spec.volumes[1].cephfs")).toContain(
      "spec.volumes[1].cephfs: not supported by this node",
    );
  });

  test("an image as a volume is pulled, and a runtime that cannot mount it keeps the container waiting with its reason", async () => {
    writePod("image", [
      { name: "content", image: { reference: "busybox:latest", pullPolicy: "IfNotPresent" } },
    ]);
    expect(await untilEvent(world, "image", "Error: failed to generate")).toContain("mkdir");
    const isWaiting = ({ status }: Pod) =>
      status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerError";
    await waitForPod(world.client, world.podName("image"), isWaiting);
  });

  test("a container cannot get out of a volume by swapping a sub path for a link to the root", async () => {
    const disk = { name: "disk", mountPath: "/disk" };
    const part = { name: "disk", mountPath: "/part", subPath: "name" };
    const swap =
      "mkdir -p /disk/name/ours; cd /disk; i=0; while :; do" +
      " i=$((i+1)); mv name spare$i; ln -s / name; rm -f name; mv spare$i name; done 2>/dev/null";
    const victims = Array.from({ length: 8 }, (_, index) =>
      shell(`victim${index}`, `ls -a /part > /disk/seen${index}; sleep 0.2; exit 1`, {
        volumeMounts: [disk, part],
      }),
    );
    const spec: Partial<PodSpec> = {
      initContainers: [shell("swapper", swap, { restartPolicy: "Always", volumeMounts: [disk] })],
      containers: [shell("main", untilStopped, { volumeMounts: [disk] }), ...victims],
      volumes: [{ name: "disk", emptyDir: {} }],
    };
    world.write("hostile.json", podManifest("hostile", spec));
    await waitForPod(world.client, world.podName("hostile"), ({ status }) =>
      (status?.containerStatuses ?? []).some(({ restartCount }) => restartCount >= 2),
    );
    const seen = (await inside("hostile", "cat /disk/seen*")).split("\n");
    expect(seen).toContain(".");
    const ofTheNode = new Set(readdirSync("/"));
    expect(seen.filter((name) => ofTheNode.has(name))).toEqual([]);
    world.remove("hostile.json");
  });
});

/** The text of the pod's first event that says this. */
async function untilEvent(world: AgentWorld, pod: string, text: string): Promise<string> {
  for (;;) {
    const { stdout } = await world.berth("describe", "pod", pod);
    const line = stdout.split("\n").find((each) => each.includes(text));
    if (line !== undefined) return line;
  }
}
