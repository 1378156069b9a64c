import { parseImageName, withDefaultTag } from "../../../src/model/image-name.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

export const imageNames: VectorDomain = vectorDomain<{ readonly image: string }>(
  "image-names",
  ({ image }) => {
    const parsed = parseImageName(image);
    const tagged = withDefaultTag(image);
    return {
      ...(parsed.ok ? parsed.value : { parseError: parsed.error }),
      ...(tagged.ok ? { withDefaultTag: tagged.value } : { defaultTagError: tagged.error }),
    };
  },
);
