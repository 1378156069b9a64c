// The address of each view, after the "#": the server has one document only.

const podTabs = ["timeline", "logs", "terminal", "manifest", "events"] as const;
export type PodTab = (typeof podTabs)[number];

export type Route =
  | { readonly view: "node" }
  | { readonly view: "pods" }
  | {
      readonly view: "pod";
      readonly namespace: string;
      readonly name: string;
      readonly tab: PodTab;
    }
  | { readonly view: "plan" };

/** What is shown, and as of when. */
export interface Place {
  readonly route: Route;
  /** Milliseconds since 1970; undefined = now. */
  readonly atMs?: number | undefined;
}

/** What is not understood leads to the pods. */
export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter((part) => part !== "");
  const at = new URLSearchParams(query).get("at") ?? "";
  const atMs = /^\d{1,15}$/.test(at) ? Number(at) : undefined;
  return { route: parseRoute(parts.map(decode)), atMs };
}

function parseRoute([view = "", namespace, name, tab]: readonly string[]): Route {
  if (view === "node" || view === "plan") return { view };
  if (view !== "pods" || namespace === undefined || name === undefined) return { view: "pods" };
  return { view: "pod", namespace, name, tab: podTabs.find((each) => each === tab) ?? "timeline" };
}

/** The link to a place. */
export function hrefOf({ route, atMs }: Place): string {
  const query = atMs === undefined || route.view === "plan" ? "" : `?at=${atMs}`;
  return `#/${pathOf(route)}${query}`;
}

function pathOf(route: Route): string {
  if (route.view !== "pod") return route.view;
  const parts = ["pods", route.namespace, route.name];
  if (route.tab !== "timeline") parts.push(route.tab);
  return parts.map(encodeURIComponent).join("/");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
