import { RuntimeError } from "../../model/runtime-error.ts";
import { SimImages } from "./sim-images.ts";

/** What simulated containers do not have: streams and statistics. */
export class SimStreams extends SimImages {
  execSyncWhole(_id: string, _command: readonly string[], signal: AbortSignal): Promise<never> {
    return this.#refuse("ExecSync", signal);
  }

  exec(_request: object, signal: AbortSignal): Promise<never> {
    return this.#refuse("Exec", signal);
  }

  attach(_request: object, signal: AbortSignal): Promise<never> {
    return this.#refuse("Attach", signal);
  }

  portForward(_request: object, signal: AbortSignal): Promise<never> {
    return this.#refuse("PortForward", signal);
  }

  listContainerStats(_filter: object, signal: AbortSignal): Promise<readonly never[]> {
    return this.gate.call("ListContainerStats", signal, () => []);
  }

  listPodSandboxStats(_filter: object, signal: AbortSignal): Promise<readonly never[]> {
    return this.gate.call("ListPodSandboxStats", signal, () => []);
  }

  checkpointContainer(
    _containerId: string,
    _location: string,
    _timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<never> {
    return this.#refuse("CheckpointContainer", signal);
  }

  #refuse(method: string, signal: AbortSignal): Promise<never> {
    return this.gate.call(method, signal, () => {
      throw new RuntimeError(method, "Unimplemented", "simulated containers have no streams");
    });
  }
}
