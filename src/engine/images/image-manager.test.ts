import { expect, test } from "vitest";
import { fixedCredentials } from "../../../test/kit/fixed-credentials.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { testImagePods } from "../../../test/kit/pod-parts.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { ImageEvent } from "../../core/image/image-pull.ts";
import { defaultVerification } from "../../core/image/verification-policy.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { err, ok } from "../../lib/result.ts";
import type { AuthConfig } from "../../model/generated/cri.ts";
import { podUid } from "../../model/ids.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ImageService } from "../../ports/container-runtime.ts";
import { PodTable } from "../pods/pod-table.ts";
import { ImageManager, type ImageRequest } from "./image-manager.ts";
import type { ImagePullLimits } from "./image-puller.ts";
import { activePulls } from "./pod-images.ts";
import { PullRecords } from "./pull-records.ts";

interface OpenPull {
  readonly image: string;
  readonly auth: AuthConfig | undefined;
  readonly finish: (imageRef: string) => void;
  readonly fail: (error: Error) => void;
}

/** Pulls stay open until the test ends them. */
class FakeImages implements ImageService {
  readonly pulls: OpenPull[] = [];
  statusError: Error | undefined;

  imageStatus: ImageService["imageStatus"] = async () => {
    if (this.statusError !== undefined) throw this.statusError;
    return {};
  };
  listImages: ImageService["listImages"] = async () => [];
  removeImage: ImageService["removeImage"] = async () => {};
  imageFsInfo: ImageService["imageFsInfo"] = async () => ({});
  pullImage: ImageService["pullImage"] = ({ image = "" }, auth, _sandbox, signal) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      this.pulls.push({ image, auth, finish: resolve, fail: reject });
    });
}

