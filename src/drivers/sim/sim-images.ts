import type {
  AuthConfig,
  Image,
  ImageFsInfoResponse,
  ImageSpec,
  ImageStatusResponse,
  PodSandboxConfig,
} from "../../model/generated/cri.ts";
import type { RuntimeError } from "../../model/runtime-error.ts";
import type { ImageService } from "../../ports/container-runtime.ts";
import { SimCallGate } from "./sim-call-gate.ts";

/** Images in memory. A registry has every image, unless `refusePull` says why not. */
export class SimImages implements ImageService {
  protected readonly gate: SimCallGate = new SimCallGate();
  readonly #present = new Map<string, Image>();
  /** The failure that pulling the image meets. */
  refusePull: (name: string, auth: AuthConfig | undefined) => RuntimeError | undefined = () =>
    undefined;

  addImage(name: string): void {
    this.#present.set(name, { id: imageId(name), repoTags: [name], size: 1_000_000n });
  }

  imageStatus(
    image: ImageSpec,
    _verbose: boolean,
    signal: AbortSignal,
  ): Promise<ImageStatusResponse> {
    return this.gate.call("ImageStatus", signal, () => ({ image: this.findImage(image) }));
  }

  listImages(signal: AbortSignal): Promise<readonly Image[]> {
    return this.gate.call("ListImages", signal, () => [...this.#present.values()]);
  }

  pullImage(
    { image = "" }: ImageSpec,
    auth: AuthConfig | undefined,
    _sandboxConfig: PodSandboxConfig | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    return this.gate.call("PullImage", signal, () => {
      const refusal = this.refusePull(image, auth);
      if (refusal !== undefined) throw refusal;
      this.addImage(image);
      return imageId(image);
    });
  }

  removeImage({ image = "" }: ImageSpec, signal: AbortSignal): Promise<void> {
    return this.gate.call("RemoveImage", signal, () => {
      for (const [name, { id }] of this.#present) {
        if (name === image || id === image) this.#present.delete(name);
      }
    });
  }

  imageFsInfo(signal: AbortSignal): Promise<ImageFsInfoResponse> {
    return this.gate.call("ImageFsInfo", signal, () => ({
      imageFilesystems: [{ fsId: { mountpoint: "/var/lib/sim" } }],
    }));
  }

  /** By name or by id. */
  protected findImage({ image = "" }: ImageSpec): Image | undefined {
    return this.#present.get(image) ?? [...this.#present.values()].find(({ id }) => id === image);
  }
}

function imageId(name: string): string {
  const digits = Array.from(new TextEncoder().encode(name), (byte) => byte.toString(16)).join("");
  return `sha256:${digits.slice(0, 64).padEnd(64, "0")}`;
}
