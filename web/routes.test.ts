import { expect, test } from "vitest";
import { hrefOf, type Place, parsePlace } from "./routes.ts";

test.each<Place>([
  { route: { view: "node" }, atMs: undefined },
  { route: { view: "pods" }, atMs: 1_700_000_000_000 },
  { route: { view: "plan" }, atMs: undefined },
  { route: { view: "pod", namespace: "default", name: "web-1", tab: "timeline" }, atMs: 5 },
  { route: { view: "pod", namespace: "a b", name: "x/y?z#%", tab: "logs" }, atMs: undefined },
])("the link to $route leads back to it", (place) => {
  expect(parsePlace(hrefOf(place))).toEqual(place);
});

test.each(["", "#", "#/", "#/nowhere", "#/pods/only-a-namespace"])(
  "what is no place leads to the pods: %s",
  (hash) => {
    expect(parsePlace(hash)).toEqual({ route: { view: "pods" }, atMs: undefined });
  },
);

test("a time that is not a number, or a name that is badly encoded, is taken as it is", () => {
  expect(parsePlace("#/node?at=yesterday").atMs).toBeUndefined();
  expect(parsePlace("#/pods/default/%E0%A4%A").route).toMatchObject({ name: "%E0%A4%A" });
});
