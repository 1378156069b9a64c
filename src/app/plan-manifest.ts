// `berth plan`: what would be done with a manifest here, without doing it.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { FilePlan, ManifestPlan } from "../core/plan/manifest-plan.ts";
import { planManifests } from "../core/plan/plan-manifests.ts";
import { readManifestFolder } from "../drivers/manifest/manifest-folder.ts";
import { defaultNodeName, describeAdmission } from "./node-facts.ts";
import { plainNodeSettings } from "./node-options.ts";
import { missingPath } from "./read-problem.ts";
import { parseSecurity } from "./security-options.ts";

export type { DocumentPlan, FilePlan, ManifestPlan } from "../core/plan/manifest-plan.ts";

export interface PlanManifestOptions {
  /** A manifest or a folder of them. */
  readonly path: string;
  readonly dataDir: string;
  readonly nodeName?: string | undefined;
}

/** Rejects when the path cannot be read; what is wrong in a file is part of the answer. */
export async function planManifest(options: PlanManifestOptions): Promise<ManifestPlan> {
  const { nodeName = defaultNodeName(), dataDir } = options;
  const content = await readManifestFolder(resolve(options.path), "yamlAndJson");
  if (content.kind === "missing") throw new Error(missingPath(options.path));
  const unreadable = content.unreadable.map(
    ({ path: origin, message }): FilePlan => ({
      path: origin,
      documents: [{ kind: "refused", problems: [{ origin, message }] }],
    }),
  );
  const inOrder = content.files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const admission = describeAdmission(
    plainNodeSettings(nodeName, { name: "containerd", features: undefined }),
    existsSync(dataDir) ? dataDir : "/",
    { sysctls: parseSecurity({}).sysctls, fieldRules: "strict" },
  );
  const files = planManifests(inOrder, { nodeName, admission, pods: [] });
  return { files: [...files, ...unreadable], ignored: content.ignored };
}
