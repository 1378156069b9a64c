import type { CisFacts, CisResult } from "./cis-facts.ts";
import { fileLines } from "./judge-files.ts";
import { kubeletLines } from "./judge-kubelet.ts";
import { notApplicable } from "./verdict.ts";

/** The node section of the CIS Kubernetes Benchmark 1.12, line by line. */
export function judgeCis({ files, agent }: CisFacts): readonly CisResult[] {
  const none = notApplicable("berth up serves no kubelet's API and belongs to no cluster");
  return [
    ...fileLines.map(({ id, title, judge }) => ({ id, title, ...judge(files) })),
    ...kubeletLines.map(({ id, title, judge, judgeUp }) => ({
      id,
      title,
      ...(agent.kind === "kubelet" ? judge(agent) : (judgeUp?.(agent) ?? none)),
    })),
    {
      id: "4.3.1",
      title: "metrics of kube-proxy",
      ...notApplicable("kube-proxy is not a part of Berth"),
    },
  ];
}
