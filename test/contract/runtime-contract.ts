import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ContainerConfig,
  ContainerState,
  type ContainerStatus,
  type PodSandboxConfig,
  PodSandboxState,
} from "../../src/model/generated/cri.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { ContainerRuntime, ImageService } from "../../src/ports/container-runtime.ts";

/** Commands that do one thing each, in whatever way the runtime under test can run them. */
export interface ContractPrograms {
  /** Runs until it is stopped, then ends at once with exit code 0. */
  readonly forever: readonly string[];
  /** Runs until it is killed. */
  readonly stubborn: readonly string[];
  exit(code: number): readonly string[];
  /** Writes to its outputs and ends with the exit code. */
  print(stdout: string, stderr: string, code: number): readonly string[];
}

/** A runtime under test, with nothing in it that the contract did not make. */
export interface ContractWorld {
  readonly runtime: ContainerRuntime & ImageService;
  /** An image that is present. */
  readonly image: string;
  readonly programs: ContractPrograms;
  readonly cgroupParent: string;
  readonly logDirectory: string;
  close(): Promise<void>;
}

const UNKNOWN_ID = "f".repeat(64);
const POLL = { timeout: 10_000, interval: 20 };

/** What every ContainerRuntime and ImageService must do. */
export function runtimeContract(open: () => Promise<ContractWorld>): void {
  let world: ContractWorld;
  beforeAll(async () => {
    world = await open();
  });
  afterAll(() => world.close());

  describe("sandboxes", () => {
    sandboxContract(() => world);
  });
  describe("containers", () => {
    containerContract(() => world);
  });
  describe("stopping", () => {
    stopContract(() => world);
  });
  describe("commands in containers", () => {
    execContract(() => world);
  });
  describe("listing", () => {
    listContract(() => world);
  });
  describe("images", () => {
    imageContract(() => world);
  });
}

