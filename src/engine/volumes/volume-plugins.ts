import { configMapPlugin } from "./config-map.ts";
import { downwardApiPlugin } from "./downward-api.ts";
import { emptyDirPlugin } from "./empty-dir.ts";
import { hostPathPlugin } from "./host-path.ts";
import { imagePlugin } from "./image.ts";
import { projectedPlugin } from "./projected.ts";
import { secretPlugin } from "./secret.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

/** Every type of volume that has no storage but a folder of its pod, or a path of the node. A new one is a file beside this one and a line here. */
export const volumePlugins: readonly VolumePlugin[] = [
  configMapPlugin,
  downwardApiPlugin,
  emptyDirPlugin,
  hostPathPlugin,
  imagePlugin,
  projectedPlugin,
  secretPlugin,
];
