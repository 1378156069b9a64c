import { expect, test } from "vitest";
import { containerHash } from "./container-hash.ts";

test("only the name and the image of a container count", () => {
  const bare = { name: "a", image: "busybox" };
  expect(containerHash({ ...bare, command: ["sleep"], env: [{ name: "A" }] })).toBe("5264866e");
  expect(containerHash({ ...bare, name: "b" })).not.toBe("5264866e");
  expect(containerHash({ ...bare, image: "busybox:1" })).not.toBe("5264866e");
});