function sandboxContract(world: () => ContractWorld): void {
  test("the runtime is ready", async () => {
    const { runtime } = world();
    expect(await runtime.version(signal())).toMatchObject({ runtimeApiVersion: "v1" });
    const { status } = await runtime.status(false, signal());
    const types = status?.conditions?.filter((one) => one.status).map((one) => one.type);
    expect(types).toEqual(expect.arrayContaining(["RuntimeReady", "NetworkReady"]));
  });

  test("a sandbox is ready with an address, then stopped, then gone", async () => {
    const { runtime } = world();
    const config = sandboxConfig(world());
    const id = await runtime.runPodSandbox(config, "", signal());
    const { status } = await runtime.podSandboxStatus(id, signal());
    expect(status).toMatchObject({
      id,
      metadata: config.metadata,
      labels: config.labels,
      annotations: config.annotations,
      state: PodSandboxState.SANDBOX_READY,
    });
    expect(status?.network?.ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(status?.createdAt).toBeGreaterThan(0n);

    await runtime.stopPodSandbox(id, signal());
    const stopped = await runtime.podSandboxStatus(id, signal());
    expect(stopped.status?.state).toBe(PodSandboxState.SANDBOX_NOTREADY);

    await runtime.removePodSandbox(id, signal());
    await expect(runtime.podSandboxStatus(id, signal())).rejects.toMatchObject({
      name: "RuntimeError",
      code: "NotFound",
    });
  });

  test("stopping and removing may be repeated", async () => {
    const { runtime } = world();
    const id = await runtime.runPodSandbox(sandboxConfig(world()), "", signal());
    await runtime.stopPodSandbox(id, signal());
    await runtime.stopPodSandbox(id, signal());
    await runtime.removePodSandbox(id, signal());
    await runtime.removePodSandbox(id, signal());
    await runtime.removePodSandbox(UNKNOWN_ID, signal());
    expect(await runtime.listPodSandboxes({ id }, signal())).toEqual([]);
  });

  test("one name and attempt is one sandbox", async () => {
    const { runtime } = world();
    const config = sandboxConfig(world());
    const id = await runtime.runPodSandbox(config, "", signal());
    const again = runtime.runPodSandbox(config, "", signal());
    await expect(again).rejects.toMatchObject({ name: "RuntimeError" });
    await removeSandbox(world(), id);
  });

  test("removing a sandbox removes its containers", async () => {
    const { runtime } = world();
    const { containerId, sandboxId } = await startContainer(world(), world().programs.forever);
    await removeSandbox(world(), sandboxId);
    await expect(
      runtime.containerStatus(runtimeContainerId(containerId), signal()),
    ).rejects.toMatchObject({
      code: "NotFound",
    });
  });
}

function containerContract(world: () => ContractWorld): void {
  test("a container is created, running, exited, gone", async () => {
    const { runtime, programs } = world();
    const sandbox = sandboxConfig(world());
    const sandboxId = await runtime.runPodSandbox(sandbox, "", signal());
    const config = containerConfig(world(), programs.forever);
    const id = await runtime.createContainer(sandboxId, config, sandbox, signal());
    const created = await readStatus(world(), id);
    expect(created).toMatchObject({
      id,
      metadata: config.metadata,
      labels: config.labels,
      annotations: config.annotations,
      state: ContainerState.CONTAINER_CREATED,
      startedAt: 0n,
    });
    expect(created.imageRef).not.toBe("");

    await runtime.startContainer(id, signal());
    const running = await readStatus(world(), id);
    expect(running.state).toBe(ContainerState.CONTAINER_RUNNING);
    expect(running.startedAt).toBeGreaterThan(0n);

    await runtime.stopContainer(id, 10, signal());
    const exited = await readStatus(world(), id);
    expect(exited.state).toBe(ContainerState.CONTAINER_EXITED);
    expect(exited.finishedAt).toBeGreaterThanOrEqual(running.startedAt ?? 0n);

    await runtime.removeContainer(id, signal());
    await expect(runtime.containerStatus(id, signal())).rejects.toMatchObject({ code: "NotFound" });
    await runtime.removeContainer(id, signal());
    await removeSandbox(world(), sandboxId);
  });

  test.each([
    { code: 0, reason: "Completed" },
    { code: 3, reason: "Error" },
  ])("a container that ends with $code says so", async ({ code, reason }) => {
    const { programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.exit(code));
    await expect
      .poll(() => readStatus(world(), containerId), POLL)
      .toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: code, reason });
    await removeSandbox(world(), sandboxId);
  });

  test("a container is started once only", async () => {
    const { runtime, programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.forever);
    await expect(
      runtime.startContainer(runtimeContainerId(containerId), signal()),
    ).rejects.toMatchObject({
      name: "RuntimeError",
    });
    await removeSandbox(world(), sandboxId);
  });

  test("what never was is not found", async () => {
    const { runtime, programs } = world();
    const config = containerConfig(world(), programs.forever);
    const sandbox = sandboxConfig(world());
    for (const call of [
      () => runtime.containerStatus(runtimeContainerId(UNKNOWN_ID), signal()),
      () => runtime.startContainer(runtimeContainerId(UNKNOWN_ID), signal()),
      () => runtime.execSync(runtimeContainerId(UNKNOWN_ID), programs.exit(0), 1, signal()),
      () => runtime.createContainer(UNKNOWN_ID, config, sandbox, signal()),
    ]) {
      await expect(call()).rejects.toMatchObject({ name: "RuntimeError", code: "NotFound" });
    }
  });

  test("an aborted call is cancelled", async () => {
    const aborted = AbortSignal.abort(new Error("enough"));
    await expect(world().runtime.version(aborted)).rejects.toMatchObject({
      name: "RuntimeError",
      code: "Cancelled",
    });
  });
}

