import { ok } from "../../lib/result.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

/** The content of an image: pulled when a container that mounts it is started, and mounted by the runtime. */
export const imagePlugin: VolumePlugin = {
  name: "kubernetes.io/image",
  field: "image",

  setUp: async () =>
    ok({
      kind: "image",
      path: "",
      readOnly: true,
      managed: false,
      selinuxRelabel: false,
      selinuxLabeled: false,
    }),
};
