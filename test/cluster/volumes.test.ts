import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TokenReview } from "../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import { eventually } from "./support/eventually.ts";

const configMap = (data: Readonly<Record<string, string>>): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings" },
  data,
});

const secret = (stringData: Readonly<Record<string, string>>): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "keys" },
  stringData,
});

describe("volumes that follow the API server", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    // What changes reaches a pod with its next sync.
    world = await ClusterWorld.start(testedAgent, { config: { syncFrequency: "5s" } });
    await world.kubectl.apply(configMap({ colour: "red", gone: "soon" }), secret({ key: "first" }));
    const mount = (name: string): { name: string; mountPath: string } => ({
      name,
      mountPath: `/${name}`,
    });
    await createPod(world.api, "reader", {
      labels: { tier: "one" },
      spec: {
        containers: [
          shell("main", untilStopped, {
            env: [
              {
                name: "COLOUR",
                valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } },
              },
              { name: "KEY", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } },
            ],
            volumeMounts: [mount("settings"), mount("keys"), mount("identity")],
          }),
        ],
        volumes: [
          { name: "settings", configMap: { name: "settings" } },
          { name: "keys", secret: { secretName: "keys", defaultMode: 0o400 } },
          {
            name: "identity",
            projected: {
              sources: [
                {
                  serviceAccountToken: { path: "token", audience: "tests", expirationSeconds: 600 },
                },
                {
                  downwardAPI: {
                    items: [{ path: "tier", fieldRef: { fieldPath: "metadata.labels['tier']" } }],
                  },
                },
              ],
            },
          },
        ],
      },
    });
    await untilPod(world.api, "reader", isReady);
  });

  afterAll(() => world.close());

  const inside = (script: string): Promise<string> =>
    world.kubectl.run("exec", "reader", "--", "sh", "-c", script);

  test("config maps and secrets are there at the start, as files and as environment", async () => {
    expect(await inside("cat /settings/colour /settings/gone /keys/key")).toBe("redsoonfirst");
    expect(await inside("echo $COLOUR $KEY")).toBe("red first\n");
    expect(await inside("stat -L -c %a /keys/key")).toBe("400\n");
    expect(await inside("grep -c 'tmpfs /keys' /proc/mounts")).toBe("1\n");
  });

  test("the files change with the objects while the pod runs on", async () => {
    await world.kubectl.apply(
      configMap({ colour: "blue", more: "yes" }),
      secret({ key: "second" }),
    );
    await world.kubectl.run("label", "pod", "reader", "tier=two", "--overwrite");
    await eventually(
      () => inside("cat /settings/colour /keys/key /identity/tier; ls /settings"),
      (text) => text === "bluesecondtwocolour\nmore\n",
    );
    const pod = await untilPod(world.api, "reader", isReady);
    expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test("the token speaks for the pod's service account, and only while the pod lives", async () => {
    const token = await inside("cat /identity/token");
    const review = (): Promise<TokenReview> =>
      world.api.create<TokenReview>("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token, audiences: ["tests"] },
      });
    const { status } = await review();
    expect(status?.authenticated).toBe(true);
    expect(status?.user?.username).toBe("system:serviceaccount:default:default");
    expect(status?.user?.extra?.["authentication.kubernetes.io/pod-name"]).toEqual(["reader"]);
    const own = "/var/run/secrets/kubernetes.io/serviceaccount";
    expect(await inside(`ls ${own}`)).toBe("ca.crt\nnamespace\ntoken\n");
    await world.api.delete(`${podsPath}/reader`);
    await untilNoPods(world.api);
    // The API server remembers for ten seconds whom it has let in.
    await eventually(review, (later) => later.status?.authenticated !== true);
  });

  test("settings for Windows are ignored, and a volume that nothing mounts is waited for", async () => {
    const windowsOptions = { runAsUserName: "ContainerUser" };
    await createPod(world.api, "windows", {
      spec: {
        securityContext: { windowsOptions },
        containers: [shell("main", untilStopped, { securityContext: { windowsOptions } })],
        terminationGracePeriodSeconds: 0,
      },
    });
    await createPod(world.api, "foreign", {
      spec: {
        containers: [
          shell("main", untilStopped, { volumeMounts: [{ name: "old", mountPath: "/old" }] }),
        ],
        volumes: [{ name: "old", rbd: { monitors: ["10.0.0.1"], image: "disk" } }],
      },
    });
    await untilPod(world.api, "windows", isReady);
    await eventually(
      () => world.kubectl.run("events", "--for", "pod/foreign"),
      (text) => /FailedMount.*failed to process volumes=\[old\]/.test(text),
    );
    const waiting = await untilPod(world.api, "foreign", ({ status }) => status !== undefined);
    expect(waiting.status?.phase).toBe("Pending");
    await world.kubectl.run("delete", "pod", "windows", "foreign");
  });

  test("a pod waits for a config map and a secret that are not there yet", async () => {
    await createPod(world.api, "early", {
      spec: {
        containers: [
          shell("main", "cat /late/word; echo $LATE; sleep 3600", {
            env: [{ name: "LATE", valueFrom: { secretKeyRef: { name: "late", key: "word" } } }],
            volumeMounts: [{ name: "late", mountPath: "/late" }],
          }),
        ],
        volumes: [{ name: "late", configMap: { name: "late" } }],
        terminationGracePeriodSeconds: 0,
      },
    });
    await eventually(
      () => world.kubectl.run("events", "--for", "pod/early"),
      (text) => text.includes('configmap "late" not found'),
    );
    const metadata = { name: "late" };
    await world.kubectl.apply(
      { apiVersion: "v1", kind: "ConfigMap", metadata, data: { word: "map " } },
      { apiVersion: "v1", kind: "Secret", metadata, stringData: { word: "secret" } },
    );
    await untilPod(world.api, "early", isReady, 150_000);
    expect(await world.kubectl.run("logs", "early")).toBe("map secret\n");
    await world.api.delete(`${podsPath}/early`);
    expect(await world.leftovers()).toEqual([]);
  });
});