function stopContract(world: () => ContractWorld): void {
  test("a program that listens ends by itself, long before its grace", async () => {
    const { runtime, programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.forever);
    await runtime.stopContainer(runtimeContainerId(containerId), 30, AbortSignal.timeout(20_000));
    expect((await readStatus(world(), containerId)).exitCode).toBe(0);
    await removeSandbox(world(), sandboxId);
  });

  test("a program that does not listen is killed after its grace", async () => {
    const { runtime, programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.stubborn);
    // A process that was only just started may not handle signals yet; a command beside it takes longer to start.
    await runtime.execSync(
      runtimeContainerId(containerId),
      programs.print("", "", 0),
      10,
      signal(),
    );
    await runtime.stopContainer(runtimeContainerId(containerId), 1, signal());
    const status = await readStatus(world(), containerId);
    expect(status).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 137 });
    const ranNs = (status.finishedAt ?? 0n) - (status.startedAt ?? 0n);
    expect(ranNs).toBeGreaterThanOrEqual(1_000_000_000n);
    await runtime.stopContainer(runtimeContainerId(containerId), 1, signal());
    await removeSandbox(world(), sandboxId);
  });

  test("without grace a program is killed at once", async () => {
    const { runtime, programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.stubborn);
    await runtime.stopContainer(runtimeContainerId(containerId), 0, signal());
    expect((await readStatus(world(), containerId)).exitCode).toBe(137);
    await removeSandbox(world(), sandboxId);
  });
}

function execContract(world: () => ContractWorld): void {
  test("a command's outputs and exit code come back", async () => {
    const { runtime, programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.forever);
    const command = programs.print("to out", "to err", 4);
    const answer = await runtime.execSync(runtimeContainerId(containerId), command, 10, signal());
    expect(answer.exitCode).toBe(4);
    expect(decode(answer.stdout)).toBe("to out");
    expect(decode(answer.stderr)).toBe("to err");
    await removeSandbox(world(), sandboxId);
  });

  test("a command that takes too long is ended", async () => {
    const { runtime, programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.forever);
    await expect(
      runtime.execSync(runtimeContainerId(containerId), programs.stubborn, 1, signal()),
    ).rejects.toMatchObject({ name: "RuntimeError", code: "DeadlineExceeded" });
    const status = await readStatus(world(), containerId);
    expect(status.state).toBe(ContainerState.CONTAINER_RUNNING);
    await removeSandbox(world(), sandboxId);
  });

  test("in a container that has ended no command runs", async () => {
    const { runtime, programs } = world();
    const { containerId, sandboxId } = await startContainer(world(), programs.forever);
    await runtime.stopContainer(runtimeContainerId(containerId), 5, signal());
    await expect(
      runtime.execSync(runtimeContainerId(containerId), programs.exit(0), 1, signal()),
    ).rejects.toMatchObject({ name: "RuntimeError" });
    await removeSandbox(world(), sandboxId);
  });
}

function listContract(world: () => ContractWorld): void {
  test("sandboxes are found by id, by label and by state", async () => {
    const { runtime } = world();
    const label = { "contract/list": `sandboxes-${unique()}` };
    const first = await runtime.runPodSandbox(sandboxConfig(world(), label), "", signal());
    const second = await runtime.runPodSandbox(sandboxConfig(world(), label), "", signal());
    await runtime.stopPodSandbox(second, signal());
    const ids = async (filter: Parameters<typeof runtime.listPodSandboxes>[0]) =>
      (await runtime.listPodSandboxes(filter, signal())).map(({ id }) => id ?? "").toSorted();
    expect(await ids({ labelSelector: label })).toEqual([first, second].toSorted());
    expect(await ids({ id: first })).toEqual([first]);
    const ready = { state: PodSandboxState.SANDBOX_READY };
    expect(await ids({ labelSelector: label, state: ready })).toEqual([first]);
    expect(await ids({})).toEqual(expect.arrayContaining([first, second]));
    expect(await ids({ id: UNKNOWN_ID })).toEqual([]);
    await removeSandbox(world(), first);
    await removeSandbox(world(), second);
  });

  test("containers are found by sandbox, by label and by state", async () => {
    const { runtime, programs } = world();
    const running = await startContainer(world(), programs.forever);
    const ended = await startContainer(world(), programs.forever);
    await runtime.stopContainer(runtimeContainerId(ended.containerId), 5, signal());
    const list = (filter: Parameters<typeof runtime.listContainers>[0]) =>
      runtime.listContainers(filter, signal());
    expect(await list({ podSandboxId: running.sandboxId })).toMatchObject([
      { id: running.containerId, podSandboxId: running.sandboxId, labels: running.labels },
    ]);
    expect(await list({ labelSelector: ended.labels })).toMatchObject([{ id: ended.containerId }]);
    const state = { state: ContainerState.CONTAINER_RUNNING };
    expect(await list({ podSandboxId: ended.sandboxId, state })).toEqual([]);
    expect(await list({ podSandboxId: running.sandboxId, state })).toHaveLength(1);
    await removeSandbox(world(), running.sandboxId);
    await removeSandbox(world(), ended.sandboxId);
  });
}

