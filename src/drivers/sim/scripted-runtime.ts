import { deepEqual } from "../../lib/deep-equal.ts";
import type {
  AuthConfig,
  ContainerConfig,
  ImageSpec,
  PodSandboxConfig,
} from "../../model/generated/cri.ts";
import { type PodUid, podUid, type RuntimeContainerId } from "../../model/ids.ts";
import { withDefaultTag } from "../../model/image-name.ts";
import { podUidLabel } from "../../model/labels.ts";
import { findContainer, isSidecar, type Pod, podContainers } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { attemptOf, type ContainerScript, type HookKind, type PodScript } from "./pod-script.ts";
import type { Deed, RunScript } from "./script-text.ts";
import type { SimContainer } from "./sim-container.ts";
import { type SimProgram, untilStopped } from "./sim-program.ts";
import { SimRuntime, type SimRuntimeOptions } from "./sim-runtime.ts";

interface ScriptedPod {
  readonly pod: Pod;
  readonly script: PodScript;
}

const initProgramMs = 1000;
const logMode = 0o640;

/**
 * The simulated runtime for pods whose annotations say what happens to them; their commands mean nothing. A container
 * without a script runs until it is stopped, an init container for a second.
 */
export class ScriptedRuntime extends SimRuntime {
  readonly #options: SimRuntimeOptions;
  /** Also pods that are not wanted any more: their containers may still run. */
  readonly #pods = new Map<PodUid, ScriptedPod>();
  readonly #pulls = new Map<string, number>();
  readonly #postStarted = new Set<string>();

  constructor(options: SimRuntimeOptions) {
    super(options);
    this.#options = options;
  }

  /** Has to be called for a pod before it is started. */
  setScript(pod: Pod, script: PodScript): void {
    this.#pods.set(pod.metadata.uid, { pod, script });
  }

  /** The script of a container, and how often it was started before. */
  scriptOf(
    container: SimContainer,
  ): { readonly script: ContainerScript; readonly restarts: number } | undefined {
    const { name = "", attempt: restarts = 0 } = container.config.metadata ?? {};
    const script = this.#podOf(container)?.script.get(name);
    return script && { script, restarts };
  }

  hookOf(container: SimContainer, kind: HookKind): Deed | undefined {
    const found = this.scriptOf(container);
    return attemptOf(found?.script.hooks[kind] ?? [], found?.restarts ?? 0);
  }

  override async pullImage(
    image: ImageSpec,
    auth: AuthConfig | undefined,
    sandbox: PodSandboxConfig | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const pull = this.#nextPull(podUid(sandbox?.metadata?.uid ?? ""), image.image ?? "");
    if (pull !== undefined) {
      await this.#options.clock.sleep(pull.takesMs, signal);
      if (pull.fails) {
        const message = `failed to pull image "${image.image}": its script says so`;
        throw new RuntimeError("PullImage", "NotFound", message);
      }
    }
    return super.pullImage(image, auth, sandbox, signal);
  }

  override async startContainer(
    containerId: RuntimeContainerId,
    signal: AbortSignal,
  ): Promise<void> {
    await super.startContainer(containerId, signal);
    const container = this.containers.find(({ place }) => place.id === containerId);
    if (container === undefined) return;
    const noteEnd = (): void => {
      const { exitCode, reason } = container.status();
      this.#write(container, `ends with exit code ${exitCode} (${reason})`);
    };
    if (container.ended.aborted) noteEnd();
    else container.ended.addEventListener("abort", noteEnd, { once: true });
  }

  protected override programOf(config: ContainerConfig, sandbox: PodSandboxConfig): SimProgram {
    const { name = "", attempt = 0 } = config.metadata ?? {};
    const { pod, script } = this.#pods.get(podUid(sandbox.metadata?.uid ?? "")) ?? {};
    const run = attemptOf(script?.get(name)?.runs ?? [], attempt);
    if (run !== undefined) return runProgram(run, attempt);
    const placed = pod && findContainer(pod, name);
    const stdout = `run ${attempt + 1}, without a script`;
    if (placed?.kind !== "init" || isSidecar(placed.container)) return { ...untilStopped, stdout };
    return { ...untilStopped, endsAfterMs: initProgramMs, stdout };
  }

  /** Probes have a runner of their own: what is run in a container is one of its hooks. */
  protected override execProgramOf(
    container: SimContainer,
    command: readonly string[],
  ): SimProgram {
    const kind = this.#hookKind(container, command);
    const { takesMs, fails } = this.hookOf(container, kind) ?? { takesMs: 0, fails: false };
    this.#write(container, `runs its ${kind} hook`);
    const stderr = fails ? "its script says so" : "";
    return { ...untilStopped, endsAfterMs: takesMs, exitCode: fails ? 1 : 0, stderr };
  }

  #hookKind(container: SimContainer, command: readonly string[]): HookKind {
    const pod = this.#podOf(container)?.pod;
    const hooks =
      pod && findContainer(pod, container.config.metadata?.name ?? "")?.container.lifecycle;
    const { id } = container.place;
    const isFirst =
      deepEqual(hooks?.postStart?.exec?.command, command) && !this.#postStarted.has(id);
    if (isFirst) this.#postStarted.add(id);
    return isFirst ? "postStart" : "preStop";
  }

  #podOf({ config }: SimContainer): ScriptedPod | undefined {
    return this.#pods.get(podUid(config.labels?.[podUidLabel] ?? ""));
  }

  #nextPull(uid: PodUid, image: string): Deed | undefined {
    const { pod, script } = this.#pods.get(uid) ?? {};
    const names = pod === undefined ? [] : podContainers(pod).map(({ container }) => container);
    const pulled = names.find(({ name, image: wanted = "" }) => {
      const full = withDefaultTag(wanted);
      return script?.get(name)?.pulls !== undefined && full.ok && full.value === image;
    });
    if (pulled === undefined) return undefined;
    const key = `${uid}/${pulled.name}`;
    const count = this.#pulls.get(key) ?? 0;
    this.#pulls.set(key, count + 1);
    return attemptOf(script?.get(pulled.name)?.pulls ?? [], count);
  }

  #write({ place }: SimContainer, text: string): void {
    const line = `${new Date(this.#options.clock.nowMs()).toISOString()} stdout F ${text}`;
    // A log that cannot be written, because its pod is gone already, does not matter.
    this.#options.files?.appendLine(place.logPath, line, logMode).catch(() => undefined);
  }
}

function runProgram(run: RunScript, attempt: number): SimProgram {
  return {
    endsAfterMs: run.endsAfterMs,
    exitCode: run.exitCode,
    reason: run.isOutOfMemory ? "OOMKilled" : undefined,
    onStop: run.onStop,
    stdout: `run ${attempt + 1}: ${run.text}`,
    stderr: "",
  };
}
