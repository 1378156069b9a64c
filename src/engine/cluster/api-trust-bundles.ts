import { trustAnchors } from "../../core/volume/trust-anchors.ts";
import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, type Result } from "../../lib/result.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { ClusterTrustBundle } from "../../model/cluster-trust-bundle.ts";
import type { ClusterTrustBundleProjection } from "../../model/generated/kubernetes.ts";
import type { TrustBundles } from "../../ports/trust-bundles.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ApiTrustBundlesDeps
  extends Pick<ReflectorOptions<ClusterTrustBundle>, "api" | "clock" | "random" | "log"> {
  readonly lifetime: AbortSignal;
}

const resource = "clustertrustbundles";
/** The newest first. */
const versions = ["v1beta1", "v1alpha1"] as const;
/** How long a volume waits for the first list. */
const firstListMs = 10_000;

/** The trust bundles of the cluster: followed from the moment on when a pod asks for the first one. */
export class ApiTrustBundles implements TrustBundles {
  readonly #deps: ApiTrustBundlesDeps;
  readonly #order: string;
  /** Undefined until a pod asks, and as long as the API server has no such objects. */
  #bundles: Reflector<ClusterTrustBundle> | undefined;

  constructor(deps: ApiTrustBundlesDeps) {
    this.#deps = deps;
    this.#order = String(deps.random());
  }

  async anchors(
    projection: ClusterTrustBundleProjection,
    signal: AbortSignal,
  ): Promise<Result<string, string>> {
    try {
      const path = this.#bundles === undefined ? await this.#findPath(signal) : "";
      if (path === undefined) {
        return err(
          "the API server has no ClusterTrustBundles: it needs the feature gate ClusterTrustBundle and --runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true",
        );
      }
      this.#bundles ??= this.#follow(path);
      const bundles = this.#bundles;
      const limit = { ms: firstListMs, what: "the first list of ClusterTrustBundles" };
      await withDeadline(this.#deps.clock, limit, signal, (late) => bundles.whenSynced(late));
      return trustAnchors(bundles.items, projection, this.#order);
    } catch (error) {
      signal.throwIfAborted();
      return err(`cannot read ClusterTrustBundles: ${this.#bundles?.failure ?? errorText(error)}`);
    }
  }

  /** Undefined when the API server has them in no version. */
  async #findPath(signal: AbortSignal): Promise<string | undefined> {
    for (const version of versions) {
      const path = `/apis/certificates.k8s.io/${version}`;
      if (await this.#hasBundles(path, signal)) return `${path}/${resource}`;
    }
    return undefined;
  }

  async #hasBundles(path: string, signal: AbortSignal): Promise<boolean> {
    const { api, clock } = this.#deps;
    const limit = { ms: firstListMs, what: `GET ${path}` };
    try {
      const { resources } = await withDeadline(clock, limit, signal, (late) =>
        api.send<{ readonly resources?: readonly { readonly name: string }[] | undefined }>(
          { method: "GET", path },
          late,
        ),
      );
      return resources?.some(({ name }) => name === resource) ?? false;
    } catch (error) {
      if (isApiStatus(error, 404)) return false;
      throw error;
    }
  }

  #follow(path: string): Reflector<ClusterTrustBundle> {
    const bundles = new Reflector<ClusterTrustBundle>({ ...this.#deps, path });
    void bundles.run(this.#deps.lifetime);
    return bundles;
  }
}