function imageContract(world: () => ContractWorld): void {
  test("an image that is present has an id, one that is not has no record", async () => {
    const { runtime, image } = world();
    const present = await runtime.imageStatus({ image }, false, signal());
    expect(present.image?.id).not.toBe("");
    const listed = await runtime.listImages(signal());
    expect(listed.map(({ id }) => id)).toContain(present.image?.id);
    const absent = await runtime.imageStatus({ image: "example.com/absent:1" }, false, signal());
    expect(absent.image).toBeUndefined();
  });

  test("the image file system is reported", async () => {
    const { imageFilesystems = [] } = await world().runtime.imageFsInfo(signal());
    expect(imageFilesystems[0]?.fsId?.mountpoint).toMatch(/^\//);
  });
}

function signal(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

let made = 0;

function unique(): string {
  made += 1;
  return String(made);
}

function sandboxConfig(
  { cgroupParent, logDirectory }: ContractWorld,
  labels: Readonly<Record<string, string>> = {},
): PodSandboxConfig {
  const number = unique();
  return {
    metadata: { name: `pod-${number}`, uid: `uid-${number}`, namespace: "contract", attempt: 0 },
    hostname: `pod-${number}`,
    logDirectory: `${logDirectory}/pod-${number}`,
    labels: { "contract/pod": number, ...labels },
    annotations: { "contract/note": `sandbox ${number}` },
    linux: { cgroupParent: `${cgroupParent}/pod${number}` },
  };
}

function containerConfig(
  { image }: ContractWorld,
  command: readonly string[],
): ContainerConfig & { readonly labels: Readonly<Record<string, string>> } {
  const number = unique();
  return {
    metadata: { name: "main", attempt: 0 },
    image: { image },
    command,
    logPath: "main/0.log",
    labels: { "contract/container": number },
    annotations: { "contract/note": `container ${number}` },
    linux: {},
  };
}

interface StartedContainer {
  readonly sandboxId: string;
  readonly containerId: string;
  readonly labels: Readonly<Record<string, string>>;
}

async function startContainer(
  world: ContractWorld,
  command: readonly string[],
): Promise<StartedContainer> {
  const { runtime } = world;
  const sandbox = sandboxConfig(world);
  const sandboxId = await runtime.runPodSandbox(sandbox, "", signal());
  const config = containerConfig(world, command);
  const containerId = await runtime.createContainer(sandboxId, config, sandbox, signal());
  await runtime.startContainer(containerId, signal());
  return { sandboxId, containerId, labels: config.labels };
}

async function removeSandbox({ runtime }: ContractWorld, id: string): Promise<void> {
  await runtime.stopPodSandbox(id, signal());
  await runtime.removePodSandbox(id, signal());
}

async function readStatus({ runtime }: ContractWorld, id: string): Promise<ContainerStatus> {
  return (await runtime.containerStatus(runtimeContainerId(id), signal())).status ?? {};
}

function decode(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}
