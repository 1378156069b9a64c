import { nodeImages } from "../../../src/core/node/node-images.ts";
import { err, ok } from "../../../src/lib/result.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly images: readonly {
    readonly repoDigests: readonly string[] | null;
    readonly repoTags: readonly string[] | null;
    readonly size: number;
  }[];
  readonly listError: boolean;
  readonly nodeStatusMaxImages: number;
}

export const nodeImagesDomain: VectorDomain = vectorDomain<Input>("node-images", (input) => {
  const stored = (input.images ?? []).map(({ repoDigests, repoTags, size }) => ({
    repoDigests: repoDigests ?? [],
    repoTags: repoTags ?? [],
    sizeBytes: size,
  }));
  const images = nodeImages(input.listError ? err("x") : ok(stored), input.nodeStatusMaxImages);
  return images.ok ? { images: images.value } : { error: images.error };
});
