import type { Pod } from "../../../src/model/pod.ts";
import type { ExecOptions } from "../../../src/ports/agent-view.ts";
import { InMemoryAgentView } from "../../fakes/in-memory-agent-view.ts";
import type { RuntimeWorld } from "./runtime-world.ts";

/** Every pod of the view is one container of a real runtime. */
export class RuntimeAgentView extends InMemoryAgentView {
  readonly #world: RuntimeWorld;
  readonly #containerId: string;

  constructor(world: RuntimeWorld, containerId: string) {
    super();
    this.#world = world;
    this.#containerId = containerId;
  }

  override async execUrl(_: Pod, options: ExecOptions): Promise<URL> {
    const { command, stdin, stdout, stderr, tty } = options;
    const { url = "" } = await this.#world.runtime.exec(
      { containerId: this.#containerId, cmd: command, stdin, stdout, stderr, tty },
      AbortSignal.timeout(60_000),
    );
    return new URL(url);
  }
}
