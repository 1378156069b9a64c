// Volumes that are images: the runtime mounts them, and has them pulled before.
import { expect, test } from "vitest";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import type { Simulation } from "../simulator/simulation.ts";
import { isReady, pass, plainPod, quietNode, write } from "./scenario.ts";

const volumes = [{ name: "model", image: { reference: "models/small:1" } }];
const volumeMounts = [{ name: "model", mountPath: "/model", subPath: "weights" }];

function mountOf(sim: Simulation) {
  const mounts = sim.machine.runtime.findContainer("main")?.status().mounts ?? [];
  return mounts.find(({ containerPath }) => containerPath === "/model");
}

test("a container that mounts an image is created with it, and the image is pulled first", async () => {
  const sim = quietNode();
  write(sim, "web", plainPod("web", { volumeMounts }, { volumes }));
  await pass(sim, 5_000);
  expect(isReady(sim, "web")).toBe(true);
  const { image, imageSubPath, hostPath, readonly } = mountOf(sim) ?? {};
  expect(image?.userSpecifiedImage).toBe("models/small:1");
  expect(image?.image).toMatch(/^sha256:/);
  expect([imageSubPath, hostPath, readonly]).toEqual(["weights", "", true]);
});

test("an image that must be there already is not pulled", async () => {
  const sim = quietNode();
  const image = { reference: "models/small:1", pullPolicy: "Never" };
  write(sim, "web", plainPod("web", { volumeMounts }, { volumes: [{ name: "model", image }] }));
  await pass(sim, 5_000);
  const [pod] = sim.shownPods();
  const { waiting } = pod?.status?.containerStatuses?.[0]?.state ?? {};
  expect(waiting?.reason).toBe("ErrImageNeverPull");
  sim.machine.runtime.addImage("models/small:1");
  await pass(sim, 90_000);
  expect(isReady(sim, "web")).toBe(true);
});

test("an image that cannot be pulled keeps the container that mounts it waiting, and no other", async () => {
  const sim = quietNode();
  sim.machine.runtime.refusePull = (name) =>
    name.includes("models")
      ? new RuntimeError("PullImage", "NotFound", "no such image")
      : undefined;
  const manifest = plainPod("web", { volumeMounts }, { volumes });
  const other = { name: "other", image: "app:1", command: ["serve"] };
  const containers = [...manifest.spec.containers, other];
  write(sim, "web", { ...manifest, spec: { ...manifest.spec, containers } });
  await pass(sim, 5_000);
  const [pod] = sim.shownPods();
  const states = (pod?.status?.containerStatuses ?? []).map(({ name, state }) => [
    name,
    state?.waiting?.reason ?? Object.keys(state ?? {})[0],
  ]);
  expect(Object.fromEntries(states)).toEqual({
    main: expect.stringMatching(/^(?:ErrImagePull|ImagePullBackOff)$/),
    other: "running",
  });
  sim.machine.runtime.refusePull = () => undefined;
  await pass(sim, 30_000);
  expect(mountOf(sim)?.image?.userSpecifiedImage).toBe("models/small:1");
});
