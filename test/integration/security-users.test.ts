import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureImages, type LocalImage } from "../../src/drivers/containerd/local-images.ts";
import { readMachine } from "../../src/drivers/linux/read-machine.ts";
import { busyboxArchive, busyboxImage } from "../../tools/images/busybox-image.ts";
import {
  printedInside,
  runInside,
  waitForEnd,
  waitingMessage,
  waitsFor,
} from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

const userImages = {
  number: busyboxImage("as-1000", "1000"),
  name: busyboxImage("as-user", "user"),
  huge: busyboxImage("as-huge", "4294967296"),
  negative: busyboxImage("as-negative", "-1"),
  posing: posingImage("docker.io/library/busybox:as-posing"),
};

/** Its user is a number that is also the name of another root. */
function posingImage(name: string): LocalImage {
  const passwd = "1000:x:0:0::/root:/bin/sh\nroot:x:0:0:root:/root:/bin/sh\n";
  const data = Buffer.from(passwd);
  return {
    name,
    build: () =>
      busyboxArchive({
        names: [name],
        files: [{ kind: "file", path: "etc/passwd", mode: 0o644, data }],
        config: { Cmd: ["sh"], User: "1000" },
      }),
  };
}

describe("whom containers run as", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(70);
    await importUserImages();
  });
  afterAll(() => world.close());

  const importUserImages = (): Promise<void> =>
    ensureImages(
      {
        images: world.runtime,
        ctr: readMachine().tools.ctr ?? "ctr",
        socket: world.containerdSocket,
      },
      Object.values(userImages),
      AbortSignal.timeout(60_000),
    );

  test("a pod's user, group and groups hold for its containers, unless they say otherwise", async () => {
    const securityContext = {
      runAsUser: 1234,
      runAsGroup: 2345,
      fsGroup: 3456,
      supplementalGroups: [4567],
    };
    const printed = await printedInside(world, "ids", "id", { spec: { securityContext } });
    expect(printed).toMatch(/^uid=1234 gid=2345 groups=(2345,)?3456,4567\n$/);
    const other = await printedInside(world, "own-ids", "id -u; id -g", {
      spec: { securityContext },
      main: { securityContext: { runAsUser: 0, runAsGroup: 7 } },
    });
    expect(other).toBe("0\n7\n");
  });

  test("groups of the image are added to those of the pod", async () => {
    const securityContext = { runAsUser: 1000, supplementalGroups: [4567] };
    const policies = [undefined, "Merge"] as const;
    for (const supplementalGroupsPolicy of policies) {
      const printed = await printedInside(
        world,
        `groups-${supplementalGroupsPolicy}`.toLowerCase(),
        "id -G",
        {
          spec: { securityContext: { ...securityContext, supplementalGroupsPolicy } },
        },
      );
      expect(printed.trim().split(" ")).toEqual(expect.arrayContaining(["2000", "4567"]));
    }
  });

  test("strict groups are refused where the runtime cannot keep them", async () => {
    const securityContext = { supplementalGroupsPolicy: "Strict" };
    world.write("strict.json", podManifest("strict", { securityContext }));
    const { status } = await waitForEnd(world, "strict");
    expect(status).toMatchObject({
      phase: "Failed",
      reason: "SupplementalGroupsPolicyNotSupported",
      message: "Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node",
    });
  });

  test("a container that must not be root runs as a number only, whether pod or image names it", async () => {
    const securityContext = { runAsNonRoot: true };
    const asUser = { spec: { securityContext: { ...securityContext, runAsUser: 99 } } };
    expect(await printedInside(world, "nonroot-spec", "id -u", asUser)).toBe("99\n");
    const asImage = { spec: { securityContext }, main: { image: userImages.number.name } };
    expect(await printedInside(world, "nonroot-image", "id -u", asImage)).toBe("1000\n");
  });

  test.each([
    {
      name: "root-image",
      image: "busybox:latest",
      context: { runAsNonRoot: true },
      message:
        /^container has runAsNonRoot and image will run as root \(pod: "root-image-node_default\(.*\)", container: main\)$/,
    },
    {
      name: "root-spec",
      image: userImages.number.name,
      context: { runAsNonRoot: true, runAsUser: 0 },
      message: /^container's runAsUser breaks non-root policy \(pod: /,
    },
    {
      name: "named-user",
      image: userImages.name.name,
      context: { runAsNonRoot: true },
      message:
        /^container has runAsNonRoot and image has non-numeric user \(user\), cannot verify user is non-root /,
    },
    {
      name: "huge-nonroot",
      image: userImages.huge.name,
      context: { runAsNonRoot: true },
      message: /^container has runAsNonRoot and image has an invalid user id \(4294967296\)/,
    },
    {
      name: "huge-user",
      image: userImages.huge.name,
      context: {},
      message:
        /^image has an invalid user id \(4294967296\): must be between 0 and 2147483647, inclusive$/,
    },
    {
      name: "negative-user",
      image: userImages.negative.name,
      context: {},
      message: /^image has an invalid user id \(-1\): /,
    },
  ])("$name does not start", async ({ name, image, context, message }) => {
    const containers = [shell("main", untilStopped, { image, securityContext: context })];
    world.write(`${name}.json`, podManifest(name, { containers }));
    const reason = "CreateContainerConfigError";
    const pod = await waitForPod(world.client, world.podName(name), waitsFor(reason));
    expect(waitingMessage(pod)).toMatch(message);
    expect(await world.containerIds(pod.metadata.uid)).toEqual({});
    world.remove(`${name}.json`);
  });

  test("a user's number is a number, even where the image has a user of that name", async () => {
    const printed = await printedInside(world, "posing", "id -u", {
      spec: { securityContext: { runAsNonRoot: true } },
      main: { image: userImages.posing.name },
    });
    expect(printed).toBe("1000\n");
  });

  test("a manifest with a user beyond 2^31-1 is refused", async () => {
    const securityContext = { runAsUser: 2 ** 31 };
    world.write("beyond.json", podManifest("beyond", { securityContext }));
    await expect
      .poll(async () => (await world.client.listProblems(AbortSignal.timeout(60_000))).problems)
      .toContainEqual(
        expect.objectContaining({
          message: expect.stringContaining("must be between 0 and 2147483647, inclusive"),
          field: "spec.securityContext.runAsUser",
        }),
      );
    world.remove("beyond.json");
  });

  test("the image's user stays the same over restarts, another pull and a killed agent", async () => {
    const diary = "/diary/ids";
    const containers = [
      shell("main", `id -u >> ${diary}; ${untilStopped}`, {
        image: userImages.number.name,
        volumeMounts: [{ name: "diary", mountPath: "/diary" }],
      }),
    ];
    const volumes = [{ name: "diary", emptyDir: {} }];
    world.write("same.json", podManifest("same", { containers, volumes }));
    const name = world.podName("same");
    const runs = (restarts: number) => (pod: Parameters<typeof isReady>[0]) =>
      isReady(pod) && restartsOf(pod) === restarts;
    const pod = await waitForPod(world.client, name, runs(0));
    await runInside(world, pod, ["kill", "1"]);
    await waitForPod(world.client, name, runs(1));
    await world.agent.stop("SIGKILL");
    await world.runtime.removeImage({ image: userImages.number.name }, AbortSignal.timeout(60_000));
    await importUserImages();
    await world.up();
    await runInside(world, pod, ["kill", "1"]);
    await waitForPod(world.client, name, runs(2), 60_000);
    expect(await runInside(world, pod, ["cat", diary])).toBe("1000\n1000\n1000\n");
    expect(await runInside(world, pod, ["id", "-u"])).toBe("1000\n");
  });
});