/** Lets everything run that can run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function requestFor(image: string): ImageRequest {
  return {
    podUid: podUid("u1"),
    container: "c",
    image,
    policy: "Always",
    annotations: {},
    sandboxConfig: undefined,
    credentials: fixedCredentials(),
    onEvent: () => undefined,
  };
}

function world(limits: Partial<ImagePullLimits> = {}) {
  const time = { ms: 0 };
  const clock: Clock = {
    nowMs: () => time.ms,
    monotonicMs: () => time.ms,
    startTimer: () => ({ stop: () => undefined }),
    sleep: async () => {},
  };
  const images = new FakeImages();
  const table = new PodTable();
  const manager = new ImageManager({
    ...testImagePods(table),
    runtime: images,
    clock,
    metrics: noMetrics,
    backoff: { initialMs: 10_000, maxMs: 300_000 },
    pulls: { maxParallel: undefined, perSecond: 0, burst: 0, ...limits },
  });
  const events: ImageEvent[] = [];
  const onEvent = (event: ImageEvent): void => void events.push(event);
  const ensure = (request: Partial<ImageRequest> = {}, signal = new AbortController().signal) =>
    manager.ensureImage({ ...requestFor("busybox"), onEvent, ...request }, signal);
  const active = () => activePulls(table.get(podUid("u1"))?.images);
  return { time, images, events, ensure, active };
}

test("pods that want the same image share one pull", async () => {
  const { images, ensure } = world();
  const all = ["u1", "u2", "u3"].map((uid) =>
    ensure({ podUid: podUid(uid), annotations: { "kubernetes.io/config.seen": uid } }),
  );
  await settle();
  expect(images.pulls).toHaveLength(1);
  images.pulls[0]?.finish("ref");
  for (const result of await Promise.all(all)) {
    expect(result).toEqual({ ok: true, value: { imageRef: "ref", message: "" } });
  }
});

test("a pull with other credentials is never shared", async () => {
  const { images, ensure } = world();
  const both = [
    ensure({ credentials: fixedCredentials({ username: "a" }) }),
    ensure({ podUid: podUid("u2") }),
  ];
  await settle();
  expect(images.pulls.map(({ auth }) => auth)).toEqual([{ username: "a" }, undefined]);
  for (const pull of images.pulls) pull.finish("ref");
  await Promise.all(both);
});

test("no more pulls run than allowed", async () => {
  const { images, ensure } = world({ maxParallel: 1 });
  const both = [ensure({ image: "a" }), ensure({ image: "b" })];
  await settle();
  expect(images.pulls.map(({ image }) => image)).toEqual(["a:latest"]);
  images.pulls[0]?.finish("a");
  await settle();
  expect(images.pulls.map(({ image }) => image)).toEqual(["a:latest", "b:latest"]);
  images.pulls[1]?.finish("b");
  await Promise.all(both);
});

test("the events report how long the pull took, and how long with waiting", async () => {
  const { time, images, events, ensure } = world({ maxParallel: 1 });
  const first = ensure({ image: "a", onEvent: () => {} });
  const second = ensure({ image: "b" });
  await settle();
  time.ms = 1000;
  images.pulls[0]?.finish("a");
  await settle();
  time.ms = 1250;
  images.pulls[1]?.finish("b");
  await Promise.all([first, second]);
  expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
    'Pulling: Pulling image "b"',
    'Pulled: Successfully pulled image "b" in 250ms (1.25s including waiting). Image size: 0 bytes.',
  ]);
});

test("credentials are tried in order, and all their errors reported", async () => {
  const { images, ensure } = world();
  const result = ensure({ credentials: fixedCredentials({ username: "a" }, { username: "b" }) });
  await settle();
  images.pulls[0]?.fail(new RuntimeError("PullImage", "Unknown", "denied"));
  await settle();
  images.pulls[1]?.fail(new RuntimeError("PullImage", "NotFound", "no such image"));
  expect(await result).toEqual({
    ok: false,
    error: {
      reason: "ErrImagePull",
      message: "[denied, rpc error: code = NotFound desc = no such image]",
    },
  });
});

test("a pull is cancelled when the last who wanted it is gone", async () => {
  const { images, ensure } = world();
  const stop = new AbortController();
  const stays = ensure({ podUid: podUid("u2") });
  const leaves = ensure({}, stop.signal);
  await settle();
  stop.abort(new Error("pod deleted"));
  await expect(leaves).rejects.toThrow("pod deleted");
  images.pulls[0]?.finish("ref");
  expect(await stays).toMatchObject({ ok: true });

  const stopAgain = new AbortController();
  const alone = ensure({}, stopAgain.signal);
  await settle();
  stopAgain.abort(new Error("pod deleted"));
  await expect(alone).rejects.toThrow("pod deleted");
  const next = ensure();
  await settle();
  expect(images.pulls).toHaveLength(3);
  images.pulls[2]?.finish("ref");
  expect(await next).toMatchObject({ ok: true });
});

test("an image that cannot be looked up is not pulled", async () => {
  const { images, events, ensure } = world();
  images.statusError = new RuntimeError("ImageStatus", "Unavailable", "no runtime");
  const message = 'Failed to inspect image "": rpc error: code = Unavailable desc = no runtime';
  expect(await ensure({ policy: "IfNotPresent" })).toEqual({
    ok: false,
    error: { reason: "ImageInspectError", message },
  });
  expect(events).toEqual([{ type: "Warning", reason: "InspectFailed", message }]);
});

test("pulls beyond the rate fail and are tried again later", async () => {
  const { images, ensure } = world({ perSecond: 1, burst: 1 });
  const first = ensure({ image: "a" });
  const second = ensure({ image: "b" });
  await settle();
  expect(await second).toMatchObject({ ok: false, error: { message: "pull QPS exceeded" } });
  images.pulls[0]?.finish("a");
  expect(await first).toMatchObject({ ok: true });
});

test("a back-off says when it ends, and other pull secrets are tried at once", async () => {
  const { time, images, ensure } = world();
  const first = ensure();
  await settle();
  images.pulls[0]?.fail(new RuntimeError("PullImage", "Unknown", "denied"));
  await first;
  time.ms = 4000;
  expect(await ensure()).toMatchObject({
    error: { reason: "ImagePullBackOff", retryAtMs: 10_000 },
  });
  const other = ensure({ credentials: fixedCredentials({ username: "a" }) });
  await settle();
  expect(images.pulls).toHaveLength(2);
  images.pulls[1]?.fail(new RuntimeError("PullImage", "Unknown", "denied"));
  await other;
  // The trouble goes on: the delay has doubled.
  time.ms = 20_000;
  const still = await ensure({ credentials: fixedCredentials({ username: "a" }) });
  expect(still).toMatchObject({ error: { reason: "ImagePullBackOff", retryAtMs: 24_000 } });
});

test("credentials that cannot be used fail the pull before it begins", async () => {
  const { images, events, ensure } = world();
  const find = async () => err("the secret is broken");
  expect(await ensure({ credentials: { ...fixedCredentials(), find } })).toEqual({
    ok: false,
    error: { reason: "ErrImagePull", message: "the secret is broken" },
  });
  expect(images.pulls).toEqual([]);
  expect(events.at(-1)?.message).toBe('Failed to pull image "busybox": the secret is broken');
});

test("an image that was pulled for a service account is used again by its pods; what they can show is looked up once for check and pull", async () => {
  const images = new FakeImages();
  images.imageStatus = async () => (images.pulls.length === 0 ? {} : { image: { id: "ref" } });
  const clock = new VirtualClock();
  const records = new PullRecords({
    policy: defaultVerification,
    files: new MemoryFiles(),
    folder: "/root/image_manager",
    sha256: (text) => Buffer.from(text).toString("hex"),
    clock,
    log: silentLog,
    metrics: noMetrics,
  });
  const manager = new ImageManager({
    ...testImagePods(),
    runtime: images,
    clock,
    metrics: noMetrics,
    backoff: { initialMs: 10_000, maxMs: 300_000 },
    pulls: { maxParallel: 4, perSecond: 0, burst: 0 },
    records,
  });
  let lookUps = 0;
  const ensure = (name: string) => {
    const account = { uid: name, namespace: "ns", name };
    const find = async () => {
      lookUps += 1;
      return ok([{ auth: { username: name }, account }]);
    };
    const credentials = { ...fixedCredentials(), find };
    const request = { ...requestFor("a.io/b:1"), policy: "IfNotPresent", credentials };
    return manager.ensureImage(request, new AbortController().signal);
  };
  const first = ensure("builder");
  await expect.poll(() => images.pulls.length).toBe(1);
  images.pulls[0]?.finish("ref");
  expect(await first).toMatchObject({ ok: true });
  expect(await ensure("builder")).toMatchObject({ ok: true });
  expect(images.pulls).toHaveLength(1);
  expect(lookUps).toBe(2);
  const other = ensure("default");
  await expect.poll(() => images.pulls.length).toBe(2);
  expect(images.pulls[1]?.auth).toEqual({ username: "default" });
  images.pulls[1]?.fail(new Error("denied"));
  expect(await other).toMatchObject({ error: { reason: "ErrImagePull" } });
  expect(lookUps).toBe(3);
});

test("pulls under way can be seen, and which of them wait for their turn", async () => {
  const { time, images, ensure, active } = world({ maxParallel: 1 });
  time.ms = 5000;
  const both = [ensure({ container: "a", image: "x" }), ensure({ container: "b", image: "y" })];
  await settle();
  expect(active()).toEqual([
    { container: "a", image: "x", sinceMs: 5000, isQueued: false },
    { container: "b", image: "y", sinceMs: 5000, isQueued: true },
  ]);
  images.pulls[0]?.finish("x");
  await settle();
  expect(active()).toMatchObject([{ container: "b", isQueued: false }]);
  images.pulls[1]?.finish("y");
  await Promise.all(both);
  expect(active()).toEqual([]);
});

test("a pull that gets no further does not hold up others", async () => {
  const sleepers: { readonly ms: number; readonly wake: () => void }[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    startTimer: () => ({ stop: () => undefined }),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        sleepers.push({ ms, wake: resolve });
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  const wake = async (wanted: number): Promise<void> => {
    for (const { ms, wake: wakeUp } of sleepers.splice(0)) if (ms === wanted) wakeUp();
    await settle();
  };
  const done = { bytes: 1 };
  const images = new FakeImages();
  const manager = new ImageManager({
    ...testImagePods(),
    runtime: images,
    clock,
    metrics: noMetrics,
    backoff: { initialMs: 10_000, maxMs: 300_000 },
    pulls: { maxParallel: 1, perSecond: 0, burst: 0 },
    pullProgress: { read: async () => ({ doneBytes: done.bytes, totalBytes: 10 }) },
  });
  const ensure = (image: string) =>
    manager.ensureImage(requestFor(image), new AbortController().signal);
  const both = [ensure("slow"), ensure("waiting")];
  await settle();
  await wake(60_000);
  done.bytes = 2;
  await wake(60_000);
  expect(images.pulls).toHaveLength(1);
  await wake(60_000);
  expect(images.pulls.map(({ image }) => image)).toEqual(["slow:latest", "waiting:latest"]);
  for (const pull of images.pulls) pull.finish("ref");
  await Promise.all(both);
});
