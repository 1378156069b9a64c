import type { ContainerKind } from "../../model/pod.ts";

/** What metrics call the kinds of containers. */
export const containerTypes: Readonly<Record<ContainerKind, string>> = {
  init: "init_container",
  regular: "container",
  ephemeral: "ephemeral_container",
};
